-- Schema 2. What the user says of machines; what they are is in the runs' environments.

CREATE TABLE machines (
    key              TEXT PRIMARY KEY,                -- from a run's environment: m and eight hexadecimal digits
    name             TEXT UNIQUE,                     -- the user's own word
    price_hundredths INTEGER CHECK (price_hundredths > 0),
    currency         TEXT,                            -- ISO 4217; null exactly where the price is
    CHECK ((price_hundredths IS NULL) = (currency IS NULL))
) STRICT, WITHOUT ROWID;
