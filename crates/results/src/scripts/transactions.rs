//! A line for each transaction of a run: what `pgbench --log` writes, in a compact form.

use std::fmt::Write;

use super::failure::FailureKind;

/// First byte of the stored form.
const VERSION: u8 = 1;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed, after so many nanoseconds; with a rate from the intended start.
    Done(u64),
    /// Failed in the end.
    Failed(FailureKind),
    /// Not begun, because it would have been later than the latency limit.
    Skipped,
}

/// One transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedTransaction {
    /// Client, counted from 0.
    pub client: u32,
    /// Script, counted from 0.
    pub script: u32,
    /// When it ended, in nanoseconds since the release of the start barrier.
    pub end_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Nanoseconds from the intended start to the real one; `None` without a rate.
    pub lag_ns: Option<u64>,
    /// Tries after the first one.
    pub retries: u32,
}

/// The stored form of transactions: 8 to 20 bytes each.
pub fn to_bytes(transactions: &[LoggedTransaction]) -> Vec<u8> {
    let mut out = Vec::with_capacity(transactions.len() * 16 + 8);
    out.push(VERSION);
    let mut before_ns = 0;
    for one in transactions {
        // Ordered by their ends, so that differences are small; an order that is broken is kept by the sign.
        put(&mut out, zigzag(one.end_ns as i64 - before_ns));
        before_ns = one.end_ns as i64;
        put(&mut out, u64::from(one.client));
        put(&mut out, u64::from(one.script));
        put(&mut out, one.lag_ns.map_or(0, |lag| lag + 1));
        put(&mut out, u64::from(one.retries));
        put(
            &mut out,
            match one.outcome {
                Outcome::Skipped => 0,
                Outcome::Failed(kind) => {
                    1 + FailureKind::ALL.iter().position(|known| *known == kind).unwrap_or(0) as u64
                }
                Outcome::Done(latency_ns) => latency_ns.saturating_add(FIRST_LATENCY),
            },
        );
    }
    out
}

/// Numbers from here on are latencies; those before are ways to fail.
const FIRST_LATENCY: u64 = 16;

/// Reads the stored form; `None` where it is no such form.
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<LoggedTransaction>> {
    let (VERSION, mut rest) = bytes.split_first().map(|(version, rest)| (*version, rest))? else {
        return None;
    };
    let mut transactions = Vec::new();
    let mut before_ns: i64 = 0;
    while !rest.is_empty() {
        let difference = take(&mut rest)?;
        before_ns = before_ns.checked_add(unzigzag(difference))?;
        let client = u32::try_from(take(&mut rest)?).ok()?;
        let script = u32::try_from(take(&mut rest)?).ok()?;
        let lag_ns = take(&mut rest)?.checked_sub(1);
        let retries = u32::try_from(take(&mut rest)?).ok()?;
        let outcome = match take(&mut rest)? {
            0 => Outcome::Skipped,
            kind if kind < FIRST_LATENCY => Outcome::Failed(*FailureKind::ALL.get(kind as usize - 1)?),
            latency => Outcome::Done(latency - FIRST_LATENCY),
        };
        let end_ns = u64::try_from(before_ns).ok()?;
        transactions.push(LoggedTransaction { client, script, end_ns, outcome, lag_ns, retries });
    }
    Some(transactions)
}

/// The lines of `pgbench --log` (with `--failures-detailed`): client, number of the transaction, time in microseconds or
/// why there is none, script, time of the end in seconds since 1970 and microseconds, then the lag where there is a rate,
/// and the retries where a transaction was tried again. `started_us` is the release of the barrier, in microseconds since
/// 1970.
pub fn to_pgbench(transactions: &[LoggedTransaction], started_us: i64) -> String {
    let has_lag = transactions.iter().any(|one| one.lag_ns.is_some());
    let has_retries = transactions.iter().any(|one| one.retries > 0);
    let clients = transactions.iter().map(|one| one.client as usize + 1).max().unwrap_or(0);
    let mut numbers: Vec<u64> = vec![0; clients.min(1 << 20)];
    let mut text = String::with_capacity(transactions.len() * 40);
    for one in transactions {
        let number = numbers.get_mut(one.client as usize).map_or(0, |number| {
            *number += 1;
            *number
        });
        let end_us = started_us.saturating_add((one.end_ns / 1000) as i64);
        let (second, us) = (end_us.div_euclid(1_000_000), end_us.rem_euclid(1_000_000));
        let time = match one.outcome {
            Outcome::Done(latency_ns) => (latency_ns / 1000).to_string(),
            Outcome::Skipped => "skipped".to_owned(),
            Outcome::Failed(kind @ (FailureKind::Serialization | FailureKind::Deadlock)) => {
                kind.word().to_owned()
            }
            Outcome::Failed(_) => "failed".to_owned(),
        };
        // Writing into a String does not fail.
        let _ = write!(text, "{} {number} {time} {} {second} {us}", one.client, one.script);
        if has_lag {
            let _ = write!(text, " {}", one.lag_ns.unwrap_or(0) / 1000);
        }
        if has_retries {
            let _ = write!(text, " {}", one.retries);
        }
        text.push('\n');
    }
    text
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn some() -> Vec<LoggedTransaction> {
        let one = |client, end_ns, outcome, lag_ns, retries| LoggedTransaction {
            client,
            script: 1,
            end_ns,
            outcome,
            lag_ns,
            retries,
        };
        vec![
            one(0, 5_000, Outcome::Done(4_052_999), None, 0),
            one(3, 4_000, Outcome::Done(0), Some(0), 2),
            one(0, 1_500_000_000, Outcome::Failed(FailureKind::Deadlock), Some(77_000), 0),
            one(u32::MAX, 1_500_000_001, Outcome::Failed(FailureKind::Other), None, u32::MAX),
            one(1, i64::MAX as u64, Outcome::Skipped, Some(u64::MAX - 1), 0),
            one(1, 7, Outcome::Done(u64::MAX - 100), None, 0),
        ]
    }

    #[test]
    fn the_stored_form_gives_the_same_transactions_and_cut_forms_are_refused_or_shorter() {
        let bytes = to_bytes(&some());
        assert_eq!(from_bytes(&bytes).unwrap(), some());
        assert_eq!(from_bytes(&to_bytes(&[])).unwrap(), []);
        for length in 0..bytes.len() {
            assert!(from_bytes(&bytes[..length]).is_none_or(|cut| cut.len() < some().len()));
        }
        assert!(from_bytes(&[2]).is_none());
        assert!(from_bytes(&[VERSION, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_none());
    }

    // OBSERVED: pgbench 15.20 --log: "0 1 4052 0 1795400694 502006"; with a rate and retries two columns more
    #[test]
    fn lines_are_those_of_pgbench() {
        let started_us = 1_795_400_694_502_001;
        assert_eq!(to_pgbench(&some()[..1], started_us), "0 1 4052 1 1795400694 502006\n");
        let lines = to_pgbench(&some()[..4], started_us);
        assert_eq!(
            lines,
            "0 1 4052 1 1795400694 502006 0 0\n3 1 0 1 1795400694 502005 0 2\n\
             0 2 deadlock 1 1795400696 2001 77 0\n4294967295 0 failed 1 1795400696 2001 0 4294967295\n"
        );
    }
}
