//! Why a TID is left out of the sums.

/// Why a row pointer is left out of the sums, or counted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exception {
    /// No row version is live there: entries may be there or not.
    NotLive = 0,
    /// Live, but its key is not in place: matched by row pointer alone in indexes that keep keys.
    KeyElsewhere = 1,
    /// The same in indexes that keep hash values.
    HashElsewhere = 2,
    /// The same in both.
    Elsewhere = 3,
}

impl Exception {
    /// Bits of an exception in a code.
    pub(crate) const BITS: u32 = 2;
    /// All of them, by number.
    pub(crate) const ALL: [Exception; 4] =
        [Exception::NotLive, Exception::KeyElsewhere, Exception::HashElsewhere, Exception::Elsewhere];

    /// What a live row is whose keys or hash values are not in place; `None` if all are.
    pub(crate) fn of_live(key_elsewhere: bool, hash_elsewhere: bool) -> Option<Exception> {
        match (key_elsewhere, hash_elsewhere) {
            (false, false) => None,
            (true, false) => Some(Exception::KeyElsewhere),
            (false, true) => Some(Exception::HashElsewhere),
            (true, true) => Some(Exception::Elsewhere),
        }
    }

    /// Whether values that are hashed are not in place.
    pub(crate) fn has_hash_elsewhere(self) -> bool {
        matches!(self, Exception::HashElsewhere | Exception::Elsewhere)
    }
}
