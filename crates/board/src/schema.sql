-- Nothing of a run but its archive, its manifest and its signature comes from the publisher: the other columns were computed
-- from these, so that lists need not compute them again.
CREATE TABLE publishers (
    key TEXT PRIMARY KEY,             -- public key of minisign, 56 letters
    id TEXT NOT NULL UNIQUE,          -- in addresses: the beginning of the key's SHA-256
    name TEXT NOT NULL,               -- as in the newest manifest; a laboratory's as the operator wrote it
    is_laboratory BIGINT NOT NULL,
    is_blocked BIGINT NOT NULL,
    added TEXT NOT NULL,
    followed_by TEXT                  -- the key that took over from this one, which says nothing more then
);
CREATE TABLE runs (
    id TEXT PRIMARY KEY,              -- in addresses; not to be guessed
    place BIGINT NOT NULL UNIQUE,     -- in the chain
    uuid TEXT,                        -- null when it was deleted, as everything of the publisher
    uuid_sha256 TEXT NOT NULL UNIQUE, -- stays, so that what was deleted does not come back
    cells_sha256 TEXT NOT NULL UNIQUE, -- of what was measured, whatever the run is called; stays
    signed TEXT NOT NULL,             -- when the newest text was signed that asked for a token
    signed_by TEXT NOT NULL,          -- the key of the signature
    publisher TEXT NOT NULL,          -- the same, or the last key that follows it
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
CREATE INDEX runs_by_plan ON runs (plan_hash, visibility, place);
CREATE INDEX runs_by_publisher ON runs (publisher, received);
CREATE INDEX runs_of_publisher ON runs (publisher, place);
-- Pieces of one length but the last, so that a reader who is slow takes the memory of one.
CREATE TABLE archive_pieces (
    run TEXT NOT NULL,
    number BIGINT NOT NULL,           -- from 0
    octets BYTEA NOT NULL,
    PRIMARY KEY (run, number)
);
-- Reports and comparisons of public runs, as readers asked for them; the oldest make room.
CREATE TABLE kept_pages (
    name TEXT PRIMARY KEY,            -- of what, and by which version of btu
    run TEXT NOT NULL,
    other TEXT NOT NULL,              -- the other run of a comparison; else the same
    made TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    page BYTEA NOT NULL
);
CREATE TABLE certificates (
    run TEXT NOT NULL,
    laboratory TEXT NOT NULL,
    signature TEXT NOT NULL,
    received TEXT NOT NULL,
    PRIMARY KEY (run, laboratory)
);
CREATE TABLE objections (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    by_run TEXT NOT NULL,             -- the objector's own published run
    received TEXT NOT NULL,
    objection TEXT NOT NULL,
    answer TEXT,
    answered TEXT
);
CREATE INDEX objections_by_run ON objections (run);
-- Not those of a publisher whom the operator blocked, nor of a run that was withdrawn.
CREATE VIEW heard_objections AS
    SELECT objections.id, objections.run, objections.by_run, objections.received, objections.objection, objections.answer,
        objections.answered, publishers.name
    FROM objections JOIN runs ON runs.id = objections.by_run JOIN publishers ON publishers.key = runs.publisher
    WHERE runs.withdrawn IS NULL AND publishers.is_blocked = 0;
CREATE TABLE challenges (
    seed TEXT PRIMARY KEY,
    publisher TEXT NOT NULL,
    request_sha256 TEXT NOT NULL UNIQUE,
    issued TEXT NOT NULL,
    run TEXT                          -- null until it comes back
);
CREATE INDEX challenges_by_run ON challenges (run);
CREATE INDEX challenges_by_publisher ON challenges (publisher, issued);
CREATE INDEX challenges_by_time ON challenges (issued);
-- Each link is the SHA-256 of the link before it, the digest of a manifest, and the time.
CREATE TABLE chain (
    place BIGINT PRIMARY KEY,
    manifest_sha256 TEXT NOT NULL,
    received TEXT NOT NULL,
    link TEXT NOT NULL
);
CREATE UNIQUE INDEX chain_by_manifest ON chain (manifest_sha256);
-- One row, which whoever adds a link holds until it is stored.
CREATE TABLE chain_end (
    one BIGINT PRIMARY KEY,
    place BIGINT NOT NULL,
    link TEXT NOT NULL
);
INSERT INTO chain_end (one, place, link) VALUES (1, 0, 'btu-board');
-- One row, which every change of the database holds until it is stored: changes come one after another, and whoever keeps
-- what was computed sees whether it is still true.
CREATE TABLE changes (
    one BIGINT PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO changes (one, number) VALUES (1, 0);
-- One row, when an address was named: that of all servers of this database, as publishers sign it.
CREATE TABLE address (
    one BIGINT PRIMARY KEY,
    url TEXT NOT NULL
);
