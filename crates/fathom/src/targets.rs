//! From `--target` to engines under test.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lab::engine::{Driver, Provider, TargetOptions};

use crate::arguments::RunArguments;
use crate::engines;

/// The engine that `--target` names.
pub(crate) fn driver(text: &str) -> anyhow::Result<&'static Driver> {
    engines::target(text).ok_or_else(|| not_a_target(text))
}

/// What `--target` and the options that belong to it mean, before anything is made.
pub(crate) fn parse(arguments: &RunArguments) -> anyhow::Result<Box<dyn Provider>> {
    let text = arguments.target.as_str();
    let driver = driver(text)?;
    let engine = driver.engine;
    let url = engine.has_url(text).then(|| text.to_owned());
    let is_managed = engine.is_managed && url.is_none();
    let provider = (driver.provide)(&TargetOptions {
        url,
        server_binaries: arguments.pg_bin.clone(),
        port: arguments.pg_port,
    })?;
    if !is_managed && (!arguments.pg_bin.is_empty() || arguments.pg_port.is_some()) {
        bail!("--pg-bin and --pg-port need --target {}", engines::names(|driver| driver.engine.is_managed));
    }
    if !provider.is_local() && (!arguments.data.is_empty() || arguments.log.is_some()) {
        bail!(
            "--data and --log name directories for an engine that fathom runs itself\nhint: leave them out, or use --target {}",
            engines::names(has_files)
        );
    }
    Ok(provider)
}

/// Does fathom run this engine in directories that it makes?
fn has_files(driver: &Driver) -> bool {
    driver.engine.is_managed
        || (driver.provide)(&TargetOptions::default()).is_ok_and(|provider| provider.is_local())
}

fn not_a_target(text: &str) -> anyhow::Error {
    // Not quoted when it looks like a URL: it may hold a password.
    if text.contains("://") {
        return anyhow::anyhow!(
            "the URL of the target has an unknown scheme\nhint: use {}",
            engines::url_example()
        );
    }
    let words = engines::target_words();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return anyhow::anyhow!(
            "target \"{text}\" is not known\nhint: -t is the target ({words}); --set transactions={text} bounds a run by transactions"
        );
    }
    // Not quoted either unless it is a plain word: a slip of the pen may put a password anywhere.
    if !text.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter)) {
        return anyhow::anyhow!("the target is neither an engine nor a URL\nhint: use {words}");
    }
    anyhow::anyhow!("target \"{text}\" is not known\nhint: use {words}")
}

/// Directory in which managed engines live when no data directory is given: beside the results. Makes nothing.
pub(crate) fn default_base(results: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(results.join("work")).context("could not find the current directory")
}
