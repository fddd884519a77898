-- Nothing of a run but its archive, its manifest and its signature comes from the publisher: the other columns were computed
-- from these, so that lists need not compute them again.
CREATE TABLE IF NOT EXISTS publishers (
    key TEXT PRIMARY KEY,             -- public key of minisign, 56 letters
    id TEXT NOT NULL UNIQUE,          -- in addresses: the beginning of the key's SHA-256
    name TEXT NOT NULL,               -- as in the newest manifest; a laboratory's as the operator wrote it
    is_laboratory BIGINT NOT NULL,
    is_blocked BIGINT NOT NULL,
    added TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,              -- in addresses; not to be guessed
    place BIGINT NOT NULL UNIQUE,     -- in the chain
    uuid TEXT UNIQUE,                 -- null when it was deleted, as everything of the publisher
    publisher TEXT NOT NULL,
    visibility TEXT NOT NULL,
    received TEXT NOT NULL,
    token_sha256 TEXT NOT NULL,
    manifest TEXT,
    signature TEXT,
    title TEXT NOT NULL,              -- btu-rating, part or none
    plan_hash TEXT NOT NULL,          -- of the plan without its seed: runs with the same are ranked together
    profile TEXT NOT NULL,
    network TEXT NOT NULL,
    particulars TEXT NOT NULL,
    rate_bits_per_second DOUBLE PRECISION,
    low_bits_per_second DOUBLE PRECISION,
    high_bits_per_second DOUBLE PRECISION,
    is_low_confidence BIGINT NOT NULL,
    cpu_rounds_per_second DOUBLE PRECISION,
    why_not_ranked TEXT,              -- null for a run that is ranked
    marks TEXT NOT NULL,              -- a line each
    machine TEXT NOT NULL,            -- its key
    system TEXT NOT NULL,             -- in the publisher's words
    processor TEXT NOT NULL,
    cpus BIGINT NOT NULL,
    memory_bytes BIGINT,
    is_virtual BIGINT NOT NULL,
    kernel TEXT NOT NULL,
    price_hundredths BIGINT,
    currency TEXT,
    seed TEXT NOT NULL,
    created TEXT NOT NULL,
    spent_seconds DOUBLE PRECISION,
    cells BIGINT NOT NULL,
    btu_version TEXT NOT NULL,
    withdrawn TEXT,
    withdrawn_why TEXT,
    withdrawn_by TEXT,
    deleted TEXT
);
CREATE INDEX IF NOT EXISTS runs_by_plan ON runs (plan_hash, visibility, place);
CREATE INDEX IF NOT EXISTS runs_by_publisher ON runs (publisher, received);
CREATE INDEX IF NOT EXISTS runs_of_publisher ON runs (publisher, place);
CREATE TABLE IF NOT EXISTS archives (
    run TEXT PRIMARY KEY,
    archive BYTEA NOT NULL
);
CREATE TABLE IF NOT EXISTS certificates (
    run TEXT NOT NULL,
    laboratory TEXT NOT NULL,
    signature TEXT NOT NULL,
    received TEXT NOT NULL,
    PRIMARY KEY (run, laboratory)
);
CREATE TABLE IF NOT EXISTS objections (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    by_run TEXT NOT NULL,             -- the objector's own published run
    received TEXT NOT NULL,
    objection TEXT NOT NULL,
    answer TEXT,
    answered TEXT
);
CREATE INDEX IF NOT EXISTS objections_by_run ON objections (run);
CREATE TABLE IF NOT EXISTS challenges (
    seed TEXT PRIMARY KEY,
    publisher TEXT NOT NULL,
    request_sha256 TEXT NOT NULL UNIQUE,
    issued TEXT NOT NULL,
    run TEXT                          -- null until it comes back
);
CREATE INDEX IF NOT EXISTS challenges_by_run ON challenges (run);
CREATE INDEX IF NOT EXISTS challenges_by_publisher ON challenges (publisher, issued);
-- Each link is the SHA-256 of the link before it, the digest of a manifest, and the time.
CREATE TABLE IF NOT EXISTS chain (
    place BIGINT PRIMARY KEY,
    manifest_sha256 TEXT NOT NULL,
    received TEXT NOT NULL,
    link TEXT NOT NULL
);
-- One row, which whoever adds a link holds until it is stored.
CREATE TABLE IF NOT EXISTS chain_end (
    one BIGINT PRIMARY KEY,
    place BIGINT NOT NULL,
    link TEXT NOT NULL
);
INSERT INTO chain_end (one, place, link) VALUES (1, 0, 'btu-board') ON CONFLICT DO NOTHING;
-- One row, which every change of the database holds until it is stored: changes come one after another, and whoever keeps
-- what was computed sees whether it is still true.
CREATE TABLE IF NOT EXISTS changes (
    one BIGINT PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO changes (one, number) VALUES (1, 0) ON CONFLICT DO NOTHING;
