//! The structure of tables and indexes, and the inventory, of real files.

use check::progress::Silent;
use check::structure::Options;

use crate::copy::{NORTHWIND, NORTHWIND_TORN, real};

#[test]
fn levels_hold_the_published_identities_and_the_rows_that_the_server_counted() {
    for path in [NORTHWIND, NORTHWIND_TORN, "pubs-2012-checksum.bak"].into_iter().filter_map(real) {
        let report =
            check_sqlserver::structure(std::slice::from_ref(&path), &Options::default(), &mut Silent)
                .unwrap();
        let inventory = check_sqlserver::inventory(&[path]).unwrap();
        assert!(report.accounting.is_balanced() && report.exit_code() == 0, "{:?}", report.accounting);
        assert!(report.objects.len() > 20);
        for object in &report.objects {
            for pair in object.levels.windows(2) {
                // Each page of a level has its entry in the level above.
                assert_eq!(
                    pair[1].record_count,
                    Some(pair[0].page_count),
                    "{} {}",
                    object.table,
                    object.index_id
                );
                assert_eq!(pair[1].index_level, pair[0].index_level + 1);
            }
            let top = object.levels.last().map_or(1, |level| level.page_count);
            assert!(top == 1 || object.index_id == 0, "{} {}", object.table, object.index_id);
            let counted = inventory.tables.iter().find(|table| table.name == object.table).unwrap();
            let rows = object.levels.first().and_then(|level| level.record_count).unwrap_or(0);
            assert_eq!(rows, counted.row_count, "{} {}", object.table, object.index_id);
            if let Some(strip) = &object.strip {
                assert_eq!(strip.leaf_count, object.levels[0].page_count, "{}", object.table);
            }
        }
    }
}

#[test]
fn sparse_modes_tell_what_the_whole_file_tells_and_read_less() {
    use results::structure::StructureMode;
    for path in [NORTHWIND, NORTHWIND_TORN, "pubs-2012-checksum.bak"].into_iter().filter_map(real) {
        let measure = |mode| {
            let options = Options { mode, with_system: true, ..Options::default() };
            check_sqlserver::structure(std::slice::from_ref(&path), &options, &mut Silent).unwrap()
        };
        let detailed = measure(StructureMode::Detailed);
        let (limited, sampled) = (measure(StructureMode::Limited), measure(StructureMode::Sampled));
        assert!(limited.counters.extra_read_count < sampled.counters.extra_read_count);
        assert_eq!((limited.exit_code(), sampled.exit_code()), (0, 0));
        // No table here has 10,000 pages: a sample is the whole.
        assert_eq!(sampled.objects.len(), detailed.objects.len());
        for (sampled, detailed) in sampled.objects.iter().zip(&detailed.objects) {
            assert_eq!(sampled, detailed);
        }
        assert_eq!(limited.objects.len(), detailed.objects.len());
        for (limited, detailed) in limited.objects.iter().zip(&detailed.objects) {
            assert_eq!((limited.page_count, &limited.strip), (detailed.page_count, &detailed.strip));
            for (one, two) in limited.levels.iter().zip(&detailed.levels) {
                assert_eq!(one.avg_fragmentation_pct, two.avg_fragmentation_pct, "{}", detailed.table);
                assert_eq!((one.fragment_count, one.page_count), (two.fragment_count, two.page_count));
                let looked_at = if one.index_level == 0 { 0 } else { two.looked_at_count };
                assert_eq!(one.looked_at_count, looked_at, "{}", detailed.table);
            }
        }
    }
}

#[test]
fn an_inventory_tells_version_dates_protection_and_tables() {
    let Some(path) = real(NORTHWIND_TORN) else { return };
    let inventory = check_sqlserver::inventory(&[path]).unwrap();
    let fact = |name: &str| inventory.facts.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!(fact("version"), "661 (SQL Server 2008 R2)");
    assert_eq!(fact("made by version"), "539 (SQL Server 2000)");
    assert_eq!(fact("compatibility level"), "80");
    assert_eq!(fact("created"), "2012-01-25 22:26:02");
    assert_eq!(fact("last known good check"), "2011-08-07 09:15:54");
    assert!(fact("page protection").starts_with("torn page bits"));
    let orders = inventory.tables.iter().find(|table| table.name == "dbo.Orders").unwrap();
    assert_eq!((orders.row_count, orders.index_count, orders.is_heap), (830, 8, false));
}
