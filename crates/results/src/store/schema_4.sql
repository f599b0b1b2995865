-- Version 4: how tables and indexes lay on their pages. One row per measurement, complete in itself, written once.

CREATE TABLE structure_report (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER REFERENCES run (id), -- the run after which it was measured; absent when the user asked for it
    stored_at      TEXT NOT NULL, -- RFC 3339, UTC
    fathom_version TEXT NOT NULL,
    place          TEXT NOT NULL, -- what was measured: absolute path, or URL without password
    json           TEXT NOT NULL  -- results::structure::StructureReport
) STRICT;
CREATE INDEX structure_report_of_run ON structure_report (run_id);

CREATE TRIGGER structure_report_is_written_once BEFORE UPDATE ON structure_report
BEGIN SELECT RAISE(ABORT, 'a structure cannot change'); END;
CREATE TRIGGER structure_report_is_kept BEFORE DELETE ON structure_report
BEGIN SELECT RAISE(ABORT, 'a structure cannot be deleted'); END;
