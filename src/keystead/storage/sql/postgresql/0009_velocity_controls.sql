-- Counters of velocity controls, and their entries (organizations/velocity/counters.py). A server of an earlier
-- release would sign without counting.
-- oldest server: 0009
CREATE TABLE velocity_counter (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    window_ms BIGINT NOT NULL,
    total TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE velocity_entry (
    organization_id TEXT COLLATE "C" NOT NULL,
    counter_id TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    total_before TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, counter_id, at_ms)
);
