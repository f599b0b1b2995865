//! One page as it was read, and where it stands.

use formats::sqlserver::{
    HEADER_BYTES, Header, PAGE_BYTES, PageId, PageKind, Record, RecordKind, audit_protection, audit_records,
    restore,
};

use check::structure::tally::PageFigures;

use crate::plan::Unit;

/// What a page of rows or entries shows.
pub(super) struct Seen {
    pub(super) header: Header,
    pub(super) figures: PageFigures,
    pub(super) stub_count: u64,
    pub(super) is_leaf: bool,
}

/// Looks at a page as it was read, and shows its records; `None` when it is damaged or another's.
pub(super) fn see(
    unit: &Unit,
    page: PageId,
    raw: &[u8],
    mut show: impl FnMut(&Header, &Record<'_>),
) -> Option<Seen> {
    let header = Header::new(raw);
    let mut is_sound = header.page == page && unit.is_stated_by(&header);
    audit_protection(raw, &header, |_| is_sound = false);
    let mut restored = raw.to_vec();
    restore(&mut restored);
    let mut figures = PageFigures::new(PAGE_BYTES - HEADER_BYTES, header.free_count.into());
    let mut stub_count = 0;
    let look = |_: usize, record: &Record<'_>| {
        show(&header, record);
        if record.kind.is_ghost() {
            figures.ghost_count += 1;
        } else {
            stub_count += u64::from(record.kind == RecordKind::Stub);
            figures.add_record(record.bytes.len());
        }
    };
    audit_records(&restored, &header, look, |_| is_sound = false);
    let is_leaf = header.kind == PageKind::Data || (header.level == 0 && unit.index_id > 1);
    is_sound.then_some(Seen { header, figures, stub_count, is_leaf })
}

/// A number that grows by one with each page of a file and never does so from one file to the next.
pub(super) fn position(page: PageId) -> u64 {
    u64::from(page.file) << 33 | u64::from(page.page)
}

/// Stretches of neighbouring pages.
pub(super) fn runs_of(pages: impl Iterator<Item = PageId>) -> u64 {
    let mut pages: Vec<u64> = pages.map(position).collect();
    pages.sort_unstable();
    let breaks = pages.windows(2).filter(|pair| matches!(pair, [one, two] if *two != *one + 1)).count();
    breaks as u64 + u64::from(!pages.is_empty())
}
