//! Pages of PostgreSQL cut down to 1 KiB, a size that the server can be built with: a fuzzer changes all of them in the time
//! that it takes for one page of 8 KiB.

/// The size, bytes.
const PAGE_BYTES: usize = 1024;
/// Length of the page header, and of a line pointer.
const HEADER_BYTES: usize = 24;
const ITEM_BYTES: usize = 4;
/// Offset of the byte that selects what the target reads: the low byte of the checksum.
const CHOICE_OFFSET: usize = 8;
/// What the target can read.
const CHOICES: u8 = 8;

/// A page for each kind of contents that it may be read as.
pub(crate) fn choices(page: &[u8]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    (0..CHOICES).map(move |choice| {
        let mut page = page.to_vec();
        page.iter_mut().skip(CHOICE_OFFSET).take(1).for_each(|byte| *byte = choice);
        (choice, page)
    })
}

/// A page with the first of its tuples that fit, and its special space; as it is when it has no line pointers.
pub(crate) fn small_page(page: &[u8]) -> Vec<u8> {
    let half = |offset: usize| usize::from(u16::from_le_bytes([page[offset], page[offset + 1]]));
    if page.len() <= PAGE_BYTES {
        return page.to_vec();
    }
    let (lower, special) = (half(12), half(16));
    let tail = page.get(special..).unwrap_or_default();
    if lower <= HEADER_BYTES || lower > special || tail.len() > PAGE_BYTES / 4 {
        return page[..PAGE_BYTES].to_vec();
    }
    let mut small = vec![0; PAGE_BYTES];
    let special_at = PAGE_BYTES - tail.len();
    small[..HEADER_BYTES].copy_from_slice(&page[..HEADER_BYTES]);
    small[special_at..].copy_from_slice(tail);
    let (mut at, mut upper) = (HEADER_BYTES, special_at);
    for item in page[HEADER_BYTES..lower].as_chunks::<ITEM_BYTES>().0 {
        let raw = u32::from_le_bytes(*item);
        let (start, length) = ((raw & 0x7fff) as usize, (raw >> 17) as usize);
        let tuple = page.get(start..start + length).unwrap_or_default();
        let Some(place) =
            upper.checked_sub(length.next_multiple_of(8)).filter(|place| *place >= at + ITEM_BYTES)
        else {
            break;
        };
        if length > 0 {
            small[place..place + tuple.len()].copy_from_slice(tuple);
            upper = place;
        }
        let moved = if length > 0 { (raw & !0x7fff) | place as u32 } else { raw };
        small[at..at + ITEM_BYTES].copy_from_slice(&moved.to_le_bytes());
        at += ITEM_BYTES;
    }
    let version = half(18) & 0xff;
    for (offset, value) in [(12, at), (14, upper), (16, special_at), (18, PAGE_BYTES | version)] {
        small[offset..offset + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }
    small
}
