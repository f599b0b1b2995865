//! Each class of a drill makes damage that a full check finds.

use check_sqlserver::drill::{CLASSES, DrillError, damage};
use results::check::CheckLevel;

use crate::advice::assert_safe_advice;
use crate::copy::{NORTHWIND, NORTHWIND_TORN, checked, options, real, rules_of};

/// Classes that need a checksum on the page, or an extent that was never in use.
const NOT_IN_TORN: [&str; 3] = ["bit-flip", "pfs-used", "gam-leak"];

#[test]
fn each_class_of_a_drill_is_found_and_the_original_is_not_touched() {
    for (name, seed) in [(NORTHWIND, 2), (NORTHWIND_TORN, 1)] {
        let Some(path) = real(name) else { return };
        let before = std::fs::read(&path).unwrap();
        for class in CLASSES {
            let directory = tempfile::tempdir().unwrap();
            let copy = directory.path().join("copy.mdf");
            let drill = match damage(&path, &copy, class.name, seed) {
                Ok(drill) => drill,
                Err(DrillError::NoPlace { .. })
                    if name == NORTHWIND_TORN && NOT_IN_TORN.contains(&class.name) =>
                {
                    continue;
                }
                Err(error) => panic!("{}: {error}", class.name),
            };
            assert!(drill.command.contains("copy.mdf") && drill.changed_bytes > 0, "{drill:?}");
            let report = checked(&copy, &options(CheckLevel::Full));
            let found = rules_of(&report);
            let is_found = class.rules.iter().any(|rule| found.contains(rule));
            let text = report::findings::text(&report, &check_sqlserver::RULES);
            assert_safe_advice(&check_sqlserver::RULES, &report, |object| object.starts_with("index "));
            assert!(is_found && report.exit_code() == 1, "{name} {seed} {drill:?}\n{text}");
        }
        assert!(before == std::fs::read(&path).unwrap(), "the original was changed");
    }
}

#[test]
fn a_drill_refuses_a_backup_an_existing_copy_and_a_class_that_is_not_there() {
    let (Some(data), Some(backup)) = (real(NORTHWIND), real("pubs-2012-checksum.bak")) else { return };
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.mdf");
    assert!(matches!(damage(&data, &copy, "rust", 1), Err(DrillError::Class { .. })));
    assert!(matches!(damage(&backup, &copy, "lost-row", 1), Err(DrillError::Source { .. })));
    std::fs::write(&copy, "").unwrap();
    assert!(matches!(damage(&data, &copy, "lost-row", 1), Err(DrillError::Exists { .. })));
}
