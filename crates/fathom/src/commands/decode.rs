//! `fathom decode`: what a page is, by its number and by its bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, bail};
use check::decode::{self, Decoded};
use check::engine::PageShape;
use report::plain::plain;

use crate::arguments::DecodeArguments;
use crate::cli::terminal::{print, print_json};
use crate::engines;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &DecodeArguments) -> anyhow::Result<ExitStatus> {
    let decoded = decode(arguments)?;
    if arguments.json {
        print_json(&format!("{}\n", json(&decoded)))?;
    } else {
        print(&text(&decoded))?;
    }
    Ok(if decoded.damage.is_empty() { ExitStatus::Clean } else { ExitStatus::Findings })
}

fn decode(arguments: &DecodeArguments) -> anyhow::Result<Decoded> {
    engines::require_checkers()?;
    let Some(page) = arguments.page.to_str() else { return in_file_of_bytes(&arguments.page) };
    let words: Vec<&str> = page.split(':').collect();
    let shape = PageShape { page_bytes: arguments.page_size, auto_vacuum: arguments.auto_vacuum };
    if let Some(decoded) = engines::CHECKERS.iter().find_map(|engine| (engine.page)(&words, shape)) {
        return Ok(decoded?);
    }
    let names: Vec<&str> = engines::CHECKERS.iter().flat_map(|engine| engine.page_names).copied().collect();
    let hint = format!("\nhint: write FILE:PAGE, or by number alone {}", names.join(", "));
    match words.as_slice() {
        [file @ .., page] if !file.is_empty() => {
            let file = file.join(":");
            let Ok(page) = page.parse() else { bail!("\"{page}\" is not a page number{hint}") };
            let mut decoded = decode::file(engines::CHECKERS, Path::new(&file), page)?;
            decoded.facts.insert(0, ("file".to_owned(), file));
            Ok(decoded)
        }
        _ => bail!("\"{page}\" is not a page{hint}"),
    }
}

/// FILE:PAGE where the name of the file is not UTF-8.
fn in_file_of_bytes(word: &OsStr) -> anyhow::Result<Decoded> {
    let bytes = word.as_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':');
    let (file, page) = colon.map_or((bytes, &[][..]), |colon| (&bytes[..colon], &bytes[colon + 1..]));
    let page = std::str::from_utf8(page).ok().and_then(|page| page.parse().ok());
    let page =
        page.with_context(|| format!("\"{}\" is not a page\nhint: write FILE:PAGE", word.display()))?;
    let file = Path::new(OsStr::from_bytes(file));
    let mut decoded = decode::file(engines::CHECKERS, file, page)?;
    decoded.facts.insert(0, ("file".to_owned(), file.display().to_string()));
    Ok(decoded)
}

fn text(decoded: &Decoded) -> String {
    let mut text = format!("{}\n", plain(&decoded.title));
    let width = decoded.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in &decoded.facts {
        text += &format!("  {:<width$}  {}\n", name, plain(value));
    }
    for damage in &decoded.damage {
        text += &format!("  damaged: {}\n", plain(damage));
    }
    text
}

fn json(decoded: &Decoded) -> serde_json::Value {
    let facts = decoded.facts.iter().map(|(name, value)| (name.clone(), value.clone().into()));
    serde_json::json!({
        "engine": decoded.engine,
        "title": decoded.title,
        "facts": facts.collect::<serde_json::Map<String, serde_json::Value>>(),
        "damage": decoded.damage,
    })
}
