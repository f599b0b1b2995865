//! Pages of InnoDB.

use formats::innodb::{FixedPage, Header, PAGE_NONE, fixed_page, interval_of, kind_name};

use results::EngineId;

use check::decode::{Decoded, offset_text, page_bytes};
use check::engine::number;
use check::engine::{EngineError, PageShape, Probe};

/// What is due at a page number of a tablespace; `is_system`: tablespace 0.
#[must_use]
pub fn place(page: u32, page_bytes: u32, is_system: bool) -> Decoded {
    let fixed = fixed_page(page, page_bytes, is_system);
    let title = match fixed {
        Some(fixed) => format!("page {page}: {}", fixed.name()),
        None => format!("page {page}: index page, BLOB page, or free"),
    };
    let mut decoded = Decoded::new(EngineId::Innodb, title);
    decoded.fact("offset in the tablespace", offset_text(page.into(), page_bytes.into()));
    let interval = interval_of(page, page_bytes);
    let (first, last) = (interval.start, interval.end - 1);
    let maps = [FixedPage::SpaceHeader, FixedPage::ExtentDescriptors, FixedPage::InsertBufferMap];
    if fixed.is_some_and(|fixed| maps.contains(&fixed)) {
        decoded.fact("describes", format!("pages {first} to {last}"));
    }
    decoded.fact("described by", format!("extent descriptors {first}, insert-buffer map {}", first + 1));
    decoded
}

/// What a page of a tablespace holds.
pub(super) fn page(number: u32, bytes: &[u8]) -> Decoded {
    let page_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let Some(header) = Header::new(bytes) else { return place(number, page_bytes, false) };
    let mut decoded = place(number, page_bytes, header.space == 0);
    let is_blank = bytes.iter().all(|byte| *byte == 0);
    if fixed_page(number, page_bytes, header.space == 0).is_none() {
        let what = if is_blank { "all zeros, never used" } else { kind_name(header.kind) };
        decoded.title = format!("page {number}: {what}");
    }
    if is_blank {
        return decoded;
    }
    if header.page != number {
        decoded.damage.push(format!("its header says that it is page {}", header.page));
    }
    let link = |page: u32| if page == PAGE_NONE { "none".to_owned() } else { page.to_string() };
    decoded.fact("kind", format!("{} ({})", kind_name(header.kind), header.kind));
    decoded.fact("tablespace", header.space.to_string());
    decoded.fact("LSN", header.lsn.to_string());
    if let Some(index) = header.index {
        decoded.fact("index", index.index_id.to_string());
        decoded.fact("level", index.level.to_string());
        decoded.fact("records", index.record_count.to_string());
        decoded.fact("previous page", link(header.previous));
        decoded.fact("next page", link(header.next));
    }
    decoded
}

/// Page size where no file and no option tells.
// EVIDENCE: innodb_page_size
const PAGE_BYTES: u32 = 16384;

/// A page by its number: `innodb:PAGE`, or `innodb:system:PAGE` in the system tablespace.
pub(crate) fn by_number(words: &[&str], shape: PageShape) -> Option<Result<Decoded, EngineError>> {
    let (page, is_system) = match words {
        ["innodb", page] => (page, false),
        ["innodb", "system", page] => (page, true),
        _ => return None,
    };
    let page_bytes = shape.page_bytes.unwrap_or(PAGE_BYTES);
    if !page_bytes.is_power_of_two() || !(1024..=65536).contains(&page_bytes) {
        let reason = "is not an InnoDB page size: use a power of two from 1024 to 65536";
        return Some(Err(EngineError(format!("{page_bytes} {reason}"))));
    }
    Some(number(page).map(|page| place(page, page_bytes, is_system)))
}

/// A page of a file.
pub(crate) fn of_file(probe: &Probe, number: u32) -> Result<Decoded, EngineError> {
    let Some(size) = formats::innodb::page_bytes(&probe.start) else {
        let path = probe.path.display();
        return Err(EngineError(format!("cannot decode \"{path}\": it is not an InnoDB tablespace")));
    };
    Ok(page(number, &page_bytes(probe, number, size as usize)?))
}

/// Describes any bytes as a page; nothing may panic. For fuzzing.
#[doc(hidden)]
#[must_use]
pub fn exercise(number: u32, other: u32, bytes: &[u8]) -> Vec<Decoded> {
    let _ = formats::innodb::is_first_page(bytes);
    let sizes = [other, bytes.len() as u32, 16_384];
    let places = sizes.map(|size| place(number, size, other & 1 == 1));
    let all = places.into_iter().chain([page(number, bytes)]);
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_named_with_what_they_describe() {
        let map = place(32_769, 16384, false);
        assert_eq!(map.title, "page 32769: insert-buffer map (IBUF_BITMAP)");
        assert!(map.facts.contains(&("describes".to_owned(), "pages 32768 to 49151".to_owned())), "{map:?}");
        assert_eq!(place(16_384, 16384, false).title, "page 16384: extent descriptors (XDES)");
        assert_eq!(place(2, 16384, false).title, "page 2: inodes (INODE)");
        let _ = place(u32::MAX, 1, true);
    }

    #[test]
    fn bytes_of_any_length_are_described() {
        for length in [0, 37, 38, 100, 16384] {
            for byte in [0u8, 0xff] {
                page(3, &vec![byte; length]);
                assert!(!formats::innodb::is_first_page(&vec![byte; length]));
            }
        }
    }
}
