-- Schema 3. Released files in this directory are never edited: a change is a new file.

-- Whether the run came with a file; what its plan names was then named by whoever made the file.
ALTER TABLE runs ADD COLUMN imported INTEGER NOT NULL DEFAULT 0 CHECK (imported IN (0, 1));

-- How long it was measured, all sessions together, by a clock that nobody sets; null where an older version began it.
ALTER TABLE runs ADD COLUMN spent_ns INTEGER;
