-- Schema 4. Released files in this directory are never edited: a change is a new file.

-- A cell's record, JSON compressed by RFC 1951; `record` is then empty. Null in cells of older versions.
ALTER TABLE cells ADD COLUMN packed BLOB;
