-- fathom: engine=postgres
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
CREATE TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor = {{fillfactor}});
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84)) WITH (fillfactor = {{fillfactor}});
CREATE TABLE pgbench_branches (bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor = {{fillfactor}});
-- fathom: engine=sqlite
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime text, filler text);
CREATE TABLE pgbench_tellers (tid INTEGER PRIMARY KEY, bid int, tbalance int, filler text);
CREATE TABLE pgbench_accounts (aid INTEGER PRIMARY KEY, bid int, abalance int, filler text);
CREATE TABLE pgbench_branches (bid INTEGER PRIMARY KEY, bbalance int, filler text);
