//! HdrHistogram logs (`.hlog`): a line per interval with its histogram, compressed and in base 64.
// EVIDENCE: HdrHistogram log format 1.3: [Tag=name,]StartTimestamp,Interval_Length,Interval_Max,Interval_Compressed_Histogram;
// "#[BaseTime: S (seconds since epoch)]", "#[StartTime: ...]"; cookies 0x1c849304 (V2, compressed) and 0x1c849303 (V2)

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use base64::Engine;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use results::histogram::LatencyHistogram;
use results::model::{ClientRecord, Level};
use results::observations::{Series, SeriesKind};

use crate::lines::Lines;
use crate::{Choice, Format, ImportError, Observation, Place, Reading};

/// Largest histogram after decompression: five digits over the whole range take 24 MiB of counts.
const HISTOGRAM_BYTES_MAX: u64 = 32 << 20;
/// Most digits of a histogram: more take gigabytes.
const DIGITS_MAX: u32 = 5;
/// First bytes of the compressed form.
const COOKIE_COMPRESSED: u32 = 0x1c84_9304;
/// First bytes of the form within, without the bits of the size of a word.
const COOKIE: u32 = 0x1c84_9303;
const COOKIE_WORD_BITS: u32 = 0x10;
/// Bytes before the counts: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;
/// Most tags of a log, and most intervals of one.
const TAGS_MAX: usize = 1_000;
const INTERVALS_MAX: usize = 1_000_000;

/// What one unit of the recorded values is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueUnit {
    /// Nanoseconds, the usual one.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
}

impl ValueUnit {
    fn ns(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
        }
    }

    /// The unit in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
        }
    }
}

/// All intervals of one tag.
#[derive(Default)]
struct Tagged {
    sum: LatencyHistogram,
    at_ns: Vec<i64>,
    rates: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    end_ns: u64,
}

/// Reads logs: each is a run, each tag in it a configuration.
///
/// # Errors
/// A line that is none of the format, a histogram that is damaged or too large, no interval.
pub fn read(
    files: Vec<(String, Box<dyn BufRead + '_>)>,
    unit: Option<ValueUnit>,
) -> Result<Reading, ImportError> {
    let unit_or_default = unit.unwrap_or(ValueUnit::Nanoseconds);
    let mut observations = Vec::new();
    for (file, reader) in files {
        observations.extend(of_file(reader, &file, unit_or_default)?);
    }
    let assumed = if unit.is_none() { " (assumed: --unit us or ms for others)" } else { "" };
    let choice = |name: &str, taken_as: String| Choice { name: name.to_owned(), taken_as };
    Ok(Reading {
        format: Format::HdrHistogram,
        tool: Some("HdrHistogram".to_owned()),
        tool_version: None,
        engine: "latencies".to_owned(),
        observations,
        metric: Some("service_time_p99_ms".to_owned()),
        is_smaller_better: Some(true),
        choices: vec![
            choice("values", format!("service times in {}{assumed}", unit_or_default.words())),
            choice("Tag", "factor tag".to_owned()),
        ],
        identities: Vec::new(),
    })
}

fn of_file(
    reader: Box<dyn BufRead + '_>,
    file: &str,
    unit: ValueUnit,
) -> Result<Vec<Observation>, ImportError> {
    let mut lines = Lines::new(reader, file);
    let mut tags: BTreeMap<String, Tagged> = BTreeMap::new();
    let mut start_s: Option<f64> = None;
    let mut first_s: Option<f64> = None;
    let mut version = None;
    while let Some((at, text)) = lines.next_line()? {
        let text = text.trim();
        let refuse = |reason: String| ImportError::new(file, reason).at(at);
        if text.is_empty() || text.starts_with('"') {
            continue;
        }
        if let Some(comment) = text.strip_prefix('#') {
            if let Some(rest) =
                ["[StartTime:", "[BaseTime:"].iter().find_map(|begin| comment.strip_prefix(begin))
            {
                let word = rest.split_ascii_whitespace().next().unwrap_or_default();
                start_s = start_s.or(crate::number::number(word).ok());
            } else if comment.contains("log format version") {
                version = comment.trim_matches(['[', ']']).rsplit(' ').next().map(str::to_owned);
            }
            continue;
        }
        // The parser wants the end of the line, which the last line of a file may lack.
        let ended = format!("{text}\n");
        let (tag, interval) = interval(&ended).map_err(refuse)?;
        let histogram = decode(interval.encoded, unit).map_err(refuse)?;
        let first = *first_s.get_or_insert(interval.start_s);
        if !tags.contains_key(tag) && tags.len() == TAGS_MAX {
            return Err(refuse(format!("the log has more than {TAGS_MAX} tags")));
        }
        let tagged = tags.entry(tag.to_owned()).or_default();
        tagged.add(&histogram, interval.start_s - first, interval.length_s).map_err(refuse)?;
    }
    if tags.is_empty() {
        return Err(ImportError::new(file, "the log has no interval"));
    }
    let started_us = start_s.or(first_s.filter(|s| *s > 1e8)).map(|s| s * 1e6).filter(|us| us.abs() < 9e18);
    let has_tags = tags.keys().any(|tag| !tag.is_empty());
    let made = tags.into_iter().map(|(tag, tagged)| {
        let mut made = tagged.observation(file);
        made.started_us = started_us.map(|us| us as i64);
        if has_tags {
            let level = if tag.is_empty() { "none".to_owned() } else { tag };
            made.levels.push(("tag".to_owned(), Level::Text(level)));
        }
        made.labels.extend(version.iter().map(|version: &String| ("log format".to_owned(), version.clone())));
        made
    });
    Ok(made.collect())
}

/// Start and length in seconds, and the histogram as text.
struct Interval<'a> {
    start_s: f64,
    length_s: f64,
    encoded: &'a str,
}

fn interval(text: &str) -> Result<(&str, Interval<'_>), String> {
    let mut entries = IntervalLogIterator::new(text.as_bytes());
    match entries.next() {
        Some(Ok(LogEntry::Interval(found))) => {
            let times = Interval {
                start_s: found.start_timestamp().as_secs_f64(),
                length_s: found.duration().as_secs_f64(),
                encoded: found.encoded_histogram(),
            };
            Ok((found.tag().map_or("", |tag| tag.as_str()), times))
        }
        _ => Err(format!(
            "{} is not \"StartTimestamp,Interval_Length,Interval_Max,Interval_Compressed_Histogram\"",
            crate::error::quoted(text.trim_end())
        )),
    }
}

/// Decodes base 64, inflates within bounds, and counts every value in nanoseconds.
fn decode(encoded: &str, unit: ValueUnit) -> Result<LatencyHistogram, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .map_err(|error| format!("the histogram is not base 64: {error}"))?;
    let word = |bytes: &[u8], offset: usize| {
        bytes.get(offset..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
    };
    let without_size = |cookie: u32| cookie & !0xF0;
    let inflated = match word(&bytes, 0) {
        Some(cookie) if without_size(cookie) == without_size(COOKIE_COMPRESSED) => {
            if word(&bytes, 4).is_none_or(|length| length as usize != bytes.len() - 8) {
                return Err("the histogram is truncated".to_owned());
            }
            let mut inflated = Vec::new();
            let mut reader = flate2::read::ZlibDecoder::new(bytes.get(8..).unwrap_or_default())
                .take(HISTOGRAM_BYTES_MAX + 1);
            reader
                .read_to_end(&mut inflated)
                .map_err(|error| format!("the histogram cannot be decompressed: {error}"))?;
            inflated
        }
        _ => bytes,
    };
    if inflated.len() as u64 > HISTOGRAM_BYTES_MAX {
        return Err(format!("the histogram has more than {HISTOGRAM_BYTES_MAX} bytes"));
    }
    let cookie = word(&inflated, 0).ok_or("the histogram is truncated")?;
    if without_size(cookie) != without_size(COOKIE) {
        return Err(format!(
            "the histogram begins with {cookie:#010x}, which is not version 2 of the encoding"
        ));
    }
    let digits = word(&inflated, 12).ok_or("the histogram is truncated")?;
    let counts = inflated.len().checked_sub(HEADER_BYTES).ok_or("the histogram is truncated")?;
    // The reader makes room for as many counts as stated, and for all buckets up to the highest value.
    if digits > DIGITS_MAX || word(&inflated, 4).is_none_or(|length| length as usize != counts) {
        return Err("the header of the histogram is damaged".to_owned());
    }
    // The reader negates the largest count, which has no negative.
    if inflated[HEADER_BYTES..].windows(9).any(|count| count.iter().all(|byte| *byte == 0xFF)) {
        return Err("a count of the histogram is out of range".to_owned());
    }
    let mut whole = inflated;
    whole[..4].copy_from_slice(&(COOKIE | COOKIE_WORD_BITS).to_be_bytes());
    let read: Result<hdrhistogram::Histogram<u64>, _> =
        Deserializer::new().deserialize(&mut whole.as_slice());
    let read = read.map_err(|error| format!("the histogram is damaged: {error}"))?;
    let mut made = LatencyHistogram::new();
    for value in read.iter_recorded() {
        let ns = value.value_iterated_to().saturating_mul(unit.ns());
        made.record_count(ns.min(1 << 62), value.count_since_last_iteration());
    }
    Ok(made)
}

impl Tagged {
    fn add(&mut self, histogram: &LatencyHistogram, start_s: f64, length_s: f64) -> Result<(), String> {
        if self.at_ns.len() == INTERVALS_MAX {
            return Err(format!("a tag of the log has more than {INTERVALS_MAX} intervals"));
        }
        let end_ns = (start_s + length_s) * 1e9;
        if !(0.0..9e18).contains(&end_ns) || length_s <= 0.0 {
            return Err(format!("the interval of {length_s} s, {start_s} s after the first, is no time"));
        }
        if self.at_ns.last().is_some_and(|last| *last >= end_ns as i64) {
            return Err("the interval ends before the one before it".to_owned());
        }
        self.sum.merge(histogram);
        self.end_ns = end_ns as u64;
        self.at_ns.push(end_ns as i64);
        let has_values = histogram.count() > 0;
        self.rates.push(Some(histogram.count() as f64 / length_s));
        self.p99.push(has_values.then(|| histogram.quantile_ns(0.99) as f64 / 1e6));
        self.max.push(has_values.then(|| histogram.max_ns() as f64 / 1e6));
        Ok(())
    }

    fn observation(self, file: &str) -> Observation {
        let count = self.sum.count();
        let mut made = Observation {
            place: Place { file: file.to_owned(), line: None },
            elapsed_ns: Some(self.end_ns),
            ..Observation::default()
        };
        made.put("latency_mean_ms", self.sum.mean_ns() / 1e6, "ms", "HdrHistogram log");
        let series = |name: &str, unit: &str, kind, values| Series {
            name: name.to_owned(),
            unit: unit.to_owned(),
            source: "HdrHistogram log".to_owned(),
            kind,
            at_ns: self.at_ns.clone(),
            values,
        };
        if self.at_ns.len() > 1 {
            made.observations.series = vec![
                series("transactions_per_s", "1/s", SeriesKind::Rate, self.rates),
                series("latency_p99_ms", "ms", SeriesKind::Gauge, self.p99),
                series("latency_max_ms", "ms", SeriesKind::Gauge, self.max),
            ];
        }
        made.clients = vec![ClientRecord {
            start_ns: Some(0),
            end_ns: Some(self.end_ns),
            transactions: count,
            service_time: self.sum,
            ..ClientRecord::new(0)
        }];
        made
    }
}
