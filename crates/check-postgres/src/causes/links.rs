//! Links between blocks of an index that lost a block: one finding for the block.

use std::collections::BTreeMap;

use check::findings::Findings;
use formats::postgres::Tid;
use formats::postgres::page::Page;
use results::object::Affected;
use results::wording::counted;

use crate::finding::ZEROS;
use crate::matching::exact::Exact;
use crate::matching::links::{Contradictions, Link};

impl Exact<'_> {
    /// Reports blocks of zeros that others of the index lead to, and takes out the links that follow from them or from a
    /// block that was found to be damaged: links to it, and those that only it could have had.
    pub(crate) fn fold_links(&self, index: u32, told: &mut Contradictions, findings: &mut Findings) {
        let Some(relation) = self.first.plan.relation(index) else { return };
        let broken: Vec<u32> = {
            let named = self.broken.iter().filter(|(number, _)| *number == index);
            named.map(|(_, block)| *block).collect()
        };
        let mut zeros: BTreeMap<u32, u64> = BTreeMap::new();
        for (_, to) in told.keys().filter(|(_, to)| !broken.contains(to)) {
            if zeros.contains_key(to) || self.is_zero(index, *to) {
                *zeros.entry(*to).or_default() += 1;
            }
        }
        if zeros.is_empty() && broken.is_empty() {
            return;
        }
        let mut of_zeros: Contradictions = BTreeMap::new();
        let mut follow_count = 0;
        told.retain(|(kind, to), (is_expected, link)| {
            if zeros.contains_key(to) {
                of_zeros.insert((*kind, *to), (*is_expected, *link));
                follow_count += 1;
                return false;
            }
            // A block without a link from above had it from the one that is lost.
            let is_orphan = !*is_expected && link.from == link.to;
            let follows = broken.contains(to) || broken.contains(&link.from) || is_orphan;
            follow_count += u64::from(follows);
            !follows
        });
        // A link from above says best what the block was.
        let of_zeros: BTreeMap<u32, (bool, Link)> =
            of_zeros.into_iter().map(|((_, to), told)| (to, told)).collect();
        follow_count -= of_zeros.len() as u64;
        let mut text = match follow_count {
            0 => String::new(),
            count => format!("; {} to or from lost blocks unmatched", counted(count, "link")),
        };
        for (to, (is_expected, link)) in of_zeros {
            let (rule, expected, _) = link.contradiction(is_expected);
            let found = format!("{ZEROS}{}", std::mem::take(&mut text));
            let tid = Tid { block: to, item: 0 };
            self.note(index, to, true);
            findings.push(self.finding(rule, index, tid, expected, found));
        }
        if !text.is_empty() {
            findings.attribute_to_cause(&relation.name, Affected::default(), &text);
        }
    }

    /// Whether a block of an index is zero throughout.
    pub(crate) fn is_zero(&self, index: u32, block: u32) -> bool {
        self.index_block(index, block).is_some_and(|block| Page::new(&block).is_zero())
    }

    fn index_block(&self, index: u32, block: u32) -> Option<Vec<u8>> {
        let files = self.files(true, index).chain(self.files(false, index));
        let file = files.filter(|file| file.first_block <= block).max_by_key(|file| file.first_block)?;
        let mut bytes = vec![0; self.first.cluster.block_bytes];
        let offset = u64::from(block - file.first_block) * bytes.len() as u64;
        file.part.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}
