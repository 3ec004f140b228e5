-- The statements that differ where Citus distributes the tables. They replace those of PostgreSQL of the same name.

-- name: waiting_endpoints
-- No recursive query over several nodes. It reads every delivery that waits.
SELECT DISTINCT endpoint_id FROM webhook_delivery
WHERE due_ms IS NOT NULL AND endpoint_id > :cursor
ORDER BY endpoint_id LIMIT :limit;

-- name: suborganizations_with_value_below
-- Look-ups and organizations are on different nodes, so the look-ups of a deleted organization are found until
-- they are deleted.
SELECT DISTINCT organization_id
FROM lookup
WHERE kind = :kind AND value = :value AND parent_id = :parent_id AND organization_id < :cursor
ORDER BY organization_id DESC
LIMIT :limit;

-- name: suborganizations_with_value_above
SELECT DISTINCT organization_id
FROM lookup
WHERE kind = :kind AND value = :value AND parent_id = :parent_id AND organization_id > :cursor
ORDER BY organization_id
LIMIT :limit;
