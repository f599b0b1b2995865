-- Version 5: marks that were taken back. The mark itself stays, with its reason.

CREATE TABLE mark_withdrawal (
    mark_id      INTEGER PRIMARY KEY REFERENCES mark (id),
    withdrawn_at TEXT NOT NULL -- RFC 3339, UTC
) STRICT;

CREATE TRIGGER mark_withdrawal_is_written_once BEFORE UPDATE ON mark_withdrawal
BEGIN SELECT RAISE(ABORT, 'a withdrawal of a mark cannot change'); END;
CREATE TRIGGER mark_withdrawal_is_kept BEFORE DELETE ON mark_withdrawal
BEGIN SELECT RAISE(ABORT, 'a withdrawal of a mark cannot be deleted'); END;
