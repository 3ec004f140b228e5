-- Look-ups of the contacts by which an account is found.
--
-- Before, a contact that nobody had verified found its account, too. Of what is on record, only verified contacts
-- find an account from now on. Older servers would find accounts by any contact.
-- oldest server: 0006
INSERT INTO lookup (kind, value, parent_id, organization_id, holder_id, is_exclusive)
SELECT replace(kind, 'verified_', 'account_'), value, parent_id, organization_id, holder_id, is_exclusive
FROM lookup
WHERE kind IN ('verified_email', 'verified_phone_number');
