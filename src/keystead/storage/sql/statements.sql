-- The statements that both databases run as they stand here. `-- name:` begins a statement; `:name` is a parameter.
-- Statements that take a list, or lock rows, differ: sqlite/statements.sql and postgresql/statements.sql.
-- Inserts and deletions by key are not written by hand: they follow from `tables.py`.

-- Organizations.

-- name: version
-- Before every use of an organization in memory.
SELECT version, changed_by FROM organization WHERE id = :id;

-- name: whole
-- The version and all records. One statement, so that both are of one moment. A deleted record has an empty body.
SELECT organization.version, organization.changed_by, record.kind, record.id, record.body
FROM organization
LEFT JOIN record ON record.organization_id = organization.id AND length(record.body) > 0
WHERE organization.id = :id;

-- name: changed_since
-- The version, and the records that changed after `version`.
SELECT organization.version, organization.changed_by, record.kind, record.id, record.body
FROM organization
LEFT JOIN record ON record.organization_id = organization.id AND record.version > :version
WHERE organization.id = :id;

-- name: data_keys_above
SELECT organization.id, record.body
FROM organization
JOIN record ON record.organization_id = organization.id AND record.kind = 'data_key' AND record.id = ''
WHERE organization.id > :cursor
ORDER BY organization.id
LIMIT :limit;

-- name: organizations_above
SELECT id FROM organization WHERE id > :cursor ORDER BY id LIMIT :limit;

-- name: stored_versions
-- The newest version of any record, deleted ones included, and the number of those that are not deleted.
SELECT
    organization.parent_id,
    organization.version,
    organization.record_count,
    organization.counted_version,
    (SELECT max(record.version) FROM record WHERE record.organization_id = organization.id) AS newest,
    (
        SELECT count(*) FROM record
        WHERE record.organization_id = organization.id AND length(record.body) > 0
    ) AS found
FROM organization
WHERE organization.id = :id;

-- name: activities_without_newest_vote
-- Among the activities after the cursor, those whose newest evaluation names a vote that is not there. An earlier
-- vote of a user may have been replaced, the newest one not.
WITH newest AS (
    SELECT
        activity.id,
        (
            SELECT policy_evaluation.vote_id FROM policy_evaluation
            WHERE policy_evaluation.organization_id = activity.organization_id
                AND policy_evaluation.activity_id = activity.id
            ORDER BY policy_evaluation.created_at_ms DESC, policy_evaluation.id DESC LIMIT 1
        ) AS vote_id
    FROM activity
    WHERE activity.organization_id = :organization_id AND activity.id > :cursor AND activity.id <= :last
)
SELECT newest.id FROM newest
WHERE newest.vote_id <> '' AND NOT EXISTS (
    SELECT 1 FROM vote
    WHERE vote.organization_id = :organization_id AND vote.activity_id = newest.id AND vote.id = newest.vote_id
)
ORDER BY newest.id;

-- name: lookups_of
SELECT kind, value, holder_id, parent_id FROM lookup WHERE organization_id = :organization_id;

-- name: has_suborganization
SELECT id FROM organization WHERE parent_id = :parent_id AND id = :id;

-- name: suborganizations_below
SELECT id FROM organization WHERE parent_id = :parent_id AND id < :cursor ORDER BY id DESC LIMIT :limit;

-- name: suborganizations_above
SELECT id FROM organization WHERE parent_id = :parent_id AND id > :cursor ORDER BY id LIMIT :limit;

-- name: suborganizations_with_value_below
-- Several holders in one organization may have the same value. A deleted organization has no parent, and its
-- look-ups are deleted later. An organization that never had a parent is looked up under ''.
SELECT DISTINCT organization_id
FROM lookup
WHERE kind = :kind AND value = :value AND parent_id = :parent_id AND organization_id < :cursor
    AND parent_id = (SELECT coalesce(organization.parent_id, '') FROM organization
        WHERE organization.id = lookup.organization_id)
ORDER BY organization_id DESC
LIMIT :limit;

-- name: suborganizations_with_value_above
SELECT DISTINCT organization_id
FROM lookup
WHERE kind = :kind AND value = :value AND parent_id = :parent_id AND organization_id > :cursor
    AND parent_id = (SELECT coalesce(organization.parent_id, '') FROM organization
        WHERE organization.id = lookup.organization_id)
ORDER BY organization_id
LIMIT :limit;

-- name: organizations_with_value
-- Of any parent. A deleted organization may be among them, until its look-ups are deleted.
SELECT DISTINCT organization_id FROM lookup WHERE kind = :kind AND value = :value
ORDER BY organization_id LIMIT :limit;

-- Activities. The statements with the comment "ids of activities" are completed by `activities_of_page`.

-- name: activity
-- Ids of activities: one, if it is on record.
SELECT id FROM activity WHERE organization_id = :organization_id AND id = :id;

-- name: activity_with_fingerprint
-- Ids of activities.
SELECT id FROM activity WHERE organization_id = :organization_id AND fingerprint = :fingerprint;

-- name: has_activity
SELECT id FROM activity WHERE organization_id = :organization_id AND id = :id;

-- name: activities_below
-- Ids of activities.
SELECT id FROM activity
WHERE organization_id = :organization_id AND id < :cursor
ORDER BY id DESC LIMIT :limit;

-- name: activities_above
-- Ids of activities.
SELECT id FROM activity
WHERE organization_id = :organization_id AND id > :cursor
ORDER BY id LIMIT :limit;

-- name: activities_of_page
-- `page` has ids of activities. Each has a row whose columns of a vote are null, and then a row for each vote,
-- which has the ids of its activity and nothing else of it: the request of an activity is read once, and not again
-- with each vote. CROSS JOIN: SQLite reads `page` first. LEFT JOIN: a vote without its snapshot must raise an
-- error, not be left out.
SELECT
    activity.*,
    NULL AS vote_id,
    NULL AS user_id,
    NULL AS selection,
    NULL AS message,
    NULL AS public_key,
    NULL AS signature,
    NULL AS scheme,
    NULL AS voted_at_ms,
    NULL AS voter
FROM page
CROSS JOIN activity
WHERE activity.organization_id = :organization_id AND activity.id = page.id
UNION ALL
SELECT
    vote.organization_id,
    vote.activity_id,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    vote.id,
    vote.user_id,
    vote.selection,
    vote.message,
    vote.public_key,
    vote.signature,
    vote.scheme,
    vote.created_at_ms,
    snapshot.body
FROM page
CROSS JOIN vote
LEFT JOIN snapshot ON snapshot.organization_id = vote.organization_id AND snapshot.digest = vote.user_digest
WHERE vote.organization_id = :organization_id AND vote.activity_id = page.id
ORDER BY id DESC, vote_id NULLS FIRST;

-- name: evaluations
-- LEFT JOIN: an evaluation without its snapshot must raise an error, not be left out.
SELECT policy_evaluation.*, snapshot.body
FROM policy_evaluation
LEFT JOIN snapshot
    ON snapshot.organization_id = policy_evaluation.organization_id
    AND snapshot.digest = policy_evaluation.findings_digest
WHERE policy_evaluation.organization_id = :organization_id AND policy_evaluation.activity_id = :activity_id
ORDER BY policy_evaluation.id;

-- Contract interfaces.

-- name: interface_texts
SELECT id, text FROM interface_text WHERE organization_id = :organization_id;

-- Wallet accounts and secrets. kept_account: without those of deleted wallets.

-- name: has_account
SELECT id FROM kept_account WHERE organization_id = :organization_id AND id = :id;

-- name: has_account_of_wallet
SELECT id FROM kept_account WHERE organization_id = :organization_id AND id = :id AND wallet_id = :wallet_id;

-- name: accounts_below
-- Those of deleted wallets too, however many they are: the caller leaves them out, page by page.
SELECT body, wallet_id, id FROM wallet_account
WHERE organization_id = :organization_id AND id < :cursor
ORDER BY id DESC LIMIT :limit;

-- name: accounts_above
SELECT body, wallet_id, id FROM wallet_account
WHERE organization_id = :organization_id AND id > :cursor
ORDER BY id LIMIT :limit;

-- name: accounts_of_wallet_below
SELECT body FROM kept_account
WHERE organization_id = :organization_id AND wallet_id = :wallet_id AND id < :cursor
ORDER BY id DESC LIMIT :limit;

-- name: accounts_of_wallet_above
SELECT body FROM kept_account
WHERE organization_id = :organization_id AND wallet_id = :wallet_id AND id > :cursor
ORDER BY id LIMIT :limit;

-- Deletions in steps.

-- name: unfinished_deletions
SELECT organization_id, wallet_id FROM unfinished_deletion
WHERE organization_id > :cursor
ORDER BY organization_id, wallet_id LIMIT :limit;

-- name: unfinished_deletions_of
SELECT wallet_id FROM unfinished_deletion WHERE organization_id = :organization_id;

-- name: first_accounts
SELECT id, address FROM wallet_account WHERE organization_id = :organization_id ORDER BY id LIMIT :limit;

-- name: first_accounts_of_wallet
SELECT id, address FROM wallet_account
WHERE organization_id = :organization_id AND wallet_id = :wallet_id
ORDER BY id LIMIT :limit;

-- name: first_lookups
SELECT kind, value, parent_id, organization_id, holder_id FROM lookup
WHERE organization_id = :organization_id LIMIT :limit;

-- name: newest_purgeable_tombstone
-- The version of the newest tombstone after the `kept` newest ones.
SELECT version FROM record
WHERE organization_id = :organization_id AND length(body) = 0 AND kind <> 'forgotten'
ORDER BY version DESC LIMIT 1 OFFSET :kept;

-- name: record_purged_tombstones
-- Before purge_tombstones: see the index record_removed.
INSERT INTO record (organization_id, kind, id, version, body)
VALUES (:organization_id, 'forgotten', '', :version, :body)
ON CONFLICT (organization_id, kind, id) DO UPDATE SET version = excluded.version
WHERE excluded.version > record.version;

-- The instance.

-- name: instance_value
SELECT value FROM instance WHERE name = :name;

-- name: schema_version
SELECT version FROM schema_version;

-- name: processes
SELECT body FROM process WHERE expires_at_ms > :now_ms ORDER BY expires_at_ms;

-- name: organization_count
SELECT count(*) FROM (SELECT id FROM organization WHERE id > :cursor LIMIT :limit) AS counted;

-- name: used_token
-- Of any organization: see the table.
SELECT id FROM used_token WHERE id = :id;

-- name: due_messages
SELECT body FROM outgoing_message WHERE due_ms <= :now_ms ORDER BY due_ms LIMIT :limit;

-- name: due_message_count
SELECT count(*) FROM outgoing_message WHERE due_ms IS NOT NULL;

-- name: oldest_due_message
-- When it was, or will be, due: later than its first attempt if that failed.
SELECT min(due_ms) FROM outgoing_message WHERE due_ms IS NOT NULL;

-- name: finished_messages
-- For development servers. The newest expire last, and expiry has an index.
SELECT organization_id, id FROM outgoing_message
WHERE due_ms IS NULL AND expires_at_ms > :now_ms
ORDER BY expires_at_ms DESC LIMIT :limit;

-- name: has_email_event
SELECT id FROM email_event WHERE organization_id = :organization_id AND id = :id AND recipient = :recipient;

-- name: email_events_below
SELECT body FROM email_event
WHERE organization_id = :organization_id AND recipient = :recipient
    AND (:event_type = '' OR event_type = :event_type) AND id < :cursor
ORDER BY id DESC LIMIT :limit;

-- name: email_events_above
SELECT body FROM (
    SELECT id, body FROM email_event
    WHERE organization_id = :organization_id AND recipient = :recipient
        AND (:event_type = '' OR event_type = :event_type) AND id > :cursor
    ORDER BY id LIMIT :limit
) AS newer
ORDER BY id DESC;

-- Webhooks.

-- name: waiting_endpoints
-- The endpoints with deliveries that wait, above the cursor. It jumps from one endpoint to the next, so it takes as
-- long as there are endpoints, however many deliveries wait.
WITH RECURSIVE waiting (endpoint_id) AS (
    SELECT min(endpoint_id) FROM webhook_delivery WHERE due_ms IS NOT NULL AND endpoint_id > :cursor
    UNION ALL
    SELECT (
        SELECT min(webhook_delivery.endpoint_id) FROM webhook_delivery
        WHERE webhook_delivery.due_ms IS NOT NULL AND webhook_delivery.endpoint_id > waiting.endpoint_id
    )
    FROM waiting
    WHERE waiting.endpoint_id IS NOT NULL
)
SELECT endpoint_id FROM waiting WHERE endpoint_id IS NOT NULL LIMIT :limit;

-- name: waiting_deliveries
SELECT body FROM webhook_delivery
WHERE endpoint_id = :endpoint_id AND due_ms IS NOT NULL AND id > :cursor
ORDER BY id LIMIT :limit;

-- name: waiting_delivery_count
SELECT count(*) FROM (
    SELECT 1 FROM webhook_delivery WHERE due_ms IS NOT NULL AND endpoint_id > '' LIMIT :limit
) AS waiting;

-- name: released_webhook_leases
SELECT endpoint_id FROM webhook_lease WHERE expires_at_ms = 0 LIMIT :limit;

-- Compare-and-swap: each changes one row, or none where the expected state is no longer there.

-- name: swap_activity
UPDATE activity SET
    status = :after_status,
    result = :after_result,
    app_proofs = :after_app_proofs,
    failure = :after_failure,
    proofs = :after_proofs,
    approvals_since_ms = :after_approvals_since_ms,
    revision = :after_revision,
    updated_at_ms = :after_updated_at_ms
WHERE organization_id = :organization_id AND id = :activity_id AND revision = :before_revision;

-- name: swap_instance_value
UPDATE instance SET value = :after_value WHERE name = :instance_name AND value = :before_value;

-- name: detach_organization
-- A deleted organization is no longer a sub-organization of its parent.
UPDATE organization SET parent_id = NULL WHERE id = :organization_id;

-- name: delete_records
-- A deleted organization has only a profile and a data key. The record 'forgotten' of the same transaction tells
-- other processes to read the whole organization again. Tombstones of 50,000 records would take longer.
DELETE FROM record WHERE organization_id = :organization_id AND kind NOT IN ('profile', 'data_key', 'forgotten');

-- Counters of velocity controls.

-- name: counter_with_old_entries
SELECT 1 FROM velocity_counter AS counter
WHERE counter.window_ms > 0 AND EXISTS (
    SELECT 1 FROM velocity_entry AS entry
    WHERE entry.organization_id = counter.organization_id AND entry.counter_id = counter.id
        AND entry.at_ms <= counter.at_ms - counter.window_ms
)
LIMIT 1;

-- name: purge_entries
-- Entries are old by the time of their counter, which never goes back, not by a clock.
WITH old AS (
    SELECT entry.organization_id, entry.counter_id, entry.at_ms
    FROM velocity_counter AS counter
    JOIN velocity_entry AS entry
        ON entry.organization_id = counter.organization_id AND entry.counter_id = counter.id
    WHERE counter.window_ms > 0 AND entry.at_ms <= counter.at_ms - counter.window_ms
    LIMIT :limit
)
DELETE FROM velocity_entry
WHERE (organization_id, counter_id, at_ms) IN (SELECT organization_id, counter_id, at_ms FROM old);

-- Refused requests.

-- name: refused_requests
SELECT body FROM refused_request
WHERE organization_id = :organization_id AND id < :cursor AND expires_at_ms > :now_ms
ORDER BY id DESC LIMIT :limit;
