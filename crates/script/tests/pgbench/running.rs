//! Scripts that run, inputs of pgbench's own regression tests, by the names they have there.

/// Scripts that run to their end: name of the test, script, whether it needs parameters.
pub(crate) const RUNNING: [(&str, &str, bool); 20] = [
    ("concurrent OID generation", "CREATE TYPE pg_temp.e AS ENUM ('l1', 'l2'); DROP TYPE pg_temp.e;", false),
    (
        "custom script 1",
        "-- select only\n\\set aid random(1, :scale * 100000)\nSELECT abalance::INTEGER AS balance\n  FROM pgbench_accounts\n  WHERE aid=:aid;\n",
        false,
    ),
    (
        "custom script 2",
        "-- special variables\nBEGIN;\n\\set foo 1\n-- cast are needed for typing under -M prepared\nSELECT :foo::INT + :scale::INT * :client_id::INT AS bla;\nCOMMIT;\n",
        false,
    ),
    (
        "custom scripts 3 and 4",
        "\\set aid random(1, :scale * 100000)\nBEGIN;\nSELECT abalance::INTEGER AS balance\n  FROM pgbench_accounts\n  WHERE aid=:aid;\nCOMMIT;\n",
        false,
    ),
    (
        "server parameter logging 1, 3 and 5",
        "select '{ invalid ' as value \\gset\nselect $$'Valame Dios!' dijo Sancho; 'no le dije yo'$$ as long \\gset\nselect column1::jsonb from (values (:value), (:long)) as q;\n",
        true,
    ),
    (
        "server parameter logging 2 and 4",
        "select '1' as one \\gset\nSELECT 1 / (random() / 2)::int, :one::int, :two::int;\n",
        true,
    ),
    (
        "server parameter logging 6",
        "select 42 as value1, '1a' as value2 \\gset\nselect :value1::smallint, :value2::smallint;\n",
        true,
    ),
    (
        "random seeded",
        "\\set ur random(1000, 1999)\n\\set er random_exponential(2000, 2999, 2.0)\n\\set gr random_gaussian(3000, 3999, 3.0)\n\\set zr random_zipfian(4000, 4999, 1.5)\nINSERT INTO seeded_random(seed, rand, val) VALUES\n  (:random_seed, 'uniform', :ur),\n  (:random_seed, 'exponential', :er),\n  (:random_seed, 'gaussian', :gr),\n  (:random_seed, 'zipfian', :zr);\n",
        false,
    ),
    (
        "backslash commands, without \\shell and \\setshell",
        "-- run set\n\\set zero 0\n\\set one 1.0\n-- sleep\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep :zero\n",
        false,
    ),
    ("late throttling", "\\sleep 2ms", false),
    (
        "gset command",
        "SELECT \\gset\nSELECT 0 AS i0 \\gset\n\\set i debug(:i0)\nSELECT 1 AS i1, 2 AS i2 \\gset\n\\set i debug(:i1)\n\\set i debug(:i2)\nSELECT 3 AS i3 \\gset x_\n\\set i debug(:x_i3)\nSELECT 0 AS i4, 4 AS i4 \\gset\n\\set i debug(:i4)\n\\; \\; SELECT 0 AS i5 \\; SELECT 5 AS i5 \\; \\; \\gset\n\\set i debug(:i5)\n",
        false,
    ),
    (
        "aset command",
        "\n\\; SELECT 6 AS i6 \\; SELECT 7 AS i7 \\; \\aset\nSELECT 8 AS i6 UNION SELECT 9 ORDER BY 1 DESC \\aset\n\\set i debug(:i6)\n\\set i debug(:i7)\n",
        false,
    ),
    (
        "startpipeline",
        "\n\\startpipeline\nselect 1;\nselect 1;\nselect 1;\nselect 1;\nselect 1;\n\n\\endpipeline\n",
        true,
    ),
    (
        "startpipeline in prepared query mode",
        "\n\\startpipeline\n\\endpipeline\n\\startpipeline\nselect 1;\nselect 1;\n\n\\endpipeline\n",
        true,
    ),
    (
        "startpipeline with syncpipeline",
        "\n\\startpipeline\nselect 1;\n\\syncpipeline\n\\syncpipeline\nselect 2;\n\\syncpipeline\nselect 3;\n\\endpipeline\n",
        true,
    ),
    (
        "startpipeline with serializable",
        "\n\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nselect 1;\nselect 1;\n\nEND;\n\\endpipeline\n",
        true,
    ),
    ("copy in script", " COPY pgbench_accounts FROM stdin ", false),
    // In words of ours: two clients that meet at advisory locks, and what such scripts have.
    (
        "concurrent update with retrying",
        "-- a comment; with 'quotes and (\n\\set delta random(-5000, 5000)\n\nSELECT pg_advisory_lock(0);\n\n-- then\nBEGIN;\nUPDATE xy SET y = y + :delta WHERE x = 1;\nDO $$\nDECLARE\n  waiters integer;\nBEGIN\n  -- It's a loop; (of one\n  LOOP\n    SELECT COUNT(*) INTO STRICT waiters FROM pg_locks WHERE (objid::bigint = 1::bigint) AND NOT granted;\n    EXIT;\n  END LOOP;\nEND$$;\n\nCOMMIT;\nSELECT pg_advisory_unlock_all();\n",
        false,
    ),
    (
        "deadlock with retrying",
        "SELECT pg_advisory_unlock_all();\nSELECT pg_advisory_lock(:client_id);\nDO $$\nBEGIN\n  IF true THEN\n    PERFORM pg_advisory_lock(2);\n  ELSE\n    PERFORM pg_advisory_lock(3);\n  END IF;\nEND$$;\nSELECT pg_advisory_unlock_all();\n",
        false,
    ),
    ("too many arguments of the simple protocol", "\\set i 0\nSELECT LEAST(:i, :i, :i)\n", false),
];
