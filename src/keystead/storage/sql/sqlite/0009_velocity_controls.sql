-- Counters of velocity controls, and their entries (organizations/velocity/counters.py). A server of an earlier
-- release would sign without counting.
-- oldest server: 0009
CREATE TABLE velocity_counter (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    window_ms INTEGER NOT NULL,
    total TEXT NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE velocity_entry (
    organization_id TEXT NOT NULL,
    counter_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    total_before TEXT NOT NULL,
    PRIMARY KEY (organization_id, counter_id, at_ms)
);
