-- Version 8: where an imported study is from. A study without a row was measured by fathom.

CREATE TABLE imported (
    study_id INTEGER PRIMARY KEY REFERENCES study (id),
    json     TEXT NOT NULL -- results::imported::Imported
) STRICT;

CREATE TRIGGER imported_is_written_once BEFORE UPDATE ON imported
BEGIN SELECT RAISE(ABORT, 'the origin of an imported study cannot change'); END;
CREATE TRIGGER imported_is_kept BEFORE DELETE ON imported
BEGIN SELECT RAISE(ABORT, 'the origin of an imported study cannot be deleted'); END;
