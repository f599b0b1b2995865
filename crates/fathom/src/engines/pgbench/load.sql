-- fathom: engine=postgres
INSERT INTO pgbench_branches (bid, bbalance) SELECT i, 0 FROM generate_series(1, {{scale}}) AS i;
INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT i, (i - 1) / 10 + 1, 0 FROM generate_series(1, 10 * {{scale}}) AS i;
INSERT INTO pgbench_accounts (aid, bid, abalance, filler) SELECT i, (i - 1) / 100000 + 1, 0, '' FROM generate_series(1, 100000 * {{scale}}) AS i;
VACUUM ANALYZE pgbench_branches;
VACUUM ANALYZE pgbench_tellers;
VACUUM ANALYZE pgbench_accounts;
VACUUM ANALYZE pgbench_history;
ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);
-- fathom: engine=sqlite
BEGIN;
INSERT INTO pgbench_branches (bid, bbalance) WITH RECURSIVE t (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < {{scale}}) SELECT i, 0 FROM t;
INSERT INTO pgbench_tellers (tid, bid, tbalance) WITH RECURSIVE t (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 10 * {{scale}}) SELECT i, (i - 1) / 10 + 1, 0 FROM t;
INSERT INTO pgbench_accounts (aid, bid, abalance, filler) WITH RECURSIVE t (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 100000 * {{scale}}) SELECT i, (i - 1) / 100000 + 1, 0, printf('%-84s', '') FROM t;
END;
ANALYZE;
