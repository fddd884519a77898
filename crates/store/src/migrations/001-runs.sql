-- Schema 1. Files in this directory are never edited once they are released: a change is a new file.

-- "BTUr": tells this database from any other SQLite file.
PRAGMA application_id = 0x42545572;

-- One execution of a plan.
CREATE TABLE runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,  -- users see it as r12; never given twice
    uuid          TEXT    NOT NULL UNIQUE,            -- version 4, the same wherever the run is copied to
    study         TEXT    NOT NULL,
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
    calibration   TEXT,                               -- JSON; null until it is done
    imported      INTEGER NOT NULL DEFAULT 0 CHECK (imported IN (0, 1)),  -- what its plan names was then named by whoever made the file
    spent_ns      INTEGER,                            -- how long it was measured, by a clock that nobody sets; null if that is not known
    answer        TEXT,                               -- the result in a few words, kept for lists; null until somebody asked
    answer_of     TEXT                                -- the version of the program that gave it
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

-- What was measured. `record` is the whole cell with its raw samples: JSON in which lists of pairs are differences, compressed by
-- RFC 1951. The other columns only help to search. The last two are what the record says of the processors around the cell, a round
-- trip of a cache line between two of them and a piece of arithmetic; 0 where nothing was read.
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
    record                  BLOB    NOT NULL,
    core_to_core_ns         INTEGER NOT NULL,
    arithmetic_ns           INTEGER NOT NULL,
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

-- What the user says of machines; what they are is in the runs' environments.
CREATE TABLE machines (
    key              TEXT PRIMARY KEY,                -- from a run's environment: m and eight hexadecimal digits
    name             TEXT UNIQUE,                     -- the user's own word
    price_hundredths INTEGER CHECK (price_hundredths > 0),
    currency         TEXT,                            -- ISO 4217; null exactly where the price is
    CHECK ((price_hundredths IS NULL) = (currency IS NULL))
) STRICT, WITHOUT ROWID;
