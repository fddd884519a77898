-- Schema 1. Released files in this directory are never edited: a change is a new file.

-- "BTUr": tells this database from any other SQLite file.
PRAGMA application_id = 0x42545572;

-- One execution of a plan.
CREATE TABLE runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,  -- users see it as r12; never given twice
    uuid          TEXT    NOT NULL UNIQUE,            -- version 4, the same wherever the run is copied to
    suite         TEXT    NOT NULL,
    profile       TEXT    NOT NULL,
    network       TEXT    NOT NULL,                   -- as the user named it
    label         TEXT,
    state         TEXT    NOT NULL CHECK (state IN ('running', 'complete', 'interrupted', 'failed')),
    created       TEXT    NOT NULL,                   -- RFC 3339
    finished      TEXT,                               -- RFC 3339; null while running
    seed          TEXT    NOT NULL,                   -- decimal, since it has 64 bits without a sign
    btu_version   TEXT    NOT NULL,
    planned_cells INTEGER NOT NULL,
    plan          TEXT    NOT NULL,                   -- JSON
    plan_hash     TEXT    NOT NULL,
    calibration   TEXT                                -- JSON; null until it is done
) STRICT;

CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag TEXT    NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;

-- The machine's circumstances; a resumed run has several of them.
CREATE TABLE environments (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    moment   TEXT    NOT NULL CHECK (moment IN ('before', 'after')),
    document TEXT    NOT NULL                         -- JSON
) STRICT;
CREATE INDEX environments_of_run ON environments (run);

-- What was measured. `record` is the whole cell with its raw samples; the columns beside it only help to search.
CREATE TABLE cells (
    id                      INTEGER PRIMARY KEY,
    run                     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    block                   INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    component               TEXT    NOT NULL,         -- empty for a host activity alone
    message_bytes           INTEGER NOT NULL,         -- 0 for a host activity alone
    load                    TEXT    NOT NULL,
    valid                   INTEGER NOT NULL CHECK (valid IN (0, 1)),
    goodput_bits_per_second REAL,
    duration_ns             INTEGER,
    host_duration_ns        INTEGER,
    record                  TEXT    NOT NULL,         -- JSON
    UNIQUE (run, block, component, message_bytes, load)
) STRICT;

-- What happened on the way: warnings, failures, interruptions.
CREATE TABLE events (
    id    INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    at    TEXT    NOT NULL,                           -- RFC 3339
    level TEXT    NOT NULL CHECK (level IN ('info', 'warning', 'error')),
    text  TEXT    NOT NULL
) STRICT;
CREATE INDEX events_of_run ON events (run);
