-- Version 1 of the results file. One row is written once: what a finished run says cannot change.

CREATE TABLE study (
    id             INTEGER PRIMARY KEY,
    key            TEXT NOT NULL UNIQUE,
    experiment     TEXT NOT NULL,
    title          TEXT NOT NULL,
    question       TEXT NOT NULL,
    scale          TEXT NOT NULL,
    engine         TEXT NOT NULL,
    spec_toml      TEXT NOT NULL,
    seed           TEXT NOT NULL, -- decimal: the range of 64 bits without sign does not fit an INTEGER
    factors        TEXT NOT NULL, -- JSON
    fixed          TEXT NOT NULL, -- JSON
    repetitions    INTEGER NOT NULL,
    expectations   TEXT NOT NULL, -- JSON
    created_at     TEXT NOT NULL, -- RFC 3339, UTC
    fathom_version TEXT NOT NULL
) STRICT;

CREATE TABLE cell (
    study_id   INTEGER NOT NULL REFERENCES study (id),
    cell_index INTEGER NOT NULL,
    levels     TEXT NOT NULL, -- JSON
    PRIMARY KEY (study_id, cell_index)
) STRICT, WITHOUT ROWID;

-- Settings and environment, once per distinct content.
CREATE TABLE document (
    id     INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE, -- of `json`
    json   TEXT NOT NULL
) STRICT;

CREATE TABLE run (
    id          INTEGER PRIMARY KEY,
    study_id    INTEGER NOT NULL,
    block_index INTEGER NOT NULL,
    cell_index  INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    begun_at    TEXT NOT NULL, -- RFC 3339, UTC: preparation began
    started_at  TEXT,          -- RFC 3339, UTC: release of the start barrier
    state       TEXT NOT NULL CHECK (state IN ('running', 'valid', 'invalid', 'interrupted')),
    elapsed_ns  INTEGER NOT NULL DEFAULT 0,
    settings_id INTEGER REFERENCES document (id),
    machine_id  INTEGER REFERENCES document (id),
    layout_id   INTEGER REFERENCES document (id),
    engine_id   INTEGER REFERENCES document (id),
    UNIQUE (study_id, block_index, cell_index, attempt),
    FOREIGN KEY (study_id, cell_index) REFERENCES cell (study_id, cell_index)
) STRICT;

CREATE TABLE client (
    run_id        INTEGER NOT NULL REFERENCES run (id),
    client_index  INTEGER NOT NULL,
    start_ns      INTEGER, -- since the release of the barrier
    end_ns        INTEGER,
    row_count     INTEGER NOT NULL,
    transactions  INTEGER NOT NULL,
    warm_up_rows  INTEGER NOT NULL,
    errors        INTEGER NOT NULL,
    retries       INTEGER NOT NULL,
    arrivals_unserved INTEGER NOT NULL, -- open loop: intended, never begun
    error         TEXT,
    service_time  BLOB, -- HdrHistogram V2, nanoseconds; absent when empty
    response_time BLOB, -- the same; absent in a closed loop
    PRIMARY KEY (run_id, client_index)
) STRICT;

CREATE TABLE metric (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    value    REAL, -- absent: not a number
    unit     TEXT NOT NULL,
    source   TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE gate (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    gate     TEXT NOT NULL,
    outcome  TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'not_applicable')),
    expected TEXT NOT NULL,
    found    TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE warning (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    code     TEXT NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    at_ns    INTEGER NOT NULL, -- since the release of the barrier; negative before it
    kind     TEXT NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- What samplers saw while a run went on. Absent figures could not be had; they are never zero.
CREATE TABLE wait_profile (
    run_id        INTEGER NOT NULL REFERENCES run (id),
    position      INTEGER NOT NULL,
    session_group TEXT NOT NULL,    -- clients, checkpointer, ...
    session_count INTEGER NOT NULL,
    session_s     REAL NOT NULL,    -- time of all its sessions, added
    on_cpu_s      REAL,
    run_delay_s   REAL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE wait (
    run_id           INTEGER NOT NULL,
    profile_position INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    class            TEXT NOT NULL,
    name             TEXT NOT NULL,
    is_idle          INTEGER NOT NULL CHECK (is_idle IN (0, 1)),
    wait_s           REAL NOT NULL,
    resource_s       REAL,
    signal_s         REAL,
    count            INTEGER,       -- exact, or absent
    period_ns        INTEGER,       -- seconds are samples times this; absent: measured around every wait
    PRIMARY KEY (run_id, profile_position, position),
    FOREIGN KEY (run_id, profile_position) REFERENCES wait_profile (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE waiting_task (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    position   INTEGER NOT NULL,
    at_ns      INTEGER NOT NULL,    -- since the release of the barrier
    session    TEXT NOT NULL,
    wait       TEXT NOT NULL,       -- class:name
    resource   TEXT NOT NULL,
    page_class TEXT,
    waited_s   REAL,
    blocked_by TEXT NOT NULL,       -- JSON: list of sessions
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
    run_id       INTEGER NOT NULL REFERENCES run (id),
    position     INTEGER NOT NULL,
    name         TEXT NOT NULL,
    unit         TEXT NOT NULL,
    source       TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('rate', 'gauge')),
    sample_count INTEGER NOT NULL,
    at_ns        BLOB NOT NULL,     -- 8 bytes each, little-endian, signed; since the release of the barrier, ascending
    samples      BLOB NOT NULL,     -- 8 bytes each, little-endian IEEE 754; a sample that is missing is a NaN
    PRIMARY KEY (run_id, position),
    CHECK (length(at_ns) = 8 * sample_count AND length(samples) = 8 * sample_count)
) STRICT;

CREATE TABLE sampler (
    run_id           INTEGER NOT NULL REFERENCES run (id),
    position         INTEGER NOT NULL,
    name             TEXT NOT NULL,
    period_ns        INTEGER NOT NULL,
    samples_expected INTEGER NOT NULL,
    samples_taken    INTEGER NOT NULL,
    cpu_s            REAL NOT NULL, -- of the sampler itself
    problem          TEXT,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- What the devices alone gave for the patterns of a study; results::ceiling::StoredCeiling as JSON.
CREATE TABLE ceiling (
    id       INTEGER PRIMARY KEY,
    study_id INTEGER NOT NULL REFERENCES study (id),
    json     TEXT NOT NULL
) STRICT;

-- What happened to a run afterwards is added here, so that the run itself stays as it was.
CREATE TABLE mark (
    id        INTEGER PRIMARY KEY,
    run_id    INTEGER NOT NULL REFERENCES run (id),
    marked_at TEXT NOT NULL, -- RFC 3339, UTC
    reason    TEXT NOT NULL
) STRICT;
CREATE INDEX mark_of_run ON mark (run_id);

CREATE TABLE supersession (
    old_run_id INTEGER PRIMARY KEY REFERENCES run (id),
    new_run_id INTEGER NOT NULL REFERENCES run (id)
) STRICT;

CREATE TRIGGER run_is_written_once BEFORE UPDATE ON run WHEN OLD.state <> 'running'
BEGIN SELECT RAISE(ABORT, 'a finished run cannot change'); END;
CREATE TRIGGER run_is_kept BEFORE DELETE ON run
BEGIN SELECT RAISE(ABORT, 'a run cannot be deleted'); END;
CREATE TRIGGER study_is_written_once BEFORE UPDATE ON study
BEGIN SELECT RAISE(ABORT, 'a study cannot change'); END;
CREATE TRIGGER study_is_kept BEFORE DELETE ON study
BEGIN SELECT RAISE(ABORT, 'a study cannot be deleted'); END;
CREATE TRIGGER cell_is_written_once BEFORE UPDATE ON cell
BEGIN SELECT RAISE(ABORT, 'a cell cannot change'); END;
CREATE TRIGGER cell_is_kept BEFORE DELETE ON cell
BEGIN SELECT RAISE(ABORT, 'a cell cannot be deleted'); END;
CREATE TRIGGER client_is_written_once BEFORE UPDATE ON client
BEGIN SELECT RAISE(ABORT, 'a client cannot change'); END;
CREATE TRIGGER client_is_kept BEFORE DELETE ON client
BEGIN SELECT RAISE(ABORT, 'a client cannot be deleted'); END;
CREATE TRIGGER metric_is_written_once BEFORE UPDATE ON metric
BEGIN SELECT RAISE(ABORT, 'a metric cannot change'); END;
CREATE TRIGGER metric_is_kept BEFORE DELETE ON metric
BEGIN SELECT RAISE(ABORT, 'a metric cannot be deleted'); END;
CREATE TRIGGER gate_is_written_once BEFORE UPDATE ON gate
BEGIN SELECT RAISE(ABORT, 'a gate cannot change'); END;
CREATE TRIGGER gate_is_kept BEFORE DELETE ON gate
BEGIN SELECT RAISE(ABORT, 'a gate cannot be deleted'); END;
CREATE TRIGGER warning_is_written_once BEFORE UPDATE ON warning
BEGIN SELECT RAISE(ABORT, 'a warning cannot change'); END;
CREATE TRIGGER warning_is_kept BEFORE DELETE ON warning
BEGIN SELECT RAISE(ABORT, 'a warning cannot be deleted'); END;
CREATE TRIGGER event_is_written_once BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'an event cannot change'); END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'an event cannot be deleted'); END;
CREATE TRIGGER wait_profile_is_written_once BEFORE UPDATE ON wait_profile
BEGIN SELECT RAISE(ABORT, 'a wait profile cannot change'); END;
CREATE TRIGGER wait_profile_is_kept BEFORE DELETE ON wait_profile
BEGIN SELECT RAISE(ABORT, 'a wait profile cannot be deleted'); END;
CREATE TRIGGER wait_is_written_once BEFORE UPDATE ON wait
BEGIN SELECT RAISE(ABORT, 'a wait cannot change'); END;
CREATE TRIGGER wait_is_kept BEFORE DELETE ON wait
BEGIN SELECT RAISE(ABORT, 'a wait cannot be deleted'); END;
CREATE TRIGGER waiting_task_is_written_once BEFORE UPDATE ON waiting_task
BEGIN SELECT RAISE(ABORT, 'a waiting task cannot change'); END;
CREATE TRIGGER waiting_task_is_kept BEFORE DELETE ON waiting_task
BEGIN SELECT RAISE(ABORT, 'a waiting task cannot be deleted'); END;
CREATE TRIGGER series_is_written_once BEFORE UPDATE ON series
BEGIN SELECT RAISE(ABORT, 'a series cannot change'); END;
CREATE TRIGGER series_is_kept BEFORE DELETE ON series
BEGIN SELECT RAISE(ABORT, 'a series cannot be deleted'); END;
CREATE TRIGGER sampler_is_written_once BEFORE UPDATE ON sampler
BEGIN SELECT RAISE(ABORT, 'a sampler cannot change'); END;
CREATE TRIGGER sampler_is_kept BEFORE DELETE ON sampler
BEGIN SELECT RAISE(ABORT, 'a sampler cannot be deleted'); END;
CREATE TRIGGER mark_is_written_once BEFORE UPDATE ON mark
BEGIN SELECT RAISE(ABORT, 'a mark cannot change'); END;
CREATE TRIGGER mark_is_kept BEFORE DELETE ON mark
BEGIN SELECT RAISE(ABORT, 'a mark cannot be deleted'); END;
CREATE TRIGGER supersession_is_written_once BEFORE UPDATE ON supersession
BEGIN SELECT RAISE(ABORT, 'a supersession cannot change'); END;
CREATE TRIGGER supersession_is_kept BEFORE DELETE ON supersession
BEGIN SELECT RAISE(ABORT, 'a supersession cannot be deleted'); END;
CREATE TRIGGER document_is_written_once BEFORE UPDATE ON document
BEGIN SELECT RAISE(ABORT, 'a document cannot change'); END;
CREATE TRIGGER document_is_kept BEFORE DELETE ON document
BEGIN SELECT RAISE(ABORT, 'a document cannot be deleted'); END;
CREATE TRIGGER ceiling_is_written_once BEFORE UPDATE ON ceiling
BEGIN SELECT RAISE(ABORT, 'a ceiling cannot change'); END;
CREATE TRIGGER ceiling_is_kept BEFORE DELETE ON ceiling
BEGIN SELECT RAISE(ABORT, 'a ceiling cannot be deleted'); END;
