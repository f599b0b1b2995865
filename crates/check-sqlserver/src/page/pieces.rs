//! Large values: the facts that their records state, and those of the rows that point to them.

use check::matching::side::Side;
use formats::sqlserver::{LobKind, LobLink, LobRecord, Record, RecordId};

use crate::finding::Draft;
use crate::matching::facts::{FactKind, length_bytes, lob_bytes};
use crate::page::inside::Place;
use crate::run::worker::{Worker, of_damage};

impl Worker<'_> {
    /// Records of large values: each is there, and names others.
    pub(crate) fn state_pieces(
        &mut self,
        place: &Place<'_>,
        records: &[(usize, Record<'_>)],
        drafts: &mut Vec<Draft>,
    ) {
        let group = (FactKind::Lob, place.unit.rowset);
        for (slot, record) in records {
            let piece = match LobRecord::new(record.bytes) {
                Ok(piece) => piece,
                Err(damage) => {
                    drafts.push(of_damage(place.page, damage.at_slot(*slot)));
                    continue;
                }
            };
            let own = place.record(*slot);
            self.facts.state(group, Side::Found, &lob_bytes(piece.value, own), own, own);
            if piece.kind == LobKind::Data && !record.has_version_mark() {
                let lengths = (FactKind::LobLength, group.1);
                self.facts.state(lengths, Side::Found, &length_bytes(own, piece.data_bytes), own, own);
            }
            for link in piece.links() {
                self.state_lob_link(group.1, &link, own);
            }
        }
    }

    pub(crate) fn state_lob_link(&mut self, rowset: u32, link: &LobLink, own: RecordId) {
        let bytes = lob_bytes(link.value, link.record);
        self.facts.state((FactKind::Lob, rowset), Side::Expected, &bytes, own, link.record);
        if let Some(length) = link.piece_bytes {
            let bytes = length_bytes(link.record, length);
            self.facts.state((FactKind::LobLength, rowset), Side::Expected, &bytes, own, link.record);
        }
    }
}
