-- Version 6: values of settings that are not recorded any more, and passwords, were removed from an older file.

CREATE TABLE redaction (
    id          INTEGER PRIMARY KEY,
    redacted_at TEXT NOT NULL,    -- RFC 3339, UTC
    names       TEXT NOT NULL,    -- JSON: names of the settings whose value was removed, sorted
    studies     INTEGER NOT NULL, -- studies from whose spec a password was removed
    wiped_at    TEXT              -- RFC 3339, UTC: the file was rewritten without free space that held them
) STRICT;

CREATE TRIGGER redaction_is_kept BEFORE DELETE ON redaction
BEGIN SELECT RAISE(ABORT, 'a redaction cannot be deleted'); END;
