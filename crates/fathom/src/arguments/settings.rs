//! `--set NAME=VALUE`.

use anyhow::Context;

/// What `--set` says, in order: name and value.
///
/// # Errors
/// A word without a value.
pub(crate) fn settings(words: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .with_context(|| format!("--set {text} has no value\nhint: write --set name=value"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    words.iter().map(pair).collect()
}
