//! Logs written by the reference implementation's port in Rust, and what other writers and damage make of them.

use std::io::BufRead;
use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{V2DeflateSerializer, V2Serializer};
use import::hdrlog::ValueUnit;
use import::{ImportError, Reading};
use results::model::Level;

fn of(log: &[u8], unit: Option<ValueUnit>) -> Result<Reading, ImportError> {
    let log: &'static [u8] = Box::leak(log.to_vec().into_boxed_slice());
    import::hdrlog::read(vec![("a.hlog".to_owned(), Box::new(log) as Box<dyn BufRead>)], unit)
}

fn histogram(digits: u8, values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = Histogram::new(digits).unwrap();
    values.into_iter().for_each(|value| histogram.record(value).unwrap());
    histogram
}

/// Two seconds of two tags: values of 1 to 1000 and of 2000 microseconds.
fn log(digits: u8, is_compressed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut plain, mut compressed) = (V2Serializer::new(), V2DeflateSerializer::new());
    let start = UNIX_EPOCH + Duration::from_secs(1_441_812_279);
    let many = histogram(digits, (1..=1000).map(|value| value * 1000));
    let few = histogram(digits, [2_000_000; 10]);
    let tag = Tag::new("write").unwrap();
    macro_rules! write_with {
        ($serializer:expr) => {{
            let mut builder = IntervalLogWriterBuilder::new();
            builder.with_start_time(start).with_base_time(start);
            let mut writer = builder.begin_log_with(&mut bytes, $serializer).unwrap();
            for second in 0..2_u64 {
                let at = Duration::from_secs(second);
                let length = Duration::from_secs(1);
                writer.write_histogram(&many, at, length, None).unwrap();
                writer.write_histogram(&few, at, length, Some(tag)).unwrap();
            }
        }};
    }
    if is_compressed {
        write_with!(&mut compressed)
    } else {
        write_with!(&mut plain)
    }
    bytes
}

#[test]
fn percentiles_are_those_of_the_recorded_histograms_at_every_precision() {
    let exact = histogram(3, (1..=1000).map(|value| value * 1000));
    for (digits, is_compressed) in [(2, true), (3, true), (3, false), (4, true), (5, true)] {
        let reading = of(&log(digits, is_compressed), None).unwrap();
        assert_eq!(reading.observations.len(), 2, "a run per tag");
        let run = &reading.observations[0];
        let found = &run.clients[0].service_time;
        assert_eq!(found.count(), 2000);
        for quantile in [0.5, 0.9, 0.99, 1.0] {
            let (found, expected) =
                (found.quantile_ns(quantile) as f64, exact.value_at_quantile(quantile) as f64);
            assert!(
                (found / expected - 1.0).abs() < 0.012,
                "{digits} digits, {quantile}: {found}, {expected}"
            );
        }
        assert_eq!(run.started_us, Some(1_441_812_279_000_000));
        assert_eq!(run.elapsed_ns, Some(2_000_000_000));
        assert_eq!(run.observations.series[0].values, [Some(1000.0); 2]);
        let tags: Vec<&Level> = reading.observations.iter().map(|run| &run.levels[0].1).collect();
        assert_eq!(tags, [&Level::Text("none".to_owned()), &Level::Text("write".to_owned())]);
    }
}

#[test]
fn the_unit_of_the_values_is_an_option() {
    let reading = of(&log(3, true), Some(ValueUnit::Microseconds)).unwrap();
    let slowest_ms = reading.observations[1].clients[0].service_time.max_ns() as f64 / 1e6;
    assert!((slowest_ms / 2000.0 - 1.0).abs() < 2e-3, "{slowest_ms}");
}

#[test]
fn a_damaged_log_is_refused_with_its_line_and_never_panics() {
    let whole = log(3, true);
    let text = String::from_utf8(whole.clone()).unwrap();
    let line = text.lines().position(|line| line.contains("HIST")).unwrap() + 1;
    let cut = text.replacen("HISTFAAA", "HISTFAAB", 1);
    let error = of(cut.as_bytes(), None).unwrap_err();
    assert_eq!(error.line, Some(line as u64), "{error}");
    for bad in ["1.0,2.0", "Tag=a,x,1,1,HIST", "0,1,1,!!!!", "0,1,1,AAAA", "garbage"] {
        assert!(of(format!("#[x]\n{bad}\n").as_bytes(), None).is_err(), "{bad}");
    }
    assert!(of(b"#[Histogram log format version 1.3]\n", None).is_err());
    for at in (0..whole.len()).step_by(7) {
        for byte in [0x00, 0x41, 0x7A, 0xFF] {
            let mut changed = whole.clone();
            changed[at] = byte;
            let _ = of(&changed, None);
        }
    }
}
