-- Version 9: what the scripts of a workload of the user's own did. A run without rows had none.

CREATE TABLE script (
    run_id       INTEGER NOT NULL REFERENCES run (id),
    position     INTEGER NOT NULL,
    file         TEXT NOT NULL,
    weight       INTEGER NOT NULL,
    transactions INTEGER NOT NULL, -- without a failure
    retried      INTEGER NOT NULL, -- transactions that were tried more than once
    retries      INTEGER NOT NULL, -- tries after the first ones
    failures     TEXT NOT NULL,    -- JSON: kind and count
    latency      BLOB,             -- HdrHistogram V2, nanoseconds; absent when empty
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE TABLE statement (
    run_id          INTEGER NOT NULL,
    script_position INTEGER NOT NULL,
    position        INTEGER NOT NULL,
    line            INTEGER NOT NULL, -- of the script, counted from 1
    text            TEXT NOT NULL,
    executions      INTEGER NOT NULL, -- also those that failed
    failures        TEXT NOT NULL,    -- JSON: kind and count
    first_failure   TEXT,             -- in the engine's words
    latency         BLOB,             -- as that of a script
    PRIMARY KEY (run_id, script_position, position),
    FOREIGN KEY (run_id, script_position) REFERENCES script (run_id, position)
) STRICT;

CREATE TABLE transaction_log (
    run_id INTEGER PRIMARY KEY REFERENCES run (id),
    log    BLOB NOT NULL -- each transaction: docs of results::scripts::transactions
) STRICT;

CREATE TRIGGER transaction_log_is_written_once BEFORE UPDATE ON transaction_log
BEGIN SELECT RAISE(ABORT, 'a log of transactions cannot change'); END;
CREATE TRIGGER transaction_log_is_kept BEFORE DELETE ON transaction_log
BEGIN SELECT RAISE(ABORT, 'a log of transactions cannot be deleted'); END;
CREATE TRIGGER script_is_written_once BEFORE UPDATE ON script
BEGIN SELECT RAISE(ABORT, 'a script cannot change'); END;
CREATE TRIGGER script_is_kept BEFORE DELETE ON script
BEGIN SELECT RAISE(ABORT, 'a script cannot be deleted'); END;
CREATE TRIGGER statement_is_written_once BEFORE UPDATE ON statement
BEGIN SELECT RAISE(ABORT, 'a statement cannot change'); END;
CREATE TRIGGER statement_is_kept BEFORE DELETE ON statement
BEGIN SELECT RAISE(ABORT, 'a statement cannot be deleted'); END;
