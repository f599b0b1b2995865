//! Seeds, made when they are needed: small files of every kind that the tests have, put together from the pages that are
//! kept in `corpus/` and from what SQLite and the compressors make here.

use std::io::Write as _;
use std::path::Path;

use rusqlite::Connection;

use crate::pieces::{join, join_wal};
use crate::small_page::{choices, small_page};
use crate::stored::results_files;

type Seeds = Vec<(String, Vec<u8>)>;

/// Databases of different shapes: page sizes, trees, long values, free pages, pointer maps, virtual tables.
const SHAPES: &[(&str, &str)] = &[
    ("plain", "PRAGMA page_size = 512; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);
        WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40) INSERT INTO t SELECT x, printf('%-*s', x * 7, x) FROM n;"),
    ("vacuum", "PRAGMA page_size = 1024; PRAGMA auto_vacuum = FULL; CREATE TABLE t (a, b BLOB); INSERT INTO t VALUES (1, zeroblob(5000)), (2, 'x');
        CREATE TABLE gone (a); INSERT INTO gone VALUES (zeroblob(3000)); DELETE FROM gone;"),
    ("rules", "PRAGMA page_size = 1024; CREATE TABLE p (id INTEGER PRIMARY KEY, mail TEXT NOT NULL UNIQUE COLLATE NOCASE, age INT CHECK (age BETWEEN 0 AND 150),
        g TEXT GENERATED ALWAYS AS (upper(mail)) STORED); CREATE INDEX e ON p (lower(mail)) WHERE age > 3;
        INSERT INTO p (mail, age) VALUES ('a@b', 4), ('c@d', 5), ('e', 100);"),
    ("keyed", "PRAGMA page_size = 512; PRAGMA encoding = 'UTF-16le'; CREATE TABLE w (a TEXT, b INT, PRIMARY KEY (b DESC, a)) WITHOUT ROWID;
        INSERT INTO w VALUES ('one', 1), ('two', 2), ('three', 3); CREATE VIEW v AS SELECT a FROM w; CREATE TRIGGER r AFTER INSERT ON w BEGIN SELECT 1; END;"),
    ("search", "PRAGMA page_size = 1024; CREATE VIRTUAL TABLE f USING fts5 (a, b); INSERT INTO f VALUES ('one two', 'three'), ('four', 'five two');"),
    ("places", "PRAGMA page_size = 1024; CREATE VIRTUAL TABLE r USING rtree (id, x0, x1, y0, y1); INSERT INTO r VALUES (1, 0, 1, 0, 1), (2, 5, 6, 7, 8);"),
];

const DEFINITIONS: &[&str] = &[
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT CHECK (length(b) < 5 AND b NOT LIKE '%x'), c REAL DEFAULT 1.5, d)",
    "CREATE TABLE \"t\" (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT NOT NULL UNIQUE ON CONFLICT REPLACE COLLATE NOCASE, c REAL, d REFERENCES t (a) ON DELETE CASCADE)",
    "CREATE TABLE t (a INT, b TEXT, c REAL, d AS (b || c) STORED, CONSTRAINT k PRIMARY KEY (a DESC, b), CHECK (a IN (1, 2, 3) OR d IS NULL)) STRICT, WITHOUT ROWID",
    "CREATE TABLE t (a /* not -- the end */ INTEGER PRIMARY KEY, [b] TEXT, `c` REAL, 'd' NUMERIC(10, 2)) -- end",
    "CREATE UNIQUE INDEX i ON t (lower(b) COLLATE RTRIM DESC, c + 1) WHERE c IS NOT NULL AND b GLOB 'a*'",
    "CREATE INDEX i ON t (CASE WHEN c > 1 THEN b ELSE hex(d) END, substr(b, 1, 2))",
];

/// Connection strings; behind zero bytes a service file, a password file and the environment.
const ADDRESSES: &[&str] = &[
    "postgresql://user:p%40ss@[::1]:5433/db?sslmode=require&connect_timeout=3\0\0\0",
    "host=/tmp port=5432 user='o''clock' password='a\\'b' dbname=x\0[a]\nhost=b\nport=1\n[c]\n\0*:*:*:*:secret\n\0PGSSLMODE=allow\n",
    "service=a\0[a]\nhost=b\npassword=x=y\n\0localhost:5432:a\\:b:a\\\\b:p\\:q\n\0PGSERVICEFILE=/tmp/none\nPGUSER=u\nPGPORT=9\n",
    "postgres://h1,h2/db?application_name=a%20b&options=-c%20x%3Dy&channel_binding=prefer&target_session_attrs=any",
];

/// Results of other tools; the first byte chooses the reader.
const IMPORTS: &[&str] = &[
    "\0transfer_kb,iops,mbytes_per_s,outstanding_io,avg_io_ms\n64,18644,1165,32,1.71\n8,65627,512,32,0.48\n",
    "\0table_id;wait_type;wait_s;resource_s;signal_s;wait_count;percentage;connections\n1;A;90.00;80.00;10.00;10;90.00;16\n1;B;6.00;5.00;1.00;10;6.00;16\n",
    "\0test,phase,counter,value\n1,populate,disk bytes/read,8192\n1,populate,read bytes/sec,4\n",
    "\u{1}0 1 4052 0 1795400694 502006\n1 1 skipped 0 1795400695 512495 0\n2 1 serialization 0 1795400696 1 0 3\n",
    "\u{1}0 1 4052 0 100000000 502006\n1 1 4052 0 8999999999 502006\n1 1 4052 0 99999999999 502006\n",
    "\u{2}1795400696 213 841272 5176962176 615 15155 0 0 0 0 0 0 0 0 0\n1795400697 4 10 20 1 5\n",
    "\u{3}pgbench (15.20)\nprogress: 1.0 s, 127.0 tps, lat 3.903 ms stddev 3.4\ntransaction type: x\nnumber of clients: 2\nnumber of transactions actually processed: 329\ntps = 110.3 (without)\n",
    "\u{4}{\"fio version\":\"fio-3.33\",\"jobs\":[{\"jobname\":\"a\",\"job options\":{\"bs\":\"4k\"},\"read\":{\"iops\":10,\"total_ios\":10,\"runtime\":1000,\"bw_bytes\":40960,\"clat_ns\":{\"mean\":5,\"max\":9,\"bins\":{\"5\":10},\"percentile\":{\"99.000000\":9}}}}]}",
    "\u{5}[\"6364\",\"2022-11-04 08:20:10\",\"4 Active Virtual Users configured\",\"TEST RESULT : System achieved 68 NOPM from 156 PostgreSQL TPM\"]\n{\"NEWORD\":{\"calls\":\"1\",\"p99_ms\":\"2\"}}{\"PostgreSQL tpm\":{\"0\":\"2022-11-04 08:20:10\"}}",
    "\u{6}#[StartTime: 1441812279.474 (seconds since epoch)]\nTag=a,0.127,1.007,2.769,HISTFAAAACF4nJNpmSzMwMDAxAABzFCaEUzOmNZg/wEiAgBX9QTV\n",
];

const FIO_JOBS: &[&str] = &[
    "[global]\nioengine=libaio\ndirect=1\nsize=1g\nruntime=30s\nramp_time=5\nfilename=/tmp/x\n; comment\n[a]\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=32\nnumjobs=4\n[b]\nstonewall\nrw=write\nbs=1m\n",
    "[global]\nrandseed=7\npercentage_random=50\nhipri\nbuffered=0\n[x]\nreadwrite=randread\nblocksize=4096\n",
    "[a]\nrw=rw\nfsync=1\n",
];

const SCRIPTS: &[&str] = &[
    "\\set aid random(1, 100000 * :scale)\n\\set z random_zipfian(1, 9, 1.3)\nBEGIN;\nUPDATE t SET a = :aid::int;\nEND;\n",
    "\\if :scale > 1 and hash(:client_id) % 2 = 0\nSELECT 1 \\gset x_\n\\elif null\n\\sleep 10 us\n\\else\nSELECT E'\\';', $a$;$a$;\n\\endif\n",
    "-- fathom: engine=postgres\n\\startpipeline\nSELECT :a;\n\\syncpipeline\n\\endpipeline\n-- fathom: engine=all\nSELECT 1 \\; SELECT 2 \\aset\n",
    "\\set x case when permute(1, 5) >= ~3 << 2 then -9223372036854775808 else least(1.5e3, pi()) end\nCREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END;\n",
];

const REQUESTS: &[&str] = &[
    "GET /study/1?token=a%26b%25 HTTP/1.1\r\nHost: localhost:8080\r\nCookie: x=1; fathom_token=a%26b%25\r\n\r\n",
    "HEAD //evil/path HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer a&b%\r\n\r\n",
    "POST / HTTP/1.0\r\nHost: [::1]:8080\r\nHost: a\r\n\r\nbody",
];

/// The seeds of a target; `corpus` has the pages that are kept.
pub fn of(target: &str, corpus: &Path) -> Seeds {
    let kept = |folder: &str, name: &str| std::fs::read(corpus.join(folder).join(name)).unwrap_or_default();
    match target {
        "sqlite_file" => databases(),
        "sql_text" => (0..)
            .zip(DEFINITIONS)
            .map(|(number, text)| {
                (
                    format!("definition-{number}"),
                    [&[u8::from(text.contains("INDEX"))], text.as_bytes()].concat(),
                )
            })
            .collect(),
        "sql_expression" => texts(DEFINITIONS),
        "postgres_page" => small_pages(corpus),
        "postgres_cluster" => ways(vec![("cluster".to_owned(), join(&cluster(kept)))], |seed, way| {
            seed.iter_mut().take(1).for_each(|byte| *byte |= way << 6);
        }),
        "archive" => ways(archives(&cluster(kept)), |seed, way| seed.push(way)),
        "sqlserver_file" => ways(sqlserver(kept), |seed, way| seed.push(way)),
        "decode" => {
            let folders = ["sqlite_page", "postgres_page", "sqlserver_page"];
            let pages = folders.iter().flat_map(|folder| all(corpus, folder)).collect::<Seeds>();
            let kinds = (0..8).flat_map(|kind| {
                pages.iter().map(move |(name, page)| (format!("{name}-{kind}"), [page, &[kind][..]].concat()))
            });
            kinds.collect()
        }
        "address" => texts(ADDRESSES),
        "fio_job" => texts(FIO_JOBS),
        "import" => texts(IMPORTS),
        "http_request" => texts(REQUESTS),
        "script_text" => texts(SCRIPTS),
        "spec" => lab::spec::shipped()
            .iter()
            .map(|spec| (format!("shipped-{}", spec.name), spec.text.as_bytes().to_vec()))
            .collect(),
        "results_file" => results_files(),
        "wire_answer" => answers(),
        "wire_script" => ways(answers(), |seed, way| seed.insert(0, way)),
        "transaction_log" => logs(),
        "wire_startup" => startups(),
        _ => Seeds::new(),
    }
}

fn logs() -> Seeds {
    use results::scripts::transactions::{LoggedTransaction, Outcome, to_bytes};
    let one = |end_ns, outcome, lag_ns| LoggedTransaction {
        client: 1,
        script: 0,
        end_ns,
        outcome,
        lag_ns,
        retries: 1,
    };
    let log = [one(5_000, Outcome::Done(4_000), None), one(6_000, Outcome::Skipped, Some(70))];
    vec![("log".to_owned(), to_bytes(&log))]
}

fn texts(texts: &[&str]) -> Seeds {
    (0..)
        .zip(texts)
        .map(|(number, text): (u32, _)| (format!("text-{number}"), text.as_bytes().to_vec()))
        .collect()
}

/// Each seed for each of the four things that are done with a file.
fn ways(seeds: Seeds, mark: impl Fn(&mut Vec<u8>, u8)) -> Seeds {
    let marked = seeds.iter().flat_map(|(name, bytes)| {
        let mark = &mark;
        (0..4).map(move |way| {
            let mut bytes = bytes.clone();
            mark(&mut bytes, way);
            (format!("{name}-{way}"), bytes)
        })
    });
    marked.collect()
}

/// Pages of PostgreSQL with few tuples, under each selection of what is read.
fn small_pages(corpus: &Path) -> Seeds {
    let pages = all(corpus, "postgres_page");
    let small = pages.iter().flat_map(|(name, page)| {
        choices(&small_page(page))
            .map(move |(choice, page)| (format!("{name}-{choice}"), page))
            .collect::<Seeds>()
    });
    small.collect()
}

fn all(corpus: &Path, folder: &str) -> Seeds {
    let entries = std::fs::read_dir(corpus.join(folder)).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = format!("{folder}-{}", entry.file_name().to_string_lossy());
            Some((name, std::fs::read(entry.path()).ok()?))
        })
        .collect()
}

fn databases() -> Seeds {
    let mut seeds = Seeds::new();
    let place = tempfile::tempdir().expect("there is room for small files");
    for (name, shape) in SHAPES {
        let path = place.path().join(name);
        let Ok(connection) = Connection::open(&path) else { continue };
        if connection.execute_batch(shape).is_err() {
            continue;
        }
        let whole = std::fs::read(&path).unwrap_or_default();
        let more = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE later (a); INSERT INTO later VALUES (1), ('two');";
        let is_logged = connection.execute_batch(more).is_ok();
        let read =
            |ending: &str| std::fs::read(place.path().join(format!("{name}{ending}"))).unwrap_or_default();
        for way in 0..4 {
            seeds.push((format!("{name}-{way}"), join_wal(&whole, &[], way)));
            if is_logged {
                seeds.push((format!("{name}-wal-{way}"), join_wal(&read(""), &read("-wal"), way)));
            }
        }
    }
    seeds
}

/// A data directory with the pages that are kept, in files where they are read.
fn cluster(kept: impl Fn(&str, &str) -> Vec<u8>) -> Vec<(&'static str, Vec<u8>)> {
    let page = |name: &str| kept("postgres_page", name);
    vec![
        ("PG_VERSION", b"16\n".to_vec()),
        ("global/pg_control", page("control")),
        ("global/pg_filenode.map", page("filenode-map")),
        ("base/5/PG_VERSION", b"16\n".to_vec()),
        ("base/5/pg_filenode.map", page("filenode-map")),
        ("base/5/1249", page("pg-attribute")),
        ("base/5/16384", page("heap")),
        ("base/5/16384_fsm", page("free-space-map")),
        ("base/5/16384_vm", page("visibility-map")),
        ("base/5/16385", [page("btree-meta"), page("btree-leaf"), page("btree-posting")].concat()),
        ("base/5/16386_init", page("gin")),
        ("pg_xact/0000", page("xact")),
        ("pg_wal/000000010000000000000001", page("wal")),
        ("backup_label", b"START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\nCHECKPOINT LOCATION: 0/2000060\n".to_vec()),
        ("tablespace_map", b"16390 /somewhere\n".to_vec()),
    ]
}

fn archives(files: &[(&'static str, Vec<u8>)]) -> Seeds {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        let long = format!("{}{name}", if bytes.len() == 3 { "./".repeat(60) } else { String::new() });
        builder.append_data(&mut header, long, &bytes[..]).expect("memory can be written");
    }
    let plain = builder.into_inner().expect("memory can be written");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    gzip.write_all(&plain).and_then(|()| lz4.write_all(&plain)).expect("memory can be written");
    let zstandard =
        ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
    vec![
        ("gzip".to_owned(), gzip.finish().expect("memory can be written")),
        ("lz4".to_owned(), lz4.finish().expect("memory can be written")),
        ("zstandard".to_owned(), zstandard),
        ("plain".to_owned(), plain),
    ]
}

/// The first pages of a data file, and the start of a backup with one.
fn sqlserver(kept: impl Fn(&str, &str) -> Vec<u8>) -> Seeds {
    let page = |name: &str| {
        let mut page = kept("sqlserver_page", name);
        page.resize(8192, 0);
        page
    };
    let names = [
        "file-header",
        "pfs",
        "gam",
        "gam",
        "data",
        "index-leaf",
        "gam",
        "gam",
        "iam",
        "boot",
        "data-pointers",
        "index-inner",
    ];
    let data = names.map(page).concat();
    let backup = kept("sqlserver_page", "backup");
    vec![
        ("data-file".to_owned(), data.clone()),
        ("backup".to_owned(), [&backup[..], &data].concat()),
        ("compressed-backup".to_owned(), kept("sqlserver_page", "backup-compressed")),
    ]
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// Start-ups with each method of authentication, refusals, and parameters; 24 asterisks stand for the client's nonce.
fn startups() -> Seeds {
    let ask = |kind: u8, data: &[u8]| message(b'R', &[&[0, 0, 0, kind], data].concat());
    let ready = [
        ask(0, b""),
        message(b'S', b"server_version\x0018.1\0"),
        message(b'K', &[0, 0, 0, 7, 0, 0, 0, 9]),
        message(b'v', b"\0\x03\0\0\0\0\0\x01_pq_.x\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    let scram = [
        ask(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        ask(11, b"r=************************3rfcNHYJY1ZVvWVs7j,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
        ask(12, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
    ]
    .concat();
    let refused = message(
        b'E',
        b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0Fauth.c\0L1\0Rauth_failed\0\0",
    );
    let all = [
        ("trust", vec![]),
        ("clear", ask(3, b"")),
        ("md5", ask(5, b"salt")),
        ("scram", scram),
        ("refused", refused),
        ("gss", ask(7, b"")),
    ];
    all.map(|(name, first)| (name.to_owned(), [&[0], &first[..], &ready].concat())).to_vec()
}

/// Answers as a server gives them: rows, errors, notices.
fn answers() -> Seeds {
    let rows = [
        message(b'T', b"\0\x02a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0b\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"),
        message(b'D', b"\0\x02\0\0\0\x03one\xff\xff\xff\xff"),
        message(b'C', b"SELECT 1\0"),
        message(b'Z', b"I"),
    ].concat();
    let refused = [
        message(b'N', b"SNOTICE\0C00000\0Mhello\0\0"),
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'E', b"SERROR\0VERROR\0C42P01\0Mrelation does not exist\0\0"),
        message(b'Z', b"E"),
    ]
    .concat();
    vec![
        ("rows".to_owned(), [&rows[..], &refused].concat()),
        ("refused".to_owned(), [refused, rows].concat()),
    ]
}
