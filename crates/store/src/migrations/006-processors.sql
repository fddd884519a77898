-- Schema 6. Released files in this directory are never edited: a change is a new file.

-- What the cell's record says of the processors around it, so that the record need not be unpacked for it: a round trip of a cache line
-- between two processors, and a piece of arithmetic. 0 where nothing was read; null in cells of older versions.
ALTER TABLE cells ADD COLUMN core_to_core_ns INTEGER;
ALTER TABLE cells ADD COLUMN arithmetic_ns INTEGER;
