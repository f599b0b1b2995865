//! The index of `fathom serve`: what came out of everything that is stored, how far it is, and the way to its page.

use results::store::{Store, StudyId};
use serde_json::json;

use crate::browser::Browser;
use crate::documents::checked;
use crate::live::Server;
use crate::stored::{add_block, begun, study};

/// Texts of the cells of a row.
const ROWS: &str = "[...document.querySelectorAll('main tbody tr')].map(row => [...row.cells].map(cell => cell.innerText.trim()))";

#[test]
fn the_index_names_result_state_duration_and_date_and_links_to_every_page() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 7);
    checked(directory.path());
    let server = Server::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    let home = format!("http://{}/", server.address);
    browser.open_address(&home);
    let rows = browser.value(ROWS);
    let study = rows[0].as_array().unwrap();
    assert_eq!(study[0], json!("1"));
    assert!(study[2].as_str().unwrap().starts_with("Better than connections=1 batch_size=1: "), "{study:?}");
    assert_eq!(study[3], json!("complete, 42 of 42 runs, 1 excluded"));
    assert!(study[4].as_str().unwrap().ends_with(" s"), "{study:?}");
    assert_eq!(study[6], json!("2026-11-20 10:00"));
    assert!(rows[1][2].as_str().unwrap().starts_with("No damage found"), "{rows}");
    assert!(rows[2][2].as_str().unwrap().contains("IOPS"), "{rows}");
    // Sections that hold something, and nothing else: no box of definitions, no other empty one.
    let titles = "[...document.querySelectorAll('main h2')].map(title => title.textContent)";
    assert_eq!(browser.value(titles), json!(["Studies", "Checks", "I/O baselines", "Structures"]));
    assert_eq!(browser.value("document.querySelectorAll('aside').length"), json!(0));
    let links = "[...document.querySelectorAll('main a')].map(link => link.getAttribute('href'))";
    assert_eq!(browser.value(links), json!(["/study/1", "/check/1", "/io/1", "/structure/1"]));
    // Every page leads back.
    for place in ["study/1", "check/1", "io/1", "structure/1"] {
        assert!(server.get(&format!("/{place}")).1.contains("<a href=\"/\">fathom</a>"), "{place}");
    }
    // On a phone everything is seen without scrolling sideways.
    browser.phone();
    browser.open_address(&home);
    assert_eq!(browser.value("document.documentElement.scrollWidth"), json!(390));
    let hidden = "[...document.querySelectorAll('main td')].filter(cell => cell.textContent)
        .filter(cell => { const box = cell.getBoundingClientRect(); return box.right > 390 || box.width === 0; })
        .map(cell => cell.textContent)";
    assert_eq!(browser.value(hidden), json!([]));
}

#[test]
fn an_interrupted_study_is_named_and_a_later_one_is_compared_with_it() {
    let directory = tempfile::tempdir().unwrap();
    begun(directory.path(), 5, 3, 0);
    let server = Server::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    let index = server.get("/").1;
    assert!(index.contains("interrupted</span>, 18 of 30 runs"), "{index}");
    assert!(!index.contains("Refresh:") && !index.contains("/compare/") && !index.contains("/history/"));
    // The line is computed again when a run is stored.
    let mut store = Store::open_or_create(directory.path()).unwrap();
    add_block(&mut store, StudyId(1), 3, 5);
    let index = server.get("/").1;
    assert!(index.contains("running</span>, 24 of 30 runs") && index.contains("Refresh: 15\r\n"), "{index}");
    drop(store);
    let mut other = Store::open_read_only(directory.path()).unwrap().study(StudyId(1)).unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    other.key.0 = "another".to_owned();
    let id = store.begin_study(&other).unwrap();
    let cells = store.cells(StudyId(1)).unwrap();
    store.put_cells(id, &cells).unwrap();
    (0..5).for_each(|block| add_block(&mut store, id, block, 5));
    drop(store);
    let index = server.get("/").1;
    for place in ["/compare/1/2", "/history/1", "/history/2"] {
        assert!(index.contains(&format!("href=\"{place}\"")), "{place}");
        assert_eq!(server.get(place).0, 200, "{place}");
    }
    assert!(server.get("/compare/1/2").1.contains("study 2"));
}

#[test]
fn an_empty_results_file_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    drop(Store::open_or_create(directory.path()).unwrap());
    let server = Server::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    let (status, index) = server.get("/");
    assert_eq!(status, 200);
    assert!(index.contains("Nothing is stored yet") && !index.contains("<table"), "{index}");
}
