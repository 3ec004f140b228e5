-- How many records an organization has, so that `keystead check` notices a missing one. counted_version: the
-- version for which record_count was written. A server of an earlier release writes neither.
ALTER TABLE organization ADD COLUMN record_count BIGINT;
ALTER TABLE organization ADD COLUMN counted_version BIGINT;
