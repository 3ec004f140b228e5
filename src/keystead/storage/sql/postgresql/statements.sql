-- The statements of PostgreSQL alone. A list is a parameter that holds an array.

-- name: database_facts
SELECT 'PostgreSQL ' || current_setting('server_version'), pg_database_size(current_database());

-- name: schema_objects
-- Those that a statement finds by their names alone, except those of PostgreSQL itself and functions of extensions.
SELECT
    CASE WHEN relkind IN ('i', 'I') THEN 'index' WHEN relkind = 'v' THEN 'view' ELSE 'table' END, relname::text, ''
FROM pg_class
WHERE relkind IN ('r', 'p', 'v', 'i', 'I')
    AND relnamespace <> 'pg_catalog'::regnamespace AND pg_table_is_visible(oid)
UNION ALL
SELECT 'function', proname::text, pg_get_functiondef(oid)
FROM pg_proc
WHERE prokind = 'f'
    AND pronamespace <> 'pg_catalog'::regnamespace AND pg_function_is_visible(oid)
    AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e'
    );

-- name: versions
SELECT id, version, changed_by FROM organization WHERE id = ANY(:ids);

-- name: interface_texts_of
SELECT id, text FROM interface_text WHERE organization_id = :organization_id AND id = ANY(:ids);

-- name: accounts_with_address
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND address = ANY(:addresses);

-- name: accounts_at
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND wallet_id = :wallet_id
    AND normalized_path = ANY(:paths);

-- name: accounts_called
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND name = ANY(:names);

-- name: accounts_of_ids
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND id = ANY(:ids);

-- name: activities_by_status_below
-- Ids of activities.
-- For each wanted status, one walk of an index that stops after `limit` ids.
SELECT found.id
FROM unnest(:statuses::text[]) AS wanted_status(value)
CROSS JOIN LATERAL (
    SELECT id FROM activity
    WHERE organization_id = :organization_id AND status = wanted_status.value AND id < :cursor
    ORDER BY id DESC LIMIT :limit
) AS found
ORDER BY found.id DESC LIMIT :limit;

-- name: activities_by_status_above
-- Ids of activities.
SELECT found.id
FROM unnest(:statuses::text[]) AS wanted_status(value)
CROSS JOIN LATERAL (
    SELECT id FROM activity
    WHERE organization_id = :organization_id AND status = wanted_status.value AND id > :cursor
    ORDER BY id LIMIT :limit
) AS found
ORDER BY found.id LIMIT :limit;

-- name: activity_counts
-- For each period and wanted status, one walk of an index. Periods are numbered from 0.
SELECT period.number - 1, found.type, wanted_status.value, found.count
FROM unnest(:starts::text[], :ends::text[]) WITH ORDINALITY AS period(starts, ends, number)
CROSS JOIN unnest(:statuses::text[]) AS wanted_status(value)
CROSS JOIN LATERAL (
    SELECT type, count(*) AS count FROM activity
    WHERE organization_id = :organization_id AND status = wanted_status.value
        AND created_at_ms >= period.starts::bigint AND created_at_ms < period.ends::bigint
    GROUP BY type
) AS found;

-- name: refused_request_counts
SELECT period.number - 1, found.count
FROM unnest(:starts::text[], :ends::text[]) WITH ORDINALITY AS period(starts, ends, number)
CROSS JOIN LATERAL (
    SELECT sum(count)::bigint AS count FROM refused_request
    WHERE organization_id = :organization_id
        AND at_ms >= period.starts::bigint AND at_ms < period.ends::bigint
) AS found
WHERE found.count IS NOT NULL;

-- name: activities_by_type_and_status_below
-- Ids of activities.
-- By status too, so that one index serves every page by type.
SELECT found.id
FROM unnest(:types::text[]) AS wanted_type(value)
CROSS JOIN unnest(:statuses::text[]) AS wanted_status(value)
CROSS JOIN LATERAL (
    SELECT id FROM activity
    WHERE organization_id = :organization_id
        AND type = wanted_type.value AND status = wanted_status.value AND id < :cursor
    ORDER BY id DESC LIMIT :limit
) AS found
ORDER BY found.id DESC LIMIT :limit;

-- name: activities_by_type_and_status_above
-- Ids of activities.
SELECT found.id
FROM unnest(:types::text[]) AS wanted_type(value)
CROSS JOIN unnest(:statuses::text[]) AS wanted_status(value)
CROSS JOIN LATERAL (
    SELECT id FROM activity
    WHERE organization_id = :organization_id
        AND type = wanted_type.value AND status = wanted_status.value AND id > :cursor
    ORDER BY id LIMIT :limit
) AS found
ORDER BY found.id LIMIT :limit;

-- name: held_by_siblings
-- Which of these values lead to another sub-organization of the same parent.
SELECT DISTINCT value FROM lookup
WHERE kind = :kind AND value = ANY(:values)
    AND parent_id = :parent_id AND organization_id <> :organization_id;

-- Locks of organizations. SKIP LOCKED: a row that another transaction has locked is being changed, so that a commit
-- that needs it has lost the race, and does not wait.

-- name: swap_version
UPDATE organization SET
    version = :after_number,
    changed_by = :after_changed_by,
    record_count = :record_count,
    counted_version = :after_number
WHERE id = (
    SELECT id FROM organization
    WHERE id = :organization_id AND version = :before_number AND changed_by = :before_changed_by
    FOR NO KEY UPDATE SKIP LOCKED
);

-- name: lock_organizations
SELECT id, version, changed_by FROM organization
WHERE id = ANY(:organization_ids)
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;

-- name: check_versions
SELECT id, version, changed_by FROM organization
WHERE id = ANY(:organization_ids)
ORDER BY id FOR SHARE SKIP LOCKED;

-- name: lock_organization
SELECT id FROM organization WHERE id = :organization_id FOR NO KEY UPDATE;

-- name: lock_and_read
-- Locks an organization, then reads the same as `changed_since`.
SELECT version, changed_by, kind, id, body FROM lock_and_read(:id, :version);

-- Locks in order of keys: every process takes them in this order, so that no two wait for each other.

-- name: lock_activities
SELECT organization_id, id, revision FROM activity
WHERE organization_id = ANY(:organization_ids) AND id = ANY(:activity_ids)
ORDER BY organization_id, id FOR UPDATE;

-- name: lock_instance_values
SELECT name, value FROM instance
WHERE name = ANY(:names)
ORDER BY name FOR UPDATE;

-- name: purge_tombstones
-- It skips rows that another transaction has locked, so it does not wait.
WITH oldest AS MATERIALIZED (
    SELECT kind, id FROM record
    WHERE organization_id = :organization_id AND length(body) = 0 AND kind <> 'forgotten' AND version <= :version
    ORDER BY version LIMIT :limit FOR UPDATE SKIP LOCKED
)
DELETE FROM record
WHERE organization_id = :organization_id AND (kind, id) IN (SELECT kind, id FROM oldest);

-- name: counters
-- Each counter with the first entry in its window at the time `now_ms`, or at the time of the counter if that is
-- later.
SELECT
    counter.id, counter.at_ms, counter.total,
    (
        SELECT entry.at_ms FROM velocity_entry AS entry
        WHERE counter.window_ms > 0
            AND entry.organization_id = counter.organization_id AND entry.counter_id = counter.id
            AND entry.at_ms > greatest(counter.at_ms, :now_ms::bigint) - counter.window_ms
        ORDER BY entry.at_ms LIMIT 1
    ),
    (
        SELECT entry.total_before FROM velocity_entry AS entry
        WHERE counter.window_ms > 0
            AND entry.organization_id = counter.organization_id AND entry.counter_id = counter.id
            AND entry.at_ms > greatest(counter.at_ms, :now_ms::bigint) - counter.window_ms
        ORDER BY entry.at_ms LIMIT 1
    )
FROM velocity_counter AS counter
WHERE counter.organization_id = :organization_id AND counter.id = ANY(:ids);

-- name: lock_counters
SELECT id FROM velocity_counter
WHERE organization_id = :organization_id AND id = ANY(:ids)
ORDER BY id FOR UPDATE;

-- name: insert_counter
INSERT INTO velocity_counter (organization_id, id, at_ms, window_ms, total)
VALUES (:organization_id, :id, 0, :window_ms, '0')
ON CONFLICT DO NOTHING;
