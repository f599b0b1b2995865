//! The special space of a page.

use crate::postgres::bytes::{u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::hash::meta::Meta;
use crate::postgres::index::hash::role::{PageRole, flag};
use crate::postgres::page::Page;

/// The special space of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Overflow page: the page before it. First page of a bucket: the last bucket of the index when this one was made or
    /// last split.
    pub previous: u32,
    /// The next page of the bucket; [`crate::postgres::primitive::BLOCK_NONE`] for none.
    pub next: u32,
    /// The bucket.
    pub bucket: u32,
    /// See [`flag`].
    pub flags: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: hash.h HashPageOpaqueData: prevblkno @0, nextblkno @4, bucket @8, flag @12, page id @14
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        Some(Opaque {
            previous: u32_at(special, 0)?,
            next: u32_at(special, 4)?,
            bucket: u32_at(special, 8)?,
            flags: u16_at(special, 12)?,
        })
    }

    /// The flag of the page's kind; 0 for a page that is not in use.
    #[must_use]
    pub fn kind(&self) -> u16 {
        self.flags & flag::KINDS
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Tests a page against its place in the index, as the meta page has it.
    pub fn check(&self, special_offset: usize, place: PageRole, meta: &Meta, damage: &mut Vec<Damage>) {
        let mut broken = |offset: usize, expected: String, found: String| {
            damage.push(Damage::at(Invariant::HashPage, special_offset + offset, expected, found));
        };
        if self.kind() != place.kind() && !(place.may_be_free() && self.kind() == 0) {
            broken(12, place.to_string(), kind_name(self.kind()).to_owned());
            return;
        }
        if let PageRole::Bucket(bucket) = place {
            if self.bucket != bucket {
                broken(8, place.to_string(), format!("the first page of bucket {}", self.bucket));
                return;
            }
            let oldest = meta.split_target(bucket).unwrap_or(bucket);
            if !(oldest..=meta.bucket_max).contains(&self.previous) {
                broken(
                    0,
                    format!(
                        "a bucket that was last split when there were buckets up to one from {oldest} to {}",
                        meta.bucket_max
                    ),
                    format!("up to {}", self.previous),
                );
            }
        }
        if self.kind() == flag::OVERFLOW && self.bucket > meta.bucket_max {
            let expected = format!("a bucket from 0 to {}", meta.bucket_max);
            broken(8, expected, self.bucket.to_string());
        }
    }
}

fn kind_name(kind: u16) -> &'static str {
    match kind {
        0 => "a page that is not in use",
        flag::OVERFLOW => "an overflow page",
        flag::BUCKET => "the first page of a bucket",
        flag::BITMAP => "a bitmap page",
        flag::META => "the metapage",
        _ => "a page of several kinds",
    }
}
