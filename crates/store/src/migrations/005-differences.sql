-- Schema 5. Released files in this directory are never edited: a change is a new file.

-- The tables stay. A packed record may begin with the byte 7, which begins no stream of RFC 1951; its lists of pairs are
-- then differences. An older btu cannot read it, so this number tells it that the database is newer.
SELECT 1;
