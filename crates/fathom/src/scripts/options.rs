//! Options of pgbench as parameters of a spec.

use anyhow::{Context, bail};

use crate::arguments::{RunArguments, settings};

/// The parameters that the command line sets, in order: `--set` first, then the options that stand for one.
///
/// # Errors
/// A `--set` without a value, a latency limit that is no time.
pub(crate) fn overrides(arguments: &RunArguments) -> anyhow::Result<Vec<(String, String)>> {
    // `-s 10` is the scale in pgbench; a name and a value set a parameter.
    let (scales, set): (Vec<String>, Vec<String>) =
        arguments.set.iter().cloned().partition(|word| is_numbers(word));
    let mut overrides = settings(&set)?;
    overrides.extend(scales.into_iter().map(|scale| ("scale".to_owned(), scale)));
    let scripts = &arguments.scripts;
    let limit = scripts.latency_limit.as_deref().map(in_milliseconds).transpose()?;
    let logs = scripts.log_transactions.then(|| "true".to_owned());
    let options = [
        ("connections", &arguments.clients),
        ("jobs", &arguments.jobs),
        ("duration", &arguments.time),
        ("rate", &arguments.rate),
        ("protocol", &scripts.protocol),
        ("max_tries", &scripts.max_tries),
        ("scale", &scripts.scale),
        ("fillfactor", &scripts.fillfactor),
        ("latency_limit", &limit),
        ("transaction_log", &logs),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            overrides.push((name.to_owned(), value.clone()));
        }
    }
    Ok(overrides)
}

fn is_numbers(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
}

/// A latency limit as a spec has it: a number alone counts milliseconds, as in pgbench.
fn in_milliseconds(text: &str) -> anyhow::Result<String> {
    let one = |word: &str| {
        let word = word.trim();
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if is_number { format!("{word}ms") } else { word.to_owned() }
    };
    if text.trim().is_empty() {
        bail!("--latency-limit has no value\nhint: write -L 10 (milliseconds) or -L 10ms");
    }
    Ok(text.split(',').map(one).collect::<Vec<_>>().join(","))
}

/// Refuses what makes tables or variables for scripts where a spec has its own.
///
/// # Errors
/// The first such option.
pub(super) fn refuse_without_scripts(arguments: &RunArguments) -> anyhow::Result<()> {
    let scripts = &arguments.scripts;
    let instead = [
        (!scripts.define.is_empty(), "--define", "--set NAME=VALUE sets a parameter of a spec"),
        (scripts.initialize, "--initialize", "a spec has its tables in [workload]"),
        (scripts.schema.is_some(), "--schema", "a spec has its tables in [workload]"),
        (scripts.fillfactor.is_some(), "--fillfactor", "--set fillfactor=N sets a parameter of that name"),
    ];
    match instead.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, hint)) => bail!("{option} applies to scripts (.sql, --builtin) only\nhint: {hint}"),
        None => Ok(()),
    }
}

/// Name and value of each `--define`.
///
/// # Errors
/// A definition without a name or a value.
pub(super) fn definitions(arguments: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let one = |text: &String| {
        let (name, value) = script::parse_definition(text).context("--define cannot be read")?;
        Ok((name.to_owned(), value.to_owned()))
    };
    arguments.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_latency_limit_without_a_unit_is_in_milliseconds() {
        assert_eq!(in_milliseconds("10").unwrap(), "10ms");
        assert_eq!(in_milliseconds("2.5, 1s").unwrap(), "2.5ms,1s");
        assert!(in_milliseconds(" ").is_err());
    }

    #[test]
    fn numbers_alone_are_a_scale() {
        assert!(is_numbers("10") && is_numbers("1,10"));
        assert!(!is_numbers("") && !is_numbers("a=1") && !is_numbers("-1"));
    }
}
