//! `fathom decode`: what a page is, by its number and by its bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, bail};
use check::decode::{self, Decoded, Map};
use report::plain::plain;

use crate::Verdict;
use crate::arguments::DecodeArguments;
use crate::terminal::{print, print_json};

/// Page sizes where no file and no option tells.
// EVIDENCE: sqlite fileformat2 1.3.2 and PRAGMA page_size; block_size of PostgreSQL; innodb_page_size
const SQLITE_PAGE_BYTES: u32 = 4096;
const POSTGRES_BLOCK_BYTES: u32 = 8192;
const INNODB_PAGE_BYTES: u32 = 16384;

pub(crate) fn run(arguments: &DecodeArguments) -> anyhow::Result<Verdict> {
    let decoded = decode(arguments)?;
    if arguments.json {
        print_json(&format!("{}\n", json(&decoded)))?;
    } else {
        print(&text(&decoded))?;
    }
    Ok(if decoded.damage.is_empty() { Verdict::Clean } else { Verdict::Findings })
}

fn decode(arguments: &DecodeArguments) -> anyhow::Result<Decoded> {
    let Some(page) = arguments.page.to_str() else { return in_file_of_bytes(&arguments.page) };
    let words: Vec<&str> = page.split(':').collect();
    let hint = "\nhint: write FILE:PAGE, DATABASE:FILE:PAGE as SQL Server does, or sqlite:PAGE, postgres:PAGE, innodb:PAGE";
    match words.as_slice() {
        [_] => bail!("\"{page}\" is not a page{hint}"),
        // A file of such a name is meant only with a directory: ./5:1:100.
        [database, file, page] if [database, file, page].iter().all(|word| is_number(word)) => {
            Ok(decode::sqlserver(Some(number(database)?), number(file)?, number(page)?))
        }
        ["sqlserver", file, page] => Ok(decode::sqlserver(None, number(file)?, number(page)?)),
        ["sqlite", page] => sqlite(number(page)?, arguments),
        ["postgres", page] => postgres(Map::Main, page, arguments),
        ["postgres", "fsm", page] => postgres(Map::FreeSpace, page, arguments),
        ["postgres", "vm", page] => postgres(Map::Visibility, page, arguments),
        ["innodb", page] => innodb(page, false, arguments),
        ["innodb", "system", page] => innodb(page, true, arguments),
        [file @ .., page] => {
            let file = file.join(":");
            let Ok(page) = number(page) else { bail!("\"{page}\" is not a page number{hint}") };
            let mut decoded = decode::file(Path::new(&file), page)?;
            decoded.facts.insert(0, ("file".to_owned(), file));
            Ok(decoded)
        }
        [] => bail!("there is no page to decode{hint}"),
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
    let mut decoded = decode::file(file, page)?;
    decoded.facts.insert(0, ("file".to_owned(), file.display().to_string()));
    Ok(decoded)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn number<T: std::str::FromStr>(word: &str) -> anyhow::Result<T> {
    word.parse().ok().with_context(|| format!("\"{word}\" is not a valid page, file or database number"))
}

fn sqlite(page: u32, arguments: &DecodeArguments) -> anyhow::Result<Decoded> {
    let page_bytes = arguments.page_size.unwrap_or(SQLITE_PAGE_BYTES);
    let geometry = decode::sqlite_geometry(page_bytes, arguments.auto_vacuum).with_context(|| {
        format!("{page_bytes} is not a SQLite page size: use a power of two from 512 to 65536")
    })?;
    if page == 0 {
        bail!("SQLite pages are numbered from 1");
    }
    Ok(decode::sqlite(page, geometry))
}

fn postgres(map: Map, block: &str, arguments: &DecodeArguments) -> anyhow::Result<Decoded> {
    let block_bytes = arguments.page_size.unwrap_or(POSTGRES_BLOCK_BYTES);
    if !block_bytes.is_power_of_two() || !(1024..=32768).contains(&block_bytes) {
        bail!("{block_bytes} is not a PostgreSQL block size: use a power of two from 1024 to 32768");
    }
    Ok(decode::postgres(map, number(block)?, block_bytes as usize))
}

fn innodb(page: &str, is_system: bool, arguments: &DecodeArguments) -> anyhow::Result<Decoded> {
    let page_bytes = arguments.page_size.unwrap_or(INNODB_PAGE_BYTES);
    if !page_bytes.is_power_of_two() || !(1024..=65536).contains(&page_bytes) {
        bail!("{page_bytes} is not an InnoDB page size: use a power of two from 1024 to 65536");
    }
    Ok(decode::innodb(number(page)?, page_bytes, is_system))
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
