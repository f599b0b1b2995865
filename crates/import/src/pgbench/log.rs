//! A line per transaction.
// EVIDENCE: PostgreSQL 14 to 18, pgbench, "Per-Transaction Logging": client_id transaction_no time script_no time_epoch
// time_us [ schedule_lag ] [ retries ]; `time` is `skipped`, `failed`, `serialization` or `deadlock` instead of
// microseconds where the transaction was skipped or failed; the time stamp is that of its end

use std::collections::BTreeMap;
use std::io::BufRead;

use results::model::ClientRecord;

use super::epoch::{EPOCH_S_MAX, EPOCH_S_MIN};
use super::seconds::Seconds;
use crate::ImportError;
use crate::error::quoted;
use crate::lines::Lines;

/// Most clients of a run: each has a histogram.
const CLIENTS_MAX: usize = 10_000;
/// Longest transaction, in microseconds: 3 years.
const LATENCY_US_MAX: u64 = 100_000_000_000_000;
/// Lines by which it is decided what the seventh column is.
const DECIDED_BY: usize = 1000;
/// Words in the place of a time.
const NO_TIME: [&str; 4] = ["skipped", "failed", "serialization", "deadlock"];

/// What a log says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Clients by number. Their start and end are in microseconds since 1970 until the parts of a run are joined.
    pub(crate) clients: BTreeMap<u32, ClientRecord>,
    /// Highest number of a transaction, by client: with sampling there are fewer lines.
    pub(crate) numbers: BTreeMap<u32, u64>,
    /// Lines with a time.
    pub(crate) transactions: u64,
    /// Sum of the times in milliseconds.
    pub(crate) latency_ms_sum: f64,
    pub(crate) skipped: u64,
    pub(crate) serialization_failures: u64,
    pub(crate) deadlock_failures: u64,
    pub(crate) other_failures: u64,
    /// Lines of each script.
    pub(crate) scripts: BTreeMap<u32, u64>,
    pub(crate) start_us: i64,
    pub(crate) end_us: i64,
    pub(crate) seconds: Seconds,
    /// Does a column have the lag of each transaction behind its schedule?
    pub(crate) has_lag: bool,
}

/// One line.
struct Line<'a> {
    client: u32,
    number: u64,
    time: Result<u64, &'a str>,
    script: u32,
    end_us: i64,
    /// The columns after the time stamp.
    seventh: Option<u64>,
    eighth: Option<u64>,
}

/// What the seventh column of a log with seven is.
#[derive(Clone, Copy, PartialEq)]
enum Seventh {
    Lag,
    Retries,
}

pub(crate) fn read(reader: impl BufRead, file: &str) -> Result<Log, ImportError> {
    let mut lines = Lines::new(reader, file);
    let mut log = Log { start_us: i64::MAX, end_us: i64::MIN, ..Log::default() };
    // Microseconds of lag are seldom 0, retries mostly: decided from the first lines, which are kept until then.
    let mut waiting: Vec<String> = Vec::new();
    let mut seventh: Option<Seventh> = None;
    while let Some((at, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let parsed = line(text).map_err(|reason| refused(file, &reason).at(at))?;
        match seventh {
            Some(kind) => add(&mut log, &parsed, kind).map_err(|reason| refused(file, &reason).at(at))?,
            None => waiting.push(text.to_owned()),
        }
        if seventh.is_none() && waiting.len() == DECIDED_BY {
            seventh = Some(flush(&mut log, &mut waiting, file)?);
        }
    }
    flush(&mut log, &mut waiting, file)?;
    if log.transactions + log.skipped + failures(&log) == 0 {
        return Err(ImportError::new(file, "the log has no transaction"));
    }
    Ok(log)
}

/// Decides what the seventh column is and adds the lines that waited for it.
fn flush(log: &mut Log, waiting: &mut Vec<String>, file: &str) -> Result<Seventh, ImportError> {
    let all: Vec<Line<'_>> = waiting.iter().filter_map(|text| line(text).ok()).collect();
    let values: Vec<u64> =
        all.iter().filter(|line| line.eighth.is_none()).filter_map(|line| line.seventh).collect();
    let zeros = values.iter().filter(|value| **value == 0).count();
    // A skipped transaction has no lag: it says 0 in a log of lags as well.
    let zeros_of_skipped = all
        .iter()
        .filter(|line| line.time == Err("skipped") && line.eighth.is_none() && line.seventh == Some(0))
        .count();
    let kind = match 2 * (zeros - zeros_of_skipped) > values.len() - zeros_of_skipped
        || values.iter().all(|value| *value < 10)
    {
        true if !values.is_empty() => Seventh::Retries,
        _ => Seventh::Lag,
    };
    for parsed in &all {
        add(log, parsed, kind).map_err(|reason| refused(file, &reason))?;
    }
    waiting.clear();
    Ok(kind)
}

fn refused(file: &str, reason: &str) -> ImportError {
    ImportError::new(file, reason).hint(
        "a line of `pgbench --log` has: client_id transaction_no time script_no time_epoch time_us [schedule_lag] [retries]",
    )
}

fn line(text: &str) -> Result<Line<'_>, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().take(9).collect();
    if !(6..=8).contains(&words.len()) {
        return Err(format!("{} has {} columns, 6 to 8 are known", quoted(text), words.len()));
    }
    let whole = |index: usize, name: &str| -> Result<u64, String> {
        words[index]
            .parse::<u64>()
            .map_err(|_| format!("{name} {} is not a whole number", quoted(words[index])))
    };
    let client =
        u32::try_from(whole(0, "client_id")?).map_err(|_| format!("client_id {} is too large", words[0]))?;
    let time = match NO_TIME.iter().find(|word| **word == words[2]) {
        Some(word) => Err(*word),
        None => Ok(whole(2, "time")?),
    };
    if time.is_ok_and(|time| time > LATENCY_US_MAX) {
        return Err(format!("time {} is longer than {LATENCY_US_MAX} us", words[2]));
    }
    let second = words[4].parse::<i64>().ok().filter(|second| (EPOCH_S_MIN..EPOCH_S_MAX).contains(second));
    let second =
        second.ok_or_else(|| format!("time_epoch {} is no time in seconds since 1970", quoted(words[4])))?;
    let us = whole(5, "time_us")?;
    if us >= 1_000_000 {
        return Err(format!("time_us {us} is not below 1000000"));
    }
    let optional = |index: usize, name: &str| (words.len() > index).then(|| whole(index, name)).transpose();
    Ok(Line {
        client,
        number: whole(1, "transaction_no")?,
        time,
        script: u32::try_from(whole(3, "script_no")?)
            .map_err(|_| format!("script_no {} is too large", words[3]))?,
        end_us: second * 1_000_000 + us as i64,
        seventh: optional(6, "schedule_lag")?,
        eighth: optional(7, "retries")?,
    })
}

fn add(log: &mut Log, line: &Line<'_>, seventh: Seventh) -> Result<(), String> {
    if log.clients.len() == CLIENTS_MAX && !log.clients.contains_key(&line.client) {
        return Err(format!("the log has more than {CLIENTS_MAX} clients"));
    }
    let lag = if line.eighth.is_some() || seventh == Seventh::Lag { line.seventh } else { None };
    let retries = if line.eighth.is_some() {
        line.eighth
    } else {
        line.seventh.filter(|_| seventh == Seventh::Retries)
    };
    let client = log.clients.entry(line.client).or_insert_with(|| ClientRecord::new(line.client));
    let number = log.numbers.entry(line.client).or_default();
    *number = (*number).max(line.number);
    client.retries = client.retries.saturating_add(retries.unwrap_or(0));
    *log.scripts.entry(line.script).or_default() += 1;
    let mut begin_us = line.end_us;
    match line.time {
        Ok(time_us) => {
            log.transactions += 1;
            client.transactions += 1;
            log.latency_ms_sum += time_us as f64 / 1e3;
            log.seconds.add(line.end_us.div_euclid(1_000_000), 1, time_us as f64 / 1e3);
            // With a rate, `time` begins at the scheduled start.
            let service_us = time_us.saturating_sub(lag.unwrap_or(0));
            client.service_time.record(service_us.saturating_mul(1000));
            if lag.is_some() {
                log.has_lag = true;
                client
                    .response_time
                    .get_or_insert_with(Default::default)
                    .record(time_us.saturating_mul(1000));
            }
            begin_us = line.end_us - time_us as i64;
        }
        Err("skipped") => {
            log.skipped += 1;
            client.arrivals_unserved += 1;
        }
        Err(kind) => {
            client.errors += 1;
            client.error.get_or_insert_with(|| format!("pgbench: {kind}"));
            match kind {
                "serialization" => log.serialization_failures += 1,
                "deadlock" => log.deadlock_failures += 1,
                _ => log.other_failures += 1,
            }
        }
    }
    log.start_us = log.start_us.min(begin_us);
    log.end_us = log.end_us.max(line.end_us);
    let earliest = client.start_ns.unwrap_or(u64::MAX).min(begin_us.max(0) as u64);
    client.start_ns = Some(earliest);
    client.end_ns = Some(client.end_ns.unwrap_or(0).max(line.end_us as u64));
    Ok(())
}

/// Transactions that failed.
pub(crate) fn failures(log: &Log) -> u64 {
    log.serialization_failures + log.deadlock_failures + log.other_failures
}

impl Log {
    /// Adds what another worker of the same run wrote.
    pub(crate) fn merge(&mut self, other: Self) {
        for (number, client) in other.clients {
            match self.clients.get_mut(&number) {
                Some(known) => known.merge(&client),
                None => {
                    self.clients.insert(number, client);
                }
            }
        }
        for (client, number) in other.numbers {
            let known = self.numbers.entry(client).or_default();
            *known = (*known).max(number);
        }
        for (script, count) in other.scripts {
            *self.scripts.entry(script).or_default() += count;
        }
        self.transactions += other.transactions;
        self.latency_ms_sum += other.latency_ms_sum;
        self.skipped += other.skipped;
        self.serialization_failures += other.serialization_failures;
        self.deadlock_failures += other.deadlock_failures;
        self.other_failures += other.other_failures;
        self.start_us = self.start_us.min(other.start_us);
        self.end_us = self.end_us.max(other.end_us);
        self.seconds.merge(&other.seconds);
        self.has_lag |= other.has_lag;
    }

    /// Transactions that the numbers say, where the log has a sample of them; `None` where it has all.
    pub(crate) fn sampled_of(&self) -> Option<u64> {
        let lines = self.transactions + self.skipped + failures(self);
        let numbered: u64 = self.numbers.values().fold(0, |sum, number| sum.saturating_add(*number));
        // Numbers begin with 0 or 1, by version.
        (numbered > lines).then_some(numbered)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    // OBSERVED: pgbench 15.20 -c 4 -j 2 -T 2 --log
    const PLAIN: &str =
        "0 1 4052 0 1795400694 502006\n0 2 6793 0 1795400694 508826\n1 1 13465 0 1795400694 512495\n";
    // OBSERVED: pgbench 15.20 --rate=100 --latency-limit=5 --log
    const RATE: &str = "0 1 10899 0 1795400699 671571 89\n1 1 7033 0 1795400699 673473 77\n1 2 skipped 0 1795400700 3605 0\n";
    // OBSERVED: pgbench 15.20 --max-tries=3 --failures-detailed --log
    const TRIES: &str = "3 1 6293 0 1795400702 727618 0\n3 2 4270 0 1795400702 731907 0\n0 1 serialization 0 1795400702 735088 2\n";

    #[test]
    fn counts_times_and_numbers_are_those_of_the_lines() {
        let log = read(PLAIN.as_bytes(), "f").unwrap();
        assert_eq!((log.transactions, log.clients.len(), log.sampled_of()), (3, 2, None));
        assert_eq!(log.latency_ms_sum, 4.052 + 6.793 + 13.465);
        // From the start of the first transaction to the end of the last.
        assert_eq!(log.end_us - log.start_us, 512_495 - (502_006 - 4052));
    }

    #[test]
    fn the_seventh_column_is_lag_or_retries_by_its_values() {
        let log = read(RATE.as_bytes(), "f").unwrap();
        assert!(log.has_lag && log.skipped == 1);
        let client = &log.clients[&0];
        assert!((client.service_time.max_ns() as f64 / 10_810_000.0 - 1.0).abs() < 1e-3);
        assert!((client.response_time.as_ref().unwrap().max_ns() as f64 / 10_899_000.0 - 1.0).abs() < 1e-3);
        let log = read(TRIES.as_bytes(), "f").unwrap();
        assert!(!log.has_lag);
        assert_eq!((log.serialization_failures, log.clients[&0].retries, log.clients[&0].errors), (1, 2, 1));
    }

    #[test]
    fn a_line_that_is_none_is_refused_with_its_number() {
        for (bad, reason) in [
            ("0 1 -5 0 1795400694 502006", "not a whole number"),
            ("0 1 NaN 0 1795400694 502006", "not a whole number"),
            ("0 1 5 0 17 502006", "no time"),
            ("0 1 5 0 99999999999 502006", "no time"),
            ("0 1 5 0 1795400694", "5 columns"),
            ("0 1 5 0 1795400694 1000000", "not below"),
            ("4294967296 1 5 0 1795400694 0", "too large"),
            ("0 1 99999999999999999999 0 1795400694 1", "not a whole number"),
            ("0 1 9999999999999999999 0 1795400694 1", "longer than"),
        ] {
            let error = read(format!("{PLAIN}\n{bad}\n").as_bytes(), "f").unwrap_err();
            assert!(error.reason.contains(reason) && error.line == Some(5), "{error}");
        }
        assert!(read("".as_bytes(), "f").is_err());
    }
}
