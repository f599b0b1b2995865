//! Faults in the files of PostgreSQL.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use skips::{Capability, skip};

use crate::cells::{Database, Kind, Seen, kept};
use crate::matrix::run;
use crate::server::{Cluster, servers};

mod backups;

/// What the earlier moment has, from which stale pages are.
const BEFORE: &str = "create table t(id int primary key, a text, pad text)
create table g(x int[]) with (autovacuum_enabled = off)
create table p(x point)
create table h(x text)
create table r(x int)
create table s(x text)
create table long(x text)
alter table long alter column x set storage external
create table shared_rows(id int primary key, x int)
create sequence numbers
create unlogged table passing(id int primary key)
insert into t select i, md5(i::text), repeat('x', 60) from generate_series(1, 3000) i
insert into g select array[i, i % 10, 7] from generate_series(1, 2000) i
insert into p select point(i % 100, i / 100) from generate_series(1, 2000) i
insert into h select md5(i::text) from generate_series(1, 2000) i
insert into r select i from generate_series(1, 2000) i
insert into s select md5(i::text) from generate_series(1, 2000) i
insert into long select repeat(md5(i::text), 200) from generate_series(1, 20) i
insert into shared_rows select i, i from generate_series(1, 500) i
create index t_a on t(a)
create index g_gin on g using gin(x) with (fastupdate = off)
create index p_gist on p using gist(x)
create index h_hash on h using hash(x)
create index r_brin on r using brin(x) with (pages_per_range = 1)
create index s_spgist on s using spgist(x)
select nextval('numbers')
vacuum freeze
checkpoint
";

/// What comes behind it.
const AFTER: &str = "update t set pad = 'new', a = md5(a) where id % 3 = 0
insert into t select i, md5(i::text), 'later' from generate_series(3001, 4000) i
delete from t where id % 10 = 1
insert into g select array[i, i % 10, 8] from generate_series(2001, 3000) i
delete from g where x[1] % 5 = 0
insert into p select point(i % 100 + 0.5, i / 100) from generate_series(1, 2000) i
insert into h select md5(i::text) from generate_series(2001, 3000) i
update h set x = md5(x) where x < '3'
insert into r select i from generate_series(5000, 7000) i
update r set x = x + 10000 where x % 2 = 0
insert into s select md5(i::text) from generate_series(2001, 3000) i
update s set x = md5(x) where x < '3'
insert into long select repeat(md5(i::text), 200) from generate_series(21, 30) i
delete from long where ctid in (select ctid from long limit 5)
begin
select count(*) from (select * from shared_rows for share) x
savepoint a
update shared_rows set x = x + 1 where id % 2 = 0
commit
select nextval('numbers') from generate_series(1, 100)
vacuum
checkpoint
";

/// Where the files of relations are, by name; those of TOAST tables by the name of their table and `.toast`.
fn paths_of(cluster: &Cluster) -> HashMap<String, PathBuf> {
    let output = cluster.run_all(
        "select c.relname || ' ' || pg_relation_filepath(c.oid) as p from pg_class c where relkind in ('r', 'i', 'S')\n\
         select c.relname || '.toast ' || pg_relation_filepath(c.reltoastrelid) as p from pg_class c where reltoastrelid <> 0\n",
    );
    let lines = output.lines().filter(|line| line.contains("p = \""));
    let words = lines.filter_map(|line| line.split('"').nth(1)?.split_once(' '));
    words.map(|(name, path)| (name.to_owned(), PathBuf::from(path))).collect()
}

/// Size of a WAL segment, so that clusters are small.
const SEGMENT_BYTES: u64 = 1 << 20;

/// The WAL segment that recovery from the last checkpoint begins in.
fn wal_segment(cluster: &Cluster) -> PathBuf {
    let control = std::fs::read(cluster.data().join("global/pg_control")).unwrap();
    // EVIDENCE: PostgreSQL pg_control.h, ControlFileData: checkPointCopy.redo at byte 40, ThisTimeLineID at byte 48
    let redo = u64::from_le_bytes(control[40..48].try_into().unwrap());
    let timeline = u32::from_le_bytes(control[48..52].try_into().unwrap());
    let (high, low) = (redo >> 32, (redo & 0xffff_ffff) / SEGMENT_BYTES);
    PathBuf::from("pg_wal").join(format!("{timeline:08X}{high:08X}{low:08X}"))
}

/// The kinds of files of a cluster, in `below`, which is the directory of the cluster below the mounted one.
struct Kinds<'a> {
    below: &'a Path,
    paths: HashMap<String, PathBuf>,
    kinds: Vec<Kind>,
}

impl Kinds<'_> {
    /// A file of blocks with checksums; `kin`: the relations in which its absent rows or entries may be found.
    fn blocks(&mut self, name: &'static str, relation: &str, suffix: &str, stale: Seen, kin: &[&str]) {
        let path = self.below.join(format!("{}{suffix}", self.paths[relation].display()));
        let kin = kin.iter().map(|kin| match *kin {
            "*" => "*".to_owned(),
            kin => self.paths[kin].display().to_string(),
        });
        self.kinds.push(Kind {
            byte: 100,
            is_protected: true,
            torn: Seen::Found,
            stale,
            kin: kin.collect(),
            ..Kind::new(name, path, 8192)
        });
    }

    /// A file without checksums; whatever rests on it may be found to differ.
    fn plain(&mut self, name: &'static str, path: impl AsRef<Path>, page_bytes: u64) -> &mut Kind {
        let kin = vec!["*".to_owned()];
        self.kinds.push(Kind { byte: 2, kin, ..Kind::new(name, self.below.join(path), page_bytes) });
        self.kinds.last_mut().unwrap()
    }

    /// Every kind of file with blocks.
    fn all_blocks(&mut self) {
        use Seen::{Either, Found, Silent};
        self.blocks("heap", "t", "", Found, &["t_pkey", "t_a"]);
        self.blocks("btree", "t_a", "", Found, &["t"]);
        self.blocks("gin", "g_gin", "", Found, &["g"]);
        self.blocks("gist", "p_gist", "", Found, &["p"]);
        self.blocks("hash", "h_hash", "", Found, &["h"]);
        self.blocks("brin", "r_brin", "", Found, &["r"]);
        self.blocks("spgist", "s_spgist", "", Found, &["s"]);
        self.blocks("toast", "long.toast", "", Found, &["long"]);
        self.blocks("toast index", "pg_toast_long_index", "", Found, &["long.toast", "long"]);
        self.blocks("heap with multixacts", "shared_rows", "", Either, &["shared_rows_pkey"]);
        self.blocks("free space map", "t", "_fsm", Silent, &[]);
        self.blocks("visibility map", "t", "_vm", Either, &["t"]);
        self.blocks("init fork of a table", "passing", "_init", Found, &["passing"]);
        self.blocks("init fork of an index", "passing_pkey", "_init", Found, &["passing"]);
        self.blocks("sequence", "numbers", "", Either, &[]);
        // VACUUM writes statistics into rows of pg_class: an older block may differ in these alone.
        self.blocks("catalog pg_class", "pg_class", "", Either, &["*"]);
        self.blocks("catalog pg_attribute", "pg_attribute", "", Found, &["*"]);
        self.blocks("catalog index", "pg_class_oid_index", "", Found, &["pg_class"]);
    }

    /// Every kind of file of the cluster as a whole.
    fn all_plain(&mut self, wal: &Path) {
        let base = self.paths["t"].parent().unwrap().to_path_buf();
        self.plain("pg_control", "global/pg_control", 8192).is_protected = true;
        self.plain("relation map", base.join("pg_filenode.map"), 64);
        self.plain("shared relation map", "global/pg_filenode.map", 64);
        self.plain("pg_xact", "pg_xact/0000", 8192);
        self.plain("pg_multixact offsets", "pg_multixact/offsets/0000", 8192);
        self.plain("pg_multixact members", "pg_multixact/members/0000", 8192);
        self.plain("PG_VERSION", "PG_VERSION", 64);
        self.plain("PG_VERSION of a database", base.join("PG_VERSION"), 64);
        self.plain("WAL", wal, 8192);
        self.plain("directory of a database", base, 8192);
        self.plain("directory global", "global", 8192);
        self.plain("directory pg_wal", "pg_wal", 8192);
        self.plain("directory pg_xact", "pg_xact", 8192);
    }
}

/// A cluster of small segments with checksums, as it was before.
fn cluster_of(major: u32, bin: &Path) -> Cluster {
    let options: &[&str] = if major < 18 { &["-k", "--wal-segsize=1"] } else { &["--wal-segsize=1"] };
    let cluster = Cluster::new(bin, options);
    cluster.run_all(BEFORE);
    // Names without numbers for what belongs to TOAST.
    cluster.run_all(
        "do $$ begin execute 'alter index pg_toast.pg_toast_' || 'long'::regclass::oid || '_index rename to pg_toast_long_index'; end $$\ncheckpoint\n",
    );
    cluster
}

fn kinds_of<'a>(cluster: &Cluster, below: &'a Path) -> Kinds<'a> {
    Kinds { below, paths: paths_of(cluster), kinds: Vec::new() }
}

/// A stopped cluster of one major, with a tablespace.
fn stopped(engine: &'static str, major: u32, bin: &Path, stride: usize) {
    let cluster = cluster_of(major, bin);
    let place = cluster.data().parent().unwrap().to_path_buf();
    let spaces = place.join("space");
    let made = cluster.plain_command("mkdir").arg(&spaces).status().unwrap();
    assert!(made.success());
    cluster.run_all(&format!(
        "create tablespace space location '{}'\ncreate table far(id int primary key) tablespace space\ninsert into far select generate_series(1, 1000)\nvacuum freeze far\ncheckpoint\n",
        spaces.display()
    ));
    let older = kept(&place);
    cluster.run_all(&format!(
        "{AFTER}insert into far select generate_series(1001, 3000)\nvacuum far\ncheckpoint\n"
    ));
    let below = Path::new("data");
    let mut kinds = kinds_of(&cluster, below);
    kinds.all_blocks();
    // pg_tblspc/OID is a link to the directory: the file has the name behind it.
    let far: PathBuf = kinds.paths["far"].iter().skip(2).collect();
    let mut far = Kind { path: Path::new("space").join(far), ..kinds.kinds[0].clone() };
    far.name = "heap in a tablespace";
    far.kin = vec!["pg_tblspc".to_owned()];
    kinds.kinds.push(far);
    kinds.all_plain(&wal_segment(&cluster));
    let database = Database {
        engine,
        directory: place,
        older: Some(older.path().to_path_buf()),
        targets: vec!["data".into()],
        kinds: kinds.kinds,
        clean_code: 0,
        stride,
    };
    run(&database);
}

#[test]
fn a_stopped_cluster_is_judged_by_what_can_be_read_twice() {
    let Some((major, bin)) = servers().pop() else { return };
    stopped("postgres newest", major, &bin, 3);
}

#[test]
fn a_stopped_cluster_of_the_oldest_major_is_judged_likewise() {
    let servers = servers();
    let [(major, bin), _, ..] = servers.as_slice() else {
        return skip(Capability::PostgresMajors, "fewer than two majors of PostgreSQL");
    };
    stopped("postgres oldest", *major, bin, 8);
}

#[test]
fn a_crashed_cluster_is_judged_by_what_can_be_read_twice() {
    // Of the majors the one in the middle: the first and the last are checked after a clean shutdown.
    let servers = servers();
    let Some((major, bin)) = servers.get(servers.len() / 2) else { return };
    let cluster = cluster_of(*major, bin);
    let older = kept(&cluster.data());
    // Without the checkpoint at its end: what was changed is in the WAL, and in part in the files.
    cluster.crash_after(AFTER.trim_end_matches("vacuum\ncheckpoint\n"));
    let copy = cluster.copied();
    copy.run_all("checkpoint\n");
    let paths = paths_of(&copy);
    let mut kinds = Kinds { below: Path::new(""), paths, kinds: Vec::new() };
    kinds.all_blocks();
    kinds.all_plain(&wal_segment(&cluster));
    for kind in &mut kinds.kinds {
        // What recovery replaces from the WAL is not judged.
        (kind.torn, kind.stale) = (Seen::Either, Seen::Either);
        kind.is_protected = false;
    }
    let database = Database {
        engine: "postgres crashed",
        directory: cluster.data(),
        older: Some(older.path().to_path_buf()),
        targets: Vec::new(),
        kinds: kinds.kinds,
        clean_code: 0,
        stride: 8,
    };
    run(&database);
}
