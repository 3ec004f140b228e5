-- The statements of SQLite alone. A list is a parameter that holds a JSON array.

-- name: database_facts
SELECT 'SQLite ' || sqlite_version(), page_count * page_size FROM pragma_page_count(), pragma_page_size();

-- name: schema_objects
SELECT type, name, '' FROM sqlite_master;

-- name: versions
SELECT id, version, changed_by FROM organization WHERE id IN (SELECT value FROM json_each(:ids));

-- name: interface_texts_of
SELECT id, text FROM interface_text
WHERE organization_id = :organization_id AND id IN (SELECT value FROM json_each(:ids));

-- name: accounts_with_address
-- Without ORDER BY: to order by id, SQLite would read all accounts of the organization.
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND address IN (SELECT value FROM json_each(:addresses));

-- name: accounts_at
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND wallet_id = :wallet_id
    AND normalized_path IN (SELECT value FROM json_each(:paths));

-- name: accounts_called
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND name IN (SELECT value FROM json_each(:names));

-- name: accounts_of_ids
SELECT body, exported, normalized_path FROM kept_account
WHERE organization_id = :organization_id AND id IN (SELECT value FROM json_each(:ids));

-- name: activities_by_status_below
-- Ids of activities.
-- For each wanted status, one walk of an index that stops after `limit` ids. SQLite has no LATERAL;
-- a table-valued function may refer to the tables before it.
SELECT found.value AS id
FROM
    json_each(:statuses) AS wanted_status,
    json_each((
        SELECT json_group_array(id) FROM (
            SELECT id FROM activity
            WHERE organization_id = :organization_id AND status = wanted_status.value AND id < :cursor
            ORDER BY id DESC LIMIT :limit
        )
    )) AS found
ORDER BY found.value DESC LIMIT :limit;

-- name: activities_by_status_above
-- Ids of activities.
SELECT found.value AS id
FROM
    json_each(:statuses) AS wanted_status,
    json_each((
        SELECT json_group_array(id) FROM (
            SELECT id FROM activity
            WHERE organization_id = :organization_id AND status = wanted_status.value AND id > :cursor
            ORDER BY id LIMIT :limit
        )
    )) AS found
ORDER BY found.value LIMIT :limit;

-- name: activity_counts
-- For each period and wanted status, one walk of an index. Periods are numbered from 0.
SELECT starts.key, activity.type, activity.status, count(*)
FROM json_each(:starts) AS starts
JOIN json_each(:ends) AS ends ON ends.key = starts.key
CROSS JOIN json_each(:statuses) AS wanted_status
CROSS JOIN activity
WHERE activity.organization_id = :organization_id AND activity.status = wanted_status.value
    AND activity.created_at_ms >= CAST(starts.value AS INTEGER)
    AND activity.created_at_ms < CAST(ends.value AS INTEGER)
GROUP BY starts.key, activity.type, activity.status;

-- name: refused_request_counts
SELECT starts.key, sum(refused_request.count)
FROM json_each(:starts) AS starts
JOIN json_each(:ends) AS ends ON ends.key = starts.key
CROSS JOIN refused_request
WHERE refused_request.organization_id = :organization_id
    AND refused_request.at_ms >= CAST(starts.value AS INTEGER)
    AND refused_request.at_ms < CAST(ends.value AS INTEGER)
GROUP BY starts.key;

-- name: activities_by_type_and_status_below
-- Ids of activities.
-- By status too, so that one index serves every page by type.
SELECT found.value AS id
FROM
    json_each(:types) AS wanted_type,
    json_each(:statuses) AS wanted_status,
    json_each((
        SELECT json_group_array(id) FROM (
            SELECT id FROM activity
            WHERE organization_id = :organization_id
                AND type = wanted_type.value AND status = wanted_status.value AND id < :cursor
            ORDER BY id DESC LIMIT :limit
        )
    )) AS found
ORDER BY found.value DESC LIMIT :limit;

-- name: activities_by_type_and_status_above
-- Ids of activities.
SELECT found.value AS id
FROM
    json_each(:types) AS wanted_type,
    json_each(:statuses) AS wanted_status,
    json_each((
        SELECT json_group_array(id) FROM (
            SELECT id FROM activity
            WHERE organization_id = :organization_id
                AND type = wanted_type.value AND status = wanted_status.value AND id > :cursor
            ORDER BY id LIMIT :limit
        )
    )) AS found
ORDER BY found.value LIMIT :limit;

-- name: held_by_siblings
-- Which of these values lead to another sub-organization of the same parent.
SELECT DISTINCT value FROM lookup
WHERE kind = :kind AND value IN (SELECT value FROM json_each(:values))
    AND parent_id = :parent_id AND organization_id <> :organization_id;

-- Compare-and-swap: changes one row, or none where the organization has another version.

-- name: swap_version
UPDATE organization SET
    version = :after_number,
    changed_by = :after_changed_by,
    record_count = :record_count,
    counted_version = :after_number
WHERE id = :organization_id AND version = :before_number AND changed_by = :before_changed_by;

-- name: purge_tombstones
WITH oldest AS (
    SELECT kind, id FROM record
    WHERE organization_id = :organization_id AND length(body) = 0 AND kind <> 'forgotten' AND version <= :version
    ORDER BY version LIMIT :limit
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
            AND entry.at_ms > max(counter.at_ms, :now_ms) - counter.window_ms
        ORDER BY entry.at_ms LIMIT 1
    ),
    (
        SELECT entry.total_before FROM velocity_entry AS entry
        WHERE counter.window_ms > 0
            AND entry.organization_id = counter.organization_id AND entry.counter_id = counter.id
            AND entry.at_ms > max(counter.at_ms, :now_ms) - counter.window_ms
        ORDER BY entry.at_ms LIMIT 1
    )
FROM velocity_counter AS counter
WHERE counter.organization_id = :organization_id AND counter.id IN (SELECT value FROM json_each(:ids));
