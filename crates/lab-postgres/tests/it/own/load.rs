//! Rows in bulk.

use lab::engine::Target;

use super::support::{databases, own, own_work, provided, values};
use crate::support::{scratch, servers};

#[test]
fn rows_arrive_as_they_are_and_errors_name_the_row() {
    let schema = "CREATE SCHEMA \"my sales\";
        CREATE TABLE \"my sales\".\"Or\"\"ders\" (\"the Id\" bigint PRIMARY KEY, note text, n int DEFAULT 5);
        CREATE TABLE Plain (id int, Label text)";
    for server in servers() {
        let scratch = scratch();
        let base = own(schema, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        let mut loader = databases(&mut target).loader().unwrap();
        let table = "\"my sales\".\"Or\"\"ders\"";
        let columns = ["the Id".to_owned(), "note".to_owned()];
        let odd = ["\\N", "a\tb\nc\rd\\e", "'\"$$", "", "\\.", "é😀", "NULL"];
        loader.begin(table, &columns).unwrap();
        for (index, note) in odd.iter().enumerate() {
            loader.row(&[Some(&index.to_string()), Some(note)]).unwrap();
        }
        loader.row(&[Some("100"), None]).unwrap();
        for id in 1000..60_000 {
            loader.row(&[Some(&id.to_string()), Some("many")]).unwrap();
        }
        assert_eq!(loader.end().unwrap(), 59_008, "{}", server.version);
        let notes =
            values(&target, &format!("SELECT note FROM {table} WHERE \"the Id\" < 100 ORDER BY \"the Id\""));
        assert_eq!(notes, odd);
        let missing = format!("SELECT \"the Id\", n FROM {table} WHERE note IS NULL");
        assert_eq!(values(&target, &missing), ["100", "5"]);
        // All columns; names in another case than the server's.
        for name in ["plain", "Plain", "public.PLAIN"] {
            loader.begin(name, &["LABEL".to_owned(), "id".to_owned()]).unwrap();
            loader.row(&[Some("x"), Some("1")]).unwrap();
            assert_eq!(loader.end().unwrap(), 1);
        }
        loader.begin("plain", &[]).unwrap();
        assert_eq!(loader.end().unwrap(), 0);
        refusals_leave_the_connection_usable(loader.as_mut());
        assert_eq!(values(&target, "SELECT count(*) FROM plain"), ["4"]);
        target.stop(false).unwrap();
    }
}

fn refusals_leave_the_connection_usable(loader: &mut dyn lab::engine::BulkLoad) {
    let error = loader.begin("pl\"ain; DROP TABLE plain", &[]).unwrap_err().to_string();
    assert!(error.contains("does not exist"), "{error}");
    let error = loader.begin("plain", &["nothing".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("column \"nothing\" of relation \"plain\" does not exist"), "{error}");
    assert!(loader.row(&[None]).is_err());
    loader.begin("plain", &[]).unwrap();
    let error = loader.row(&[Some("1"), Some("a\0b")]).unwrap_err().to_string();
    assert!(error.contains("row 1, value 2: a zero byte"), "{error}");
    assert!(loader.end().is_err(), "nothing of it is committed");
    // A row that is refused is reported long before the end of a load.
    loader.begin("plain", &[]).unwrap();
    let long = "y".repeat(1000);
    let refused = (0..1_000_000_u32).find_map(|number| {
        let id = if number == 10 { "ten".to_owned() } else { number.to_string() };
        loader.row(&[Some(&id), Some(&long)]).err()
    });
    let error = refused.unwrap().to_string();
    assert!(
        error.contains("invalid input syntax for type integer: \"ten\"")
            && error.contains("COPY plain, line 11, column id"),
        "{error}"
    );
    loader.begin("plain", &[]).unwrap();
    loader.row(&[Some("1"), Some("x"), Some("too many")]).unwrap();
    let error = loader.end().unwrap_err().to_string();
    assert!(error.contains("extra data after last expected column"), "{error}");
    loader.begin("plain", &[]).unwrap();
    loader.row(&[Some("1"), Some("last")]).unwrap();
    assert_eq!(loader.end().unwrap(), 1);
}
