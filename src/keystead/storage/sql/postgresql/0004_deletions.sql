-- Deletions in steps, and records of which it is no longer kept that they were removed.

-- A wallet, or with the wallet_id '' a whole organization, that is deleted and of which rows are left. Servers
-- delete them a few at a time, then this row. Accounts are read by the view below.
CREATE TABLE unfinished_deletion (
    organization_id TEXT COLLATE "C" NOT NULL,
    wallet_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, wallet_id)
);

CREATE VIEW kept_account AS
SELECT * FROM wallet_account
WHERE NOT EXISTS (
    SELECT 1 FROM unfinished_deletion
    WHERE unfinished_deletion.organization_id = wallet_account.organization_id
        AND unfinished_deletion.wallet_id = wallet_account.wallet_id
);

-- An account may have the name of one whose wallet is deleted and whose row is left.
DROP INDEX wallet_account_by_name;
CREATE UNIQUE INDEX wallet_account_by_name ON wallet_account (organization_id, name, wallet_id);

-- Removed records, of which the newest are kept. The record of the kind `forgotten` has the version of the newest
-- that is not: a process that knows only an older version reads the organization whole.
CREATE INDEX record_removed ON record (organization_id, version) WHERE length(body) = 0 AND kind <> 'forgotten';
