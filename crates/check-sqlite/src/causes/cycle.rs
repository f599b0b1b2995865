//! Overflow chains that come back to a page of their own.

use formats::sqlite::{BtreePage, u32_at};

use crate::finding::Draft;
use crate::map::chain::OpenChain;
use crate::map::header_offset;
use crate::rules;
use crate::run::context::Context;

/// A chain that comes back to a page of its own; `None` when the page belongs to another payload.
pub(crate) fn leads_back(context: &Context<'_>, chain: &OpenChain) -> Option<Draft> {
    let mut bytes = Vec::new();
    context.reader.read(chain.page, &mut bytes).ok()?;
    let view = BtreePage::new(&bytes, header_offset(chain.page), context.geometry).0?;
    let mut page = view.cell(chain.slot as usize).0.overflow;
    let done = chain.page_count - chain.left;
    for number in 1..=done {
        if page == chain.next {
            let expected = format!("a chain of {} overflow pages, each of them once", chain.page_count);
            let found = format!(
                "page {}, number {done} of the chain, leads back to page {page}, number {number}; the rest of the value is lost",
                chain.from
            );
            let draft = Draft::new(&rules::OVERFLOW, chain.page, expected, found);
            return Some(draft.slot(chain.slot as usize).tree(chain.tree as usize));
        }
        context.reader.read(page, &mut bytes).ok()?;
        page = u32_at(&bytes, 0)?;
    }
    None
}
