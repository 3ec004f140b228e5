-- Counts of codes in the form of before windows. No server of this version reads them, and their columns do not
-- follow from their bodies, which `keystead check` reports.
DELETE FROM one_time_code_count WHERE subject LIKE 'contact %' OR subject LIKE 'user %';
