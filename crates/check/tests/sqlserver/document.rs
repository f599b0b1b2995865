//! docs/checks-sqlserver.md: the rules with the numbers of DBCC's messages, and what is found at which level. Written by
//! `UPDATE_DOCS=1 cargo test -p check --test sqlserver document`, which needs the real files.

use std::fmt::Write as _;

use check::sqlserver::{RULES, dbcc_messages};
use results::check::CheckLevel;

use crate::classes::CLASSES;
use crate::copy::{Copy, checked, options, rules_of};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks-sqlserver.md");

const INTRODUCTION: &str = "# What `fathom check` proves about SQL Server files

Made by `UPDATE_DOCS=1 cargo test -p check --test sqlserver document`. How a check goes in general is told in
[checks.md](checks.md).

- `fathom check northwnd.mdf [more.ndf ...]` checks the data files of one database; `fathom check pubs.bak [stripe ...]`
  the pages in an uncompressed backup, which are the pages of the data files as they stood. No server is needed, nothing is
  attached or restored, files are opened for reading only.
- Levels: `page` (protection, header, page number; maps, boot page and file header at their places), `structure`
  (allocation, owners, records, B-tree links and bounds, forwarded rows, large values), `full` (rows against the entries of
  nonclustered indexes both ways, order and uniqueness of keys, NOT NULL, ranges). `--level structure` is the counterpart of
  PHYSICAL_ONLY.
- Phases, as the published check has them: allocation, system catalogue, tables. `--object-batch N` sums up N objects at a
  time; each further batch reads all files once more.
- **Pages that are not in use are no evidence.** The PFS says which are; what others hold is read and skipped. Where the
  PFS page itself is missing or damaged, its pages are judged by protection and header alone, and findings are possible,
  not certain.
- **Facts between pages need a moment.** They are proven only when no page in use is newer than the last checkpoint in the
  boot page, as after a shutdown, a detach, or in a backup during which nothing was written. Else the report says so, and
  what one page alone shows still counts.
- **All of the database must be there.** The file header, the PFS and GAM pages and the size in `sys.sysprufiles` say how
  long a data file is at least; a shorter file is one finding at every level, and `structure` ends with exit status 1. The
  objects whose pages are past the end are named in it; what follows from their absence is not reported again. A data file
  that was not named ends the check with exit status 2: its pages are not verified, nor are facts between pages.
- **A part of a backup is never clean.** A stripe without the others, a differential backup, a backup of some files, and
  further backup sets in the same file end with exit status 2 and the reason; their pages are verified one by one. Stripes
  named together are checked as a whole. A full backup must have each extent that its GAM pages call allocated, and its
  blocks and streams must be intact up to the end: what is missing there is damage. Of several backup sets in a file the last
  full one is checked.
- **Findings name the row.** A finding about a row or an index entry shows the primary key of the row, else its clustered key,
  else its RID (file:page:slot) and first columns; and the columns that differ, with their values. `char` and
  `varchar` are decoded by the code page of the collation where that is 1252, else shown in hexadecimal unless they are ASCII.
  A row that differs from its entries in several indexes is one finding that names these indexes.
- A compressed backup is named as such, none of its blocks is checked, and the exit status is 2.

## Versions

Layouts were seen in files of internal versions 611, 655, 661 (one of them created as 539, version 2000) and 706: SQL Server
2005, 2008, 2008 R2 and 2012. Version 611 keeps the columns of tables in `syshobtcolumns` and `sysrowsetcolumns`, which are
read as they are; bits of their status other than NOT NULL are not known, and a table or index that has them is listed under
\"not checked\".

Of any other version (515, 539, 612, and 782 (2014) to 957 (2022)) only what each page promises is verified: checksum or
torn bits, header, page number, maps. Levels structure and full name the version and end with exit status 2. Nothing but a
checksum or torn bits is called certain there.

Databases of several data files, backups of such, stripes of a backup named together, and files of more than one allocation
interval (4 GB) were not at hand: tests make them out of real files, with headers, maps and IAM pages of their own. A data
file that is not named is told by its number, and by the path that the server knew.

What is not verified, and listed under \"not checked\" where the database has it: compressed records (row and page
compression), columnstore data, XML and spatial indexes, indexes with properties that are not known (filtered ones among
them), index columns that are computed and not stored, the order of text (collations). These lower the coverage that the
report states. Rules that no level verifies are listed with the command that does: foreign keys and CHECK constraints (`DBCC
CHECKCONSTRAINTS`), values of persisted computed columns and bounds of partitions (`DBCC CHECKTABLE`), rows of indexed views
(`DBCC CHECKDB WITH EXTENDED_LOGICAL_CHECKS`), FILESTREAM files (`DBCC CHECKDB`), contents of full-text indexes (no command).
Counts of rows and pages in the catalog are not compared.

Not looked into either, in any file, and why:

- The bits of the differential map. A page that changed after the checkpoint which a full backup names as its base, and
  before that backup cleared the bits, is in the backup and rightly has no bit; and a file that was never backed up may have
  bits that are not set (pubs-2008-checksum.mdf has). DBCC does not compare them with the pages either. That the map is there
  and has its records is tested.
- The bits of the minimally logged map: nothing in a page tells how its last change was logged.
- The ghost bit of the PFS: it may stay set, and no file at hand has a ghost record.
- The length of a large value as a whole where its root is above inner nodes: pieces are compared with the nodes that name
  them.
- Fullness in the PFS for pages of kind text tree (always called full) and for indexes (not kept).

Forwarded rows were in none of the files at hand; their layout is that of the published descriptions, and the tests about
them make them by hand.
";

#[test]
fn the_document_has_every_rule_and_every_class_of_damage() {
    if std::env::var_os("UPDATE_DOCS").is_some()
        && let Some(text) = document()
    {
        std::fs::write(DOCUMENT, text).unwrap();
    }
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let mut absent: Vec<String> = Vec::new();
    absent.extend(RULES.iter().map(rule_row).filter(|row| !text.contains(row)));
    absent.extend(CLASSES.iter().map(|(class, ..)| format!("| {class} |")).filter(|row| !text.contains(row)));
    assert!(text.starts_with(INTRODUCTION) && absent.is_empty(), "write it with UPDATE_DOCS=1: {absent:?}");
}

fn rule_row(rule: &check::rule::Rule) -> String {
    format!(
        "| `{}` | {} | {} | {} | {} | {} |\n",
        rule.id,
        rule.level.name(),
        dbcc_messages(rule.id).unwrap_or(""),
        rule.promise,
        rule.meaning,
        rule.evidence
    )
}

fn document() -> Option<String> {
    let mut text = String::from(INTRODUCTION);
    text.push_str(
        "\n## Rules\n\nDBCC: numbers of the messages that DBCC CHECKDB has for the same fault, where their published texts \
         (Microsoft Learn, \"Database engine events and errors\") tell so.\n\n\
         | rule | from level | DBCC | promise | when it is broken | source |\n|---|---|---|---|---|---|\n",
    );
    RULES.iter().for_each(|rule| text.push_str(&rule_row(rule)));
    text.push_str(
        "\n## Classes of damage\n\nOne damage at a time in a copy of a public sample database; protection is made to fit \
         where the class needs it. DBCC was not run: there is no server here.\n\n\
         | class | page | structure | full |\n|---|---|---|---|\n",
    );
    for (class, file, damage, _) in CLASSES {
        let mut copy = Copy::of(file)?;
        damage(&mut copy);
        let path = copy.store();
        write!(text, "| {class} |").unwrap();
        for level in [CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            let report = checked(&path, &options(level));
            let rules: Vec<_> = rules_of(&report).iter().map(|rule| format!("`{rule}`")).collect();
            let cell = if rules.is_empty() { "silent".to_owned() } else { rules.join(" ") };
            write!(text, " {cell} |").unwrap();
        }
        text.push('\n');
    }
    Some(text)
}
