//! What a reader asked for (text, JSON, a page, a picture) and where it goes.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use report::plain::{json, lines};

use super::png;
use super::terminal::{print, write_out};
use crate::arguments::ReportFormat;

/// What a reader asked for, and where it goes.
pub(crate) struct Delivery<'a> {
    /// `--json`.
    pub(crate) is_json: bool,
    /// `--format`.
    pub(crate) format: Option<ReportFormat>,
    /// `-o`; `-` is standard output.
    pub(crate) output: Option<&'a Path>,
    /// Where a page goes that `-o` does not name: over an older one.
    pub(crate) page: PathBuf,
}

/// Endings of file names, with the form that each stands for.
const ENDINGS: [(&str, ReportFormat); 8] = [
    ("html", ReportFormat::Html),
    ("htm", ReportFormat::Html),
    ("svg", ReportFormat::Svg),
    ("png", ReportFormat::Png),
    ("md", ReportFormat::Markdown),
    ("markdown", ReportFormat::Markdown),
    ("json", ReportFormat::Json),
    ("txt", ReportFormat::Text),
];

impl Delivery<'_> {
    /// The form that was asked for, or that the ending of the output file stands for.
    pub(crate) fn form(&self) -> anyhow::Result<ReportFormat> {
        let asked = if self.is_json { Some(ReportFormat::Json) } else { self.format };
        let Some(path) = self.file() else { return Ok(asked.unwrap_or(ReportFormat::Text)) };
        let Some(ending) = path.extension().and_then(|ending| ending.to_str()) else {
            return Ok(asked.unwrap_or(ReportFormat::Text));
        };
        let known =
            ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, form)| *form);
        match (asked, known) {
            (None, Some(form)) => Ok(form),
            (Some(form), Some(other)) if form == other => Ok(form),
            // Plain text may be called anything that is not the name of another form.
            (Some(form @ (ReportFormat::Text | ReportFormat::Json | ReportFormat::Markdown)), None) => {
                Ok(form)
            }
            (Some(form), _) => bail!(
                "\"{}\" does not have the extension of --format {}\nhint: leave out --format, or change the extension",
                path.display(),
                name(form)
            ),
            (None, None) => bail!(
                "no format has the extension .{ending}\nhint: extensions are .html, .svg, .png, .md, .json and .txt; a browser prints the page to PDF"
            ),
        }
    }

    /// The file that `-o` names.
    fn file(&self) -> Option<&Path> {
        self.output.filter(|path| *path != Path::new("-"))
    }

    /// Writes what `render` gives: to the file of `-o`, which must not exist and whose name is printed; a page without
    /// `-o` to its own place; else to standard output. `render` is asked for text, and for the SVG of what becomes
    /// pixels.
    pub(crate) fn deliver(
        &self,
        render: impl FnOnce(ReportFormat) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let form = self.form()?;
        if form == ReportFormat::Png && self.output.is_none() && stdout().is_terminal() {
            bail!("a terminal cannot show a picture\nhint: name a file, as in `-o slide.png`")
        }
        let bytes = match form {
            ReportFormat::Png => png::from_svg(&render(ReportFormat::Svg)?)?,
            ReportFormat::Json => json(&render(form)?).into_owned().into_bytes(),
            ReportFormat::Text | ReportFormat::Markdown => lines(&render(form)?).into_owned().into_bytes(),
            form => render(form)?.into_bytes(),
        };
        let path = match (self.file(), form) {
            (Some(path), _) => {
                write_new(path, &bytes)?;
                path
            }
            (None, ReportFormat::Html) if self.output.is_none() => {
                replace(&self.page, &bytes)?;
                &self.page
            }
            (None, _) => return Ok(write_out(&bytes)?),
        };
        Ok(print(&format!("{}\n", path.display()))?)
    }
}

/// A form as `--format` takes it.
fn name(form: ReportFormat) -> String {
    form.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The place of a page in a results directory; what was typed becomes a part of its name.
pub(crate) fn place(directory: &Path, words: &[&str]) -> PathBuf {
    let typed = words.join("-");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
    let plain: String = typed.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
    let short: String = plain.chars().take(NAME_CHARS_MAX).collect();
    directory.join(format!("{short}.html"))
}

/// Longest name of a page without its ending: file systems take 255 bytes.
const NAME_CHARS_MAX: usize = 120;

/// Writes to a file that must not exist yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(|| {
        format!("could not create file \"{}\"\nhint: choose a name that does not exist", path.display())
    })?;
    write(&mut file, path, bytes)
}

/// Writes a file over an older one of the same name. A reader never sees half of it: the name is given when all is
/// written.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let unfinished = path.with_extension("html.part");
    let mut file = File::create(&unfinished).with_context(|| {
        format!("could not create file \"{}\"\nhint: give another path with -o", unfinished.display())
    })?;
    write(&mut file, &unfinished, bytes)?;
    std::fs::rename(&unfinished, path).with_context(|| format!("could not create \"{}\"", path.display()))
}

fn write(file: &mut File, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    file.write_all(bytes).with_context(|| format!("could not write file \"{}\"", path.display()))
}
