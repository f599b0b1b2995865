-- Version 3: what `fathom io` measured. A table is added whole and never changes.

-- results::io::IoTable as JSON.
CREATE TABLE io_table (
    id   INTEGER PRIMARY KEY,
    json TEXT NOT NULL
) STRICT;
CREATE TRIGGER io_table_is_written_once BEFORE UPDATE ON io_table
BEGIN SELECT RAISE(ABORT, 'a baseline cannot change'); END;
CREATE TRIGGER io_table_is_kept BEFORE DELETE ON io_table
BEGIN SELECT RAISE(ABORT, 'a baseline cannot be deleted'); END;
