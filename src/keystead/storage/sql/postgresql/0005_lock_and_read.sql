-- Locks an organization and returns what changed after a version, in one round trip. A server that waited for the
-- lock must read what the previous owner committed. Each statement of a volatile function sees what was committed
-- before that statement began. So the second statement sees the previous owner's commit, while the second part of a
-- single statement would not.
CREATE FUNCTION lock_and_read(organization_id TEXT, known_version BIGINT)
RETURNS TABLE (version BIGINT, changed_by TEXT, kind TEXT, id TEXT, body BYTEA)
LANGUAGE plpgsql VOLATILE AS '
BEGIN
    PERFORM FROM organization WHERE organization.id = $1 FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT organization.version, organization.changed_by, record.kind, record.id, record.body
        FROM organization
        LEFT JOIN record ON record.organization_id = organization.id AND record.version > $2
        WHERE organization.id = $1;
END';
