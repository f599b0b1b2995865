//! `--html FILE` of commands whose result is text: the page is written beside it.

use std::path::Path;

use anyhow::bail;

use super::delivery::write_new;
use super::terminal::say;

/// A file for a page, looked at before the work and written after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageFile<'a>(&'a Path);

impl<'a> PageFile<'a> {
    /// Refuses what could not be written after long work: standard output, a name that exists, a directory that does not.
    pub(crate) fn of(path: Option<&'a Path>) -> anyhow::Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        if path == Path::new("-") {
            bail!("--html needs a file: standard output has the text\nhint: write --html page.html");
        }
        if path.symlink_metadata().is_ok() {
            bail!(
                "could not create file \"{}\": it exists\nhint: choose a name that does not exist",
                path.display()
            );
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            bail!(
                "could not create file \"{}\": \"{}\" is not a directory\nhint: create it first",
                path.display(),
                directory.display()
            );
        }
        Ok(Some(Self(path)))
    }

    /// Writes the page and says where it is.
    pub(crate) fn write(self, page: &str) -> anyhow::Result<()> {
        write_new(self.0, page.as_bytes())?;
        say(&format!("page: {} (open it in a browser)", self.0.display()));
        Ok(())
    }
}
