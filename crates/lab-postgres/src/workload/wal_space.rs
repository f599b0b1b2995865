//! Log segments made before the first run, so that it does not pay for zero-filling them while later runs reuse
//! them: on a device of scarce bandwidth that alone was a factor of 1.75 (11 against 19 thousand rows/s).

use lab::engine::TargetError;
use lab::work::{Amount, WarmUp, Work};

use crate::control::Control;
use crate::settings::SEGMENT_MIB;
use crate::workload::schema;

/// Segments made ahead at most: 1 GiB, the default of `max_wal_size`.
const SEGMENTS_MAX: u64 = 64;

/// Segments for a run whose length is a time, which says nothing about its bytes.
const SEGMENTS_FOR_TIME: u64 = 8;

/// What makes one segment.
pub(crate) const STATEMENTS: [&str; 2] =
    ["SELECT pg_logical_emit_message(true, 'fathom', '')", "SELECT pg_switch_wal()"];

/// Segments ahead of the log's end that a run of this work should find.
pub(crate) fn segments_wanted(work: &Work) -> u64 {
    let rows = |rows: u64| (rows.saturating_mul(schema::log_bytes_per_row(work)) >> 20) / SEGMENT_MIB + 1;
    let measured = match work.amount {
        Amount::Rows(count) => rows(count),
        Amount::Time(_) => SEGMENTS_FOR_TIME,
    };
    let warm_up = match work.warm_up {
        WarmUp::None => 0,
        WarmUp::Rows(count) => rows(count),
        WarmUp::Time(_) => SEGMENTS_FOR_TIME,
    };
    // Beyond the size at which a checkpoint is forced the log is reused, not extended.
    let most = work.log_size_mib.map_or(SEGMENTS_MAX, |mib| (mib / SEGMENT_MIB).clamp(2, SEGMENTS_MAX));
    // One more: a run begins somewhere inside a segment.
    (measured + warm_up + 1).min(most)
}

/// Makes segments until `wanted` are there from the current one on. Costs nothing when they are; else 16 MiB of
/// writing each, and a checkpoint that turns those passed into future ones.
pub(crate) fn provide(control: &mut Control, wanted: u64) -> Result<(), TargetError> {
    let context = "could not make log segments ahead";
    let present: u64 = control.number(
        context,
        "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$' \
         AND name >= pg_walfile_name(pg_current_wal_insert_lsn())",
    )?;
    let missing = wanted.saturating_sub(present);
    for _ in 0..missing {
        // A switch does nothing unless something was logged since the last one.
        control.complete(context, &STATEMENTS.join("; "))?;
    }
    if missing > 0 {
        control.complete(context, "CHECKPOINT")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_small_run_asks_for_little_and_a_large_one_is_bounded() {
        let mut work = Work::example();
        assert_eq!(segments_wanted(&work), 2);
        work.amount = Amount::Rows(10_000_000);
        assert_eq!(segments_wanted(&work), SEGMENTS_MAX);
        work.log_size_mib = Some(128);
        assert_eq!(segments_wanted(&work), 8);
        work.amount = Amount::Time(Duration::from_secs(1));
        work.log_size_mib = None;
        assert_eq!(segments_wanted(&work), SEGMENTS_FOR_TIME + 1);
    }
}
