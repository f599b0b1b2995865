-- Version 7: what a study compares, as its spec says. The newest row of a study holds; older ones are kept.

CREATE TABLE design (
    id       INTEGER PRIMARY KEY,
    study_id INTEGER NOT NULL REFERENCES study (id),
    json     TEXT NOT NULL   -- metric, direction, secondary metrics, contrasts
) STRICT;

CREATE INDEX design_of_study ON design (study_id, id);

CREATE TRIGGER design_is_kept BEFORE UPDATE ON design
BEGIN SELECT RAISE(ABORT, 'a design cannot be changed'); END;
