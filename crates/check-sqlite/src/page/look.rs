//! One page by itself.

use formats::sqlite::{BtreePage, Coverage, Damage, Geometry};

/// What one page looks like by itself.
pub(crate) enum Look {
    /// A tree page whose bytes are all accounted for.
    Intact,
    /// A tree page with something wrong.
    Wrong(Damage),
    Zeros,
    /// Overflow, free or map page, or damaged: cannot be told.
    Other,
}

/// Looks at one page. Never panics on any bytes.
pub(crate) fn look(bytes: &[u8], page: u32, geometry: Geometry, coverage: &mut Coverage) -> Look {
    if bytes.iter().all(|byte| *byte == 0) {
        return Look::Zeros;
    }
    let header_offset = if page == 1 { 100 } else { 0 };
    let (view, mut damage) = BtreePage::new(bytes, header_offset, geometry);
    let Some(view) = view else { return Look::Other };
    view.audit(coverage, |_, _, _| {}, |found| damage = damage.or(Some(found)));
    damage.map_or(Look::Intact, Look::Wrong)
}
