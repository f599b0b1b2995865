//! Marks of checkpoints and of the log's growth, from the samples of the series sampler.
//!
//! Problem: a sample a second sees a checkpoint only after the fact, and the server's own time of it is in whole
//! seconds. Solution: a checkpoint notes the log position at which it began (redo), and its record stands at the
//! position at which it ended. The samples know where the log was when; between two samples it is taken to grow evenly.
//! So a mark is exact to less than the time between two samples, in which it certainly lies.

use lab::observe::series::Samples;
use results::model::Event;

use super::reading::PostgresReading;

/// A checkpoint begins.
pub(crate) const CHECKPOINT_START: &str = "checkpoint_start";
/// A checkpoint is complete.
pub(crate) const CHECKPOINT_END: &str = "checkpoint_end";
/// The files of the log take more room than at the sample before.
pub(crate) const LOG_GROWTH: &str = "log_growth";

/// Marks of one kind that are kept; a night of growth must not fill the results.
const MARKS_MAX: usize = 10_000;

/// All marks, in the order of their time.
pub(crate) fn events(samples: &Samples<PostgresReading>) -> Vec<Event> {
    let mut events = checkpoints(samples);
    events.extend(growths(samples));
    events.sort_by_key(|event| event.at_ns);
    events
}

fn checkpoints(samples: &Samples<PostgresReading>) -> Vec<Event> {
    let seen: Vec<(i64, &PostgresReading)> = samples.seen().collect();
    let log: Vec<(i64, f64)> =
        seen.iter().filter_map(|(at_ns, reading)| Some((*at_ns, *reading.get("log_position")?))).collect();
    let mut events = Vec::new();
    for pair in seen.windows(2) {
        let [(before_ns, before), (after_ns, after)] = pair else { continue };
        let (Some(known), Some(record), Some(redo)) =
            (before.get("checkpoint_position"), after.get("checkpoint_position"), after.get("redo_position"))
        else {
            continue;
        };
        if record <= known || events.len() >= MARKS_MAX {
            continue;
        }
        if let Some(at_ns) = passed_at(&log, *redo) {
            let text = format!("redo position {}", position(*redo));
            events.push(Event { at_ns, kind: CHECKPOINT_START.to_owned(), text });
        }
        let at_ns = passed_at(&log, *record).unwrap_or(*after_ns).clamp(*before_ns, *after_ns);
        let mut text = format!("checkpoint record {}", position(*record));
        let counted = |reading: &PostgresReading| reading.get("checkpoints").copied();
        if let (Some(earlier), Some(later)) = (counted(before), counted(after))
            && later - earlier > 1.5
        {
            text.push_str(&format!("; {:.0} checkpoints since the sample before", later - earlier));
        }
        events.push(Event { at_ns, kind: CHECKPOINT_END.to_owned(), text });
    }
    events.extend(unfinished(&seen, &events));
    events
}

/// A checkpoint under way when the run ended: the checkpointer was at work at the last two samples least, and has
/// not been since the last end.
fn unfinished(seen: &[(i64, &PostgresReading)], ended: &[Event]) -> Option<Event> {
    let last_end_ns =
        ended.iter().filter(|event| event.kind == CHECKPOINT_END).map(|event| event.at_ns).max();
    let is_busy = |(at_ns, reading): &&(i64, &PostgresReading)| {
        reading.get("checkpoint_active").is_some_and(|active| *active > 0.0)
            && last_end_ns.is_none_or(|end_ns| *at_ns > end_ns)
    };
    let busy: Vec<_> = seen.iter().rev().take_while(is_busy).collect();
    let (at_ns, _) = busy.last().filter(|_| busy.len() >= 2)?;
    Some(Event {
        at_ns: *at_ns,
        kind: CHECKPOINT_START.to_owned(),
        text: "the checkpointer was at work from this sample on; it had not ended when the run did"
            .to_owned(),
    })
}

/// When the log passed a position; `None` before the first sample or after the last.
fn passed_at(log: &[(i64, f64)], position: f64) -> Option<i64> {
    log.windows(2).find_map(|pair| {
        let [(from_ns, from), (to_ns, to)] = pair else { return None };
        if !(*from <= position && position <= *to) {
            return None;
        }
        let share = if to > from { (position - from) / (to - from) } else { 1.0 };
        Some(from_ns + ((to_ns - from_ns) as f64 * share) as i64)
    })
}

/// As the server prints it: the upper and the lower half in hexadecimal.
fn position(bytes: f64) -> String {
    let bytes = bytes as u64;
    format!("{:X}/{:08X}", bytes >> 32, bytes & 0xffff_ffff)
}

fn growths(samples: &Samples<PostgresReading>) -> Vec<Event> {
    let seen: Vec<(i64, &PostgresReading)> = samples.seen().collect();
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let growth = |pair: &[(i64, &PostgresReading)]| {
        let [(_, before), (at_ns, after)] = pair else { return None };
        let (old_bytes, new_bytes) = (before.get("log_size_bytes")?, after.get("log_size_bytes")?);
        (new_bytes > old_bytes).then(|| Event {
            at_ns: *at_ns,
            kind: LOG_GROWTH.to_owned(),
            text: format!("by {:.0} MiB to {:.0} MiB", mib(new_bytes - old_bytes), mib(*new_bytes)),
        })
    };
    seen.windows(2).filter_map(growth).take(MARKS_MAX).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    type Numbers<'a> = &'a [(&'static str, f64)];

    fn samples(readings: &[(i64, Numbers<'_>)]) -> Samples<PostgresReading> {
        let sample = |(at_s, numbers): &(i64, Numbers<'_>)| {
            (at_s * 1_000_000_000, Some(numbers.iter().copied().collect()))
        };
        Samples { samples: readings.iter().map(sample).collect() }
    }

    fn at(log: f64, redo: f64, record: f64) -> Vec<(&'static str, f64)> {
        vec![("log_position", log), ("redo_position", redo), ("checkpoint_position", record)]
    }

    #[test]
    fn a_checkpoint_is_marked_where_the_log_passed_its_positions() {
        let samples = samples(&[
            (0, &at(1000.0, 100.0, 150.0)),
            (1, &at(2000.0, 100.0, 150.0)),
            (2, &at(3000.0, 100.0, 150.0)),
            (3, &at(4000.0, 1500.0, 3250.0)),
        ]);
        let events = events(&samples);
        let marks: Vec<(&str, i64)> =
            events.iter().map(|event| (event.kind.as_str(), event.at_ns / 1_000_000)).collect();
        assert_eq!(marks, [(CHECKPOINT_START, 500), (CHECKPOINT_END, 2250)]);
        assert_eq!(events[0].text, "redo position 0/000005DC");
    }

    #[test]
    fn a_checkpoint_that_began_before_the_first_sample_has_only_an_end() {
        let samples = samples(&[(0, &at(1000.0, 100.0, 150.0)), (1, &at(2000.0, 900.0, 1500.0))]);
        let events = events(&samples);
        assert_eq!((events.len(), events[0].kind.as_str()), (1, CHECKPOINT_END));
        assert_eq!(events[0].at_ns, 500_000_000);
    }

    #[test]
    fn several_checkpoints_between_two_samples_are_counted() {
        let mut before = at(1000.0, 100.0, 150.0);
        let mut after = at(2000.0, 1800.0, 1900.0);
        before.push(("checkpoints", 5.0));
        after.push(("checkpoints", 8.0));
        let events = events(&samples(&[(0, &before), (1, &after)]));
        assert!(events[1].text.ends_with("; 3 checkpoints since the sample before"), "{events:?}");
    }

    #[test]
    fn a_checkpoint_under_way_at_the_end_has_only_a_start() {
        let busy: Numbers<'_> = &[("checkpoint_active", 1.0)];
        let idle: Numbers<'_> = &[("checkpoint_active", 0.0)];
        let events = events(&samples(&[(0, busy), (1, idle), (2, busy), (3, busy)]));
        assert_eq!((events.len(), events[0].at_ns), (1, 2_000_000_000));
        assert!(
            checkpoints(&samples(&[(0, idle), (1, busy)])).is_empty(),
            "one sample may be a moment's work"
        );
    }

    #[test]
    fn the_log_grows_when_its_files_take_more_room_not_when_they_take_less() {
        let size = |mib: f64| vec![("log_size_bytes", mib * 1_048_576.0)];
        let events =
            events(&samples(&[(0, &size(32.0)), (1, &size(32.0)), (2, &size(80.0)), (3, &size(48.0))]));
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].at_ns, events[0].text.as_str()), (2_000_000_000, "by 48 MiB to 80 MiB"));
    }
}
