//! What a check verified, of what there is.

use serde::{Deserialize, Serialize};

/// How many of a kind there are, and how many of them were verified. Merges by addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Share {
    /// How many were verified.
    pub verified_count: u64,
    /// How many there are, as far as the check could count them.
    pub total_count: u64,
}

impl Share {
    /// Whether all were verified.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.verified_count >= self.total_count
    }

    /// How many were not verified.
    #[must_use]
    pub fn missing_count(self) -> u64 {
        self.total_count.saturating_sub(self.verified_count)
    }

    /// Adds so many, verified or not.
    pub fn add(&mut self, count: u64, is_verified: bool) {
        self.total_count += count;
        self.verified_count += if is_verified { count } else { 0 };
    }
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.verified_count += other.verified_count;
        self.total_count += other.total_count;
    }
}

/// What a check verified, of what there is. A share is absent where the level does not verify this kind.
///
/// Verified means: tested against every rule that applies at the level. What was tested and found damaged counts as
/// verified, because the verdict on it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Pages whose header, address and checksum were tested, as far as the format has them (from level page).
    pub pages: Option<Share>,
    /// Pages whose contents and links to other pages were tested (from level structure).
    pub page_contents: Option<Share>,
    /// Tables and indexes of which nothing was left out (from level structure).
    pub objects: Option<Share>,
    /// Rows whose values, and whose entries in all indexes, were tested (level full).
    pub rows: Option<Share>,
    /// Index entries that were compared with their rows (level full).
    pub entries: Option<Share>,
}

impl Coverage {
    /// The shares that the level has, each with its name in texts: `pages`, `page contents`, `objects`, `rows`,
    /// `index entries`.
    pub fn shares(&self) -> impl Iterator<Item = (&'static str, Share)> {
        let named = [
            ("pages", self.pages),
            ("page contents", self.page_contents),
            ("objects", self.objects),
            ("rows", self.rows),
            ("index entries", self.entries),
        ];
        named.into_iter().filter_map(|(name, share)| Some((name, share?)))
    }

    /// Whether all that the level verifies was verified.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.shares().all(|(_, share)| share.is_complete())
    }
}
