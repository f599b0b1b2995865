//! Pages of SQL Server.

use formats::sqlserver::{
    Boot, Damage, EXTENT_PAGES, FileHeader, Header, Iam, PAGE_BYTES, PageKind, Protection, Record,
    audit_protection, needs_restore, pfs_byte, place as fixed, product, restore,
};

use results::EngineId;

use check::decode::{Decoded, offset_text, page_bytes};
use check::engine::number;
use check::engine::{EngineError, PageShape, Probe};

/// Most slots that are counted by kind: all that a page can have.
const SLOTS_MAX: u16 = ((PAGE_BYTES - 96) / 2) as u16;

/// What is due at a page number: allocation maps, header and boot page have fixed places.
#[must_use]
pub fn place(database: Option<u32>, file: u16, page: u32) -> Decoded {
    let kind = fixed::fixed_kind(page, file == 1);
    let number = match kind {
        Some(PageKind::Pfs) => Some(page / fixed::PFS_PAGES),
        Some(PageKind::Gam | PageKind::Sgam | PageKind::DifferentialMap | PageKind::BulkMap) => {
            Some(page / fixed::MAP_PAGES)
        }
        _ => None,
    };
    let title = match (kind, number) {
        // Far behind 3 TiB one number is a multiple of both intervals.
        (Some(PageKind::Pfs), Some(number)) if page.is_multiple_of(fixed::MAP_PAGES) => {
            let map = page / fixed::MAP_PAGES;
            format!("PFS page {number} of file {file}, where GAM page {map} is due as well")
        }
        (Some(kind), Some(number)) => format!("{} page {number} of file {file}", kind.name()),
        (Some(kind), None) => format!("{} page of file {file}", kind.name()),
        (None, _) => format!("page {page} of file {file}: data, index, large values or IAM"),
    };
    let mut decoded = Decoded::new(EngineId::Sqlserver, title);
    if let Some(database) = database {
        decoded.fact("database", database_text(database));
    }
    decoded.fact("page", format!("{file}:{page}"));
    decoded.fact("offset in the file", offset_text(page.into(), PAGE_BYTES as u64));
    let interval = match kind {
        Some(PageKind::Pfs) => Some(fixed::PFS_PAGES),
        Some(PageKind::FileHeader | PageKind::Boot) | None => None,
        Some(_) => Some(fixed::MAP_PAGES),
    };
    match interval {
        Some(interval) => {
            let first = page / interval * interval;
            let last = u64::from(first) + u64::from(interval) - 1;
            decoded.fact("describes", format!("pages {first} to {last} of file {file}"));
        }
        None if kind.is_none() => {
            decoded.fact("why not more", "its number says no more: only maps, file header and boot page have fixed places; IAM pages can be anywhere and are marked in the PFS");
        }
        None => {}
    }
    decoded
        .fact("extent", format!("{}, from page {}", page / EXTENT_PAGES, page / EXTENT_PAGES * EXTENT_PAGES));
    let maps = [("GAM", 2), ("SGAM", 3), ("differential", 6), ("minimally logged", 7)];
    let maps = maps.map(|(name, first)| format!("{name} {file}:{}", fixed::map_of(page, first)));
    decoded.fact("described by", format!("PFS {file}:{}, {}", fixed::pfs_of(page), maps.join(", ")));
    decoded
}

// EVIDENCE: Microsoft Learn, sys.databases and "System databases": master 1, tempdb 2, model 3, msdb 4
fn database_text(database: u32) -> String {
    let name = match database {
        1 => " (master)",
        2 => " (tempdb)",
        3 => " (model)",
        4 => " (msdb)",
        _ => "",
    };
    format!("{database}{name}")
}

/// Whether the first page of a file is that of a SQL Server data file.
pub(super) fn is_first_page(bytes: &[u8]) -> bool {
    let header = Header::new(bytes);
    header.version == 1 && header.kind == PageKind::FileHeader && header.page.page == 0
}

/// What a page of a data file holds.
pub(super) fn page(number: u32, bytes: &[u8], first_page: &[u8]) -> Decoded {
    let header = Header::new(bytes);
    let file = FileHeader::new(first_page).map_or(header.page.file, |file| file.file);
    let mut decoded = place(None, file, number);
    let due = fixed::fixed_kind(number, file == 1);
    if due.is_none() {
        decoded.title = format!("{} page {file}:{number}", header.kind.name());
        decoded.facts.retain(|(name, _)| name != "why not more");
    }
    if due.is_some_and(|due| due != header.kind) {
        decoded.damage.push(format!("its header says {}", header.kind.name()));
    }
    if header.page.page != number && header.kind != PageKind::Blank {
        decoded.damage.push(format!("its header says that it is page {}", header.page));
    }
    let mut damage = Vec::new();
    audit_protection(bytes, &header, |found| damage.push(words(found)));
    header.audit(|found| damage.push(words(found)));
    decoded.damage.extend(damage);
    let protection = match Protection::of(&header) {
        Protection::None => "none",
        Protection::Torn => "TORN_PAGE_DETECTION",
        Protection::Checksum => "CHECKSUM",
    };
    decoded.fact("PAGE_VERIFY", protection);
    let mut mended = bytes.to_vec();
    if needs_restore(&header) {
        restore(&mut mended);
    }
    header_facts(&header, &mut decoded);
    contents(&mended, &header, &mut decoded);
    decoded
}

/// A damage in words, with the place that shows it.
fn words(damage: Damage) -> String {
    let slot = damage.slot.map_or(String::new(), |slot| format!(", slot {slot}"));
    format!(
        "at byte {}{slot}: expected {}, found {}",
        damage.offset_bytes,
        damage.expected_text(),
        damage.found_text()
    )
}

fn header_facts(header: &Header, decoded: &mut Decoded) {
    let link =
        |page: formats::sqlserver::PageId| if page.is_none() { "none".to_owned() } else { page.to_string() };
    decoded.fact("LSN", format!("{:08x}:{:08x}:{:04x}", header.lsn.file, header.lsn.block, header.lsn.slot));
    decoded.fact(
        "allocation unit",
        format!("{} (object {}, index {})", header.allocation_unit(), header.object_id, header.index_id),
    );
    if matches!(header.kind, PageKind::Data | PageKind::Index) {
        decoded.fact("level", header.level.to_string());
    }
    decoded.fact("previous page", link(header.previous));
    decoded.fact("next page", link(header.next));
    decoded.fact("slots", header.slot_count.to_string());
    decoded.fact("free bytes", header.free_count.to_string());
    if header.ghost_count > 0 {
        decoded.fact("ghost records", header.ghost_count.to_string());
    }
}

fn contents(bytes: &[u8], header: &Header, decoded: &mut Decoded) {
    match header.kind {
        PageKind::Pfs => {
            // The byte of a page depends on its place in the interval only; the header may say any number.
            let pages = 0..fixed::PFS_PAGES;
            let allocated =
                pages.filter(|page| pfs_byte(bytes, *page).is_some_and(|byte| byte.is_allocated())).count();
            decoded.fact("allocated pages", format!("{allocated} of {}", fixed::PFS_PAGES));
        }
        PageKind::Iam => match Iam::new(bytes) {
            Ok(iam) => {
                decoded.fact("maps extents from page", iam.start.to_string());
                decoded.fact("extents", iam.extents.extents().count().to_string());
                decoded.fact("single-page allocations", iam.single_pages().count().to_string());
            }
            Err(damage) => decoded.damage.push(words(damage)),
        },
        PageKind::Boot => match Boot::new(bytes) {
            Ok(boot) => {
                decoded.fact("database name", boot.name);
                decoded.fact("internal version", format!("{} ({})", boot.version, product(boot.version)));
            }
            Err(damage) => decoded.damage.push(words(damage)),
        },
        PageKind::FileHeader => {
            if let Ok(file) = FileHeader::new(bytes) {
                decoded.fact("pages of the file", file.page_count.to_string());
            }
        }
        PageKind::Data | PageKind::Index => {
            let slots = 0..header.slot_count.min(SLOTS_MAX);
            let readable = slots.filter(|slot| {
                let offset = formats::sqlserver::slot_offset(bytes, usize::from(*slot)).unwrap_or(0);
                offset > 0 && Record::new(bytes, header, usize::from(*slot), usize::from(offset)).is_ok()
            });
            decoded.fact("records that can be read", readable.count().to_string());
        }
        _ => {}
    }
}

/// A page by its number: `DATABASE:FILE:PAGE` as the server writes it, or `sqlserver:FILE:PAGE`.
pub(crate) fn by_number(words: &[&str], _shape: PageShape) -> Option<Result<Decoded, EngineError>> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    match words {
        // A file of such a name is meant only with a directory: ./5:1:100.
        [database, file, page] if [database, file, page].iter().all(|word| is_number(word)) => {
            Some(numbered(Some(database), file, page))
        }
        ["sqlserver", file, page] => Some(numbered(None, file, page)),
        _ => None,
    }
}

fn numbered(database: Option<&str>, file: &str, page: &str) -> Result<Decoded, EngineError> {
    Ok(place(database.map(number).transpose()?, number(file)?, number(page)?))
}

/// A page of a file.
pub(crate) fn of_file(probe: &Probe, number: u32) -> Result<Decoded, EngineError> {
    if !is_first_page(&probe.start) {
        let path = probe.path.display();
        return Err(EngineError(format!("cannot decode \"{path}\": it is not a SQL Server data file")));
    }
    Ok(page(number, &page_bytes(probe, number, PAGE_BYTES)?, &probe.start))
}

/// Describes any bytes as a page; nothing may panic. For fuzzing.
#[doc(hidden)]
#[must_use]
pub fn exercise(number: u32, other: u32, bytes: &[u8]) -> Vec<Decoded> {
    let _ = is_first_page(bytes);
    let all = [page(number, bytes, bytes), place((other & 1 == 1).then_some(other), other as u16, number)];
    all.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_pages_are_what_they_were_published_as() {
        // EVIDENCE: published waiting tasks on pages 5:1:1520544 and 5:1:1544808; Microsoft Learn, Pages and extents
        assert_eq!(place(Some(5), 1, 1_520_544).title, "PFS page 188 of file 1");
        assert_eq!(place(Some(5), 1, 1_544_808).title, "PFS page 191 of file 1");
        assert_eq!(place(Some(1), 1, 1).title, "PFS page 0 of file 1");
        assert_eq!(place(Some(2), 1, 2).title, "GAM page 0 of file 1");
        assert_eq!(place(Some(2), 1, 3).title, "SGAM page 0 of file 1");
        assert_eq!(place(Some(2), 1, 511_232).title, "GAM page 1 of file 1");
    }

    #[test]
    fn every_fixed_place_has_its_name_and_what_it_describes() {
        let title = |file, page| place(None, file, page).title;
        assert_eq!(title(1, 0), "file header page of file 1");
        assert_eq!(
            (title(1, 6), title(3, 511_239)),
            ("differential map page 0 of file 1".into(), "minimally logged map page 1 of file 3".into())
        );
        assert_eq!(title(1, 9), "boot page of file 1");
        assert!(title(2, 9).contains("data, index"), "only the first file has a boot page");
        let pfs = place(Some(5), 1, 1_520_544);
        let fact =
            |name: &str| pfs.facts.iter().find(|(fact, _)| fact == name).map(|(_, value)| value.as_str());
        assert_eq!(fact("describes"), Some("pages 1520544 to 1528631 of file 1"));
        assert_eq!(fact("offset in the file"), Some("12456296448 bytes (11.60 GiB)"));
        assert!(
            fact("described by")
                .is_some_and(|text| text.starts_with("PFS 1:1520544, GAM 1:1022464, SGAM 1:1022465"))
        );
        assert!(title(1, 511_232 * 1011).contains("as well"), "{}", title(1, 511_232 * 1011));
        let _ = place(None, u16::MAX, u32::MAX);
    }
}
