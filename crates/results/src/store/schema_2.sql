-- Version 2: checks of database files. One row per check, complete in itself, written once.

CREATE TABLE check_report (
    id             INTEGER PRIMARY KEY,
    stored_at      TEXT NOT NULL, -- RFC 3339, UTC: when the check had ended
    fathom_version TEXT NOT NULL,
    place          TEXT NOT NULL, -- what was checked, so that checks of one thing are found: absolute path, or URL without password
    json           TEXT NOT NULL  -- results::check::CheckReport
) STRICT;
CREATE INDEX check_report_of_place ON check_report (place);

CREATE TRIGGER check_report_is_written_once BEFORE UPDATE ON check_report
BEGIN SELECT RAISE(ABORT, 'a check cannot change'); END;
CREATE TRIGGER check_report_is_kept BEFORE DELETE ON check_report
BEGIN SELECT RAISE(ABORT, 'a check cannot be deleted'); END;
