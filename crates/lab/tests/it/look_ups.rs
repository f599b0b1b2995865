//! Look-ups and the three storages in miniature, on the engines themselves: structure and arithmetic, never speed.

use lab::engine::{Layout, Target};
use lab::gates::Limits;
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, CacheState, Durability, KeyOrder, Storage, SubjectParameters, Work, Workload};
use lab_postgres::{ManagedOptions, ManagedPostgres};
use lab_sqlite::SqliteTarget;
use results::model::{Run, RunKey, RunState};

use crate::support;

/// Enough for three levels on PostgreSQL, and seven rows to a page without a rest.
const ROWS: u64 = 7000;

const STORAGES: [Storage; 3] = [Storage::ClusteredRandom, Storage::HeapIndex, Storage::ClusteredOrdered];

fn work(workload: Workload, storage: Storage, rows: u64, subject: SubjectParameters) -> Work {
    Work {
        workload,
        amount: Amount::Rows(rows),
        connections: 1,
        batch_size: 1,
        key: KeyOrder::Random,
        durability: Durability::None,
        buffer_pool_mib: Some(16),
        subject: SubjectParameters { storage, ..subject },
        ..support::work()
    }
}

fn look_up(workload: Workload, storage: Storage) -> Work {
    let subject = SubjectParameters {
        table_rows: ROWS,
        objects: 1,
        every: 100,
        cache: CacheState::Cold,
        ..SubjectParameters::default()
    };
    work(workload, storage, 1, subject)
}

fn populate(storage: Storage) -> Work {
    let batch_size = if storage.is_ordered() { ROWS } else { 1000 };
    Work { batch_size, ..work(Workload::GuidPopulate, storage, ROWS, SubjectParameters::default()) }
}

fn run(target: &mut dyn Target, work: &Work) -> Run {
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let run = execute(target, request, &mut |_| Course::Continue).unwrap();
    // On a machine with other work clients may lose their turns; all else must hold.
    let failed: Vec<_> = run
        .gates
        .iter()
        .filter(|gate| gate.outcome == results::model::GateOutcome::Failed)
        .filter(|gate| !["samples_present", "client_cpu", "start_skew"].contains(&gate.gate.as_str()))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_ne!(run.state, RunState::Interrupted);
    run
}

fn value(run: &Run, name: &str) -> u64 {
    run.metric(name).unwrap_or_else(|| panic!("{name} was not measured")) as u64
}

fn event<'a>(run: &'a Run, kind: &str) -> &'a str {
    &run.events.iter().find(|event| event.kind == kind).unwrap().text
}

fn sqlite() -> (tempfile::TempDir, SqliteTarget) {
    let place = support::scratch();
    let target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    (place, target)
}

#[test]
fn sqlite_keeps_seven_rows_to_a_page_and_gives_random_keys_more_pages() {
    let (_place, mut target) = sqlite();
    let [random, heap, ordered] = STORAGES.map(|storage| run(&mut target, &populate(storage)));
    // 7000 rows of 1047 bytes: the gate `pages_as_designed` held the heap to this, too.
    assert_eq!(value(&heap, "table_pages"), ROWS / 7);
    let all = value(&ordered, "tree_pages");
    assert!((ROWS / 7..ROWS / 7 + 10).contains(&all), "inner pages hold rows, so all pages count: {all}");
    assert!(value(&random, "tree_pages") > all);
    let published =
        Work { batch_size: 50_000, amount: Amount::Rows(50_000), ..populate(Storage::HeapOrdered) };
    assert_eq!(value(&run(&mut target, &published), "table_pages"), 7143, "ceil(50,000 / 7)");
    target.stop(false).unwrap();
}

#[test]
fn sqlite_asks_for_each_page_of_the_tree_once_and_for_the_first_of_the_file() {
    let (_place, mut target) = sqlite();
    let mut findings = Vec::new();
    for storage in STORAGES {
        let scan = run(&mut target, &look_up(Workload::GuidLookupScan, storage));
        let file_pages = value(&scan, "file_bytes") / 8192;
        let logical = value(&scan, "logical_reads");
        assert_eq!(value(&scan, "look_up_rows"), ROWS / 100);
        if storage == Storage::HeapIndex {
            // A key takes at least 18 bytes, and random keys leave a page at least half full.
            assert!(logical < 2 * ROWS * 24 / 8192, "{logical}");
        } else {
            // The file has the tree and one page of schema, and the schema is read before the statement.
            assert_eq!(logical, file_pages);
        }
        assert!(value(&scan, "physical_reads") <= logical);
        findings.push(value(&scan, "finding_hash"));
        assert!(event(&scan, "plan").contains(storage.table_word()));
        assert!(["cold, verified", "lukewarm", "warm"].contains(&event(&scan, "cache_state")));
    }
    findings.dedup();
    assert_eq!(findings.len(), 1, "the same keys in all storages");
    target.stop(false).unwrap();
}

#[test]
fn sqlite_finds_the_same_largest_value_in_all_storages_and_by_the_same_plan_each_time() {
    let (_place, mut target) = sqlite();
    let runs = STORAGES.map(|storage| {
        let work = look_up(Workload::GuidLookupJoin, storage);
        let (first, second) = (run(&mut target, &work), run(&mut target, &work));
        assert_eq!(event(&first, "plan"), event(&second, "plan"));
        assert_eq!(value(&first, "logical_reads"), value(&second, "logical_reads"));
        second
    });
    assert!(runs.iter().all(|run| value(run, "finding_hash") == value(&runs[0], "finding_hash")));
    target.stop(false).unwrap();
}

#[test]
fn postgres_reads_the_path_each_leaf_and_one_page_of_the_visibility_map() {
    for server in support::oldest_and_newest() {
        let place = support::scratch();
        let base = place.path().to_path_buf();
        let options = ManagedOptions { server, base, layout: Layout::default(), port: None };
        let mut target = ManagedPostgres::create(&options).unwrap();
        let heap = run(&mut target, &populate(Storage::HeapIndex));
        assert_eq!(value(&heap, "table_pages"), ROWS / 7);
        let ordered = run(&mut target, &populate(Storage::ClusteredOrdered));
        assert_eq!(value(&ordered, "table_pages"), ROWS / 7);
        let both = run(&mut target, &populate(Storage::HeapOrdered));
        assert_eq!(value(&both, "table_pages"), ROWS / 7);

        let scan = run(&mut target, &look_up(Workload::GuidLookupScan, Storage::ClusteredOrdered));
        // The tree of the same rows: a page of facts about it, the root, the level below and the leaves. An entry takes
        // 1056 bytes, and one that is split off must fit twice: six to a leaf. A key above the leaves takes 28 bytes.
        let index_pages = value(&ordered, "index_bytes") / 8192;
        let leaves = ROWS.div_ceil(6);
        assert!((leaves + 2..leaves + 10).contains(&index_pages), "{index_pages}");
        assert_eq!(value(&scan, "logical_reads"), leaves + 2 + 1, "leaves, root and level 1, visibility map");
        assert_eq!(value(&scan, "look_up_rows"), ROWS / 100);
        assert!(event(&scan, "plan").contains("Index Only Scan"));

        let joins = STORAGES.map(|storage| run(&mut target, &look_up(Workload::GuidLookupJoin, storage)));
        assert!(joins.iter().all(|run| value(run, "finding_hash") == value(&joins[0], "finding_hash")));
        assert!(joins.iter().all(|run| event(run, "plan").contains("Nested Loop")));
        target.stop(false).unwrap();
    }
}

#[test]
fn a_server_kept_on_one_processor_says_so_itself() {
    let Some(server) = support::oldest_and_newest().into_iter().next_back() else { return };
    let place = support::scratch();
    let base = place.path().to_path_buf();
    let mut target =
        ManagedPostgres::create(&ManagedOptions { server, base, layout: Layout::default(), port: None })
            .unwrap();
    let mut one = Work { amount: Amount::Rows(20), ..support::work() };
    one.subject.server_cores = Some(1);
    assert_eq!(value(&run(&mut target, &one), "server_processors"), 1);
    one.subject.server_cores = Some(4096);
    assert!(target.prepare(&one).unwrap_err().to_string().contains("leave out that level of server_cores"));
    target.stop(false).unwrap();
}
