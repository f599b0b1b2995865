//! The page of a sequence: one tuple, and a magic number in the special space.

use crate::postgres::bytes::{u8_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::heap::TupleHeader;
use crate::postgres::page::{ItemState, Page};

/// What stands in the special space.
// EVIDENCE: src/backend/commands/sequence.c SEQ_MAGIC, sequence_magic
pub const MAGIC: u32 = 0x1717;
/// Length of the tuple: header, `last_value` and `log_cnt` of eight bytes, `is_called`.
// EVIDENCE: src/include/commands/sequence.h FormData_pg_sequence_data. OBSERVED: 14.24, 15.18, 16.15, 17.11, 18.6
const TUPLE_BYTES: usize = 41;
/// Offset of `is_called` in it.
const IS_CALLED_OFFSET: usize = 40;

/// Tests the page of a sequence whose header was found valid.
pub fn check_sequence(page: &Page<'_>, damage: &mut Vec<Damage>) {
    let special = usize::from(page.header().special);
    let magic = u32_at(page.bytes(), special).unwrap_or(0);
    if magic != MAGIC {
        let expected = format!("magic {MAGIC:#06x} of a sequence");
        damage.push(Damage::at(Invariant::Sequence, special, expected, format!("{magic:#06x}")));
    }
    let mut items = page.items();
    let (first, second) = (items.next(), items.next());
    let tuple = first.filter(|item| item.state == ItemState::Normal && second.is_none());
    let Some(tuple) = tuple.and_then(|item| page.item_bytes(item)) else {
        let found = format!("{} line pointers", page.items().count());
        damage.push(Damage::at(Invariant::Sequence, 12, "one tuple", found));
        return;
    };
    if tuple.len() != TUPLE_BYTES {
        let expected = format!("a tuple of {TUPLE_BYTES} bytes");
        damage
            .push(Damage::at(Invariant::Sequence, 24, expected, format!("{} bytes", tuple.len())).of_item(1));
        return;
    }
    // EVIDENCE: sequence.c fill_seq_fork_with_data: xmin is FrozenTransactionId (2), frozen
    if let Some(header) =
        TupleHeader::read(tuple).filter(|header| !header.is_xmin_frozen() && header.xmin != 2)
    {
        let found = format!("xmin {}, infomask {:#06x}", header.xmin, header.infomask);
        damage.push(Damage::at(Invariant::Sequence, 24, "a frozen tuple", found).of_item(1));
    }
    let is_called = u8_at(tuple, IS_CALLED_OFFSET).unwrap_or(0);
    if is_called > 1 {
        let found = format!("{is_called:#04x}");
        damage.push(Damage::at(Invariant::Sequence, 24, "is_called 0 or 1", found).of_item(1));
    }
}
