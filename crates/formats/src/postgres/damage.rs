//! What cannot be true: a broken invariant of the format, with its place.

/// An invariant of the format. The checker's table of rules has one row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// The checksum in the header is that of the bytes and the block number.
    PageChecksum,
    /// Header fields are ordered: header <= lower <= upper <= special <= size.
    PageBounds,
    /// Size and layout version in the header are those of the cluster.
    PageVersion,
    /// Only flag bits that the format defines are set.
    PageFlags,
    /// The space at the end of the page has the size and contents of its access method.
    PageSpecial,
    /// A page that was never used is zero throughout.
    PageNewNotZero,
    /// A line pointer stays inside the tuple space and on an eight byte boundary.
    ItemBounds,
    /// No two line pointers share bytes.
    ItemOverlap,
    /// A redirect names a used, plain line pointer of the same page.
    ItemRedirect,
    /// The tuple header fits the tuple: length, number of columns, null bitmap.
    TupleHeader,
    /// Each column lies inside the tuple, and its length is possible.
    TupleAttribute,
    /// A compressed value unpacks to its recorded size.
    ValueCompression,
    /// A pointer into TOAST is consistent in itself.
    ToastPointer,
    /// The first page of a B-tree says so, with a version that exists.
    BtreeMeta,
    /// Level, links and flags of a B-tree page fit each other.
    BtreeLinks,
    /// A B-tree tuple is of the kind that its page calls for, and fits.
    BtreeTuple,
    /// The TIDs of a posting list ascend.
    BtreePosting,
    /// A hash, `GiST` or SP-GiST page bears the mark of its access method.
    IndexPage,
    /// The first page of a BRIN index has its magic number and possible sizes.
    BrinMeta,
    /// A BRIN page is of a kind that can be in its place.
    BrinPage,
    /// A BRIN tuple's header fits the tuple and the ranges.
    BrinTuple,
    /// The first page of a GIN index describes it.
    GinMeta,
    /// Flags, links and contents of a GIN page fit each other.
    GinPage,
    /// A tuple of a GIN page is of the kind that its page calls for.
    GinEntry,
    /// The row pointers of a GIN key ascend and stay in their bounds.
    GinPosting,
    /// The first page of a hash index describes it: masks, places of buckets and overflow pages.
    HashMeta,
    /// A page of a hash index is of the kind that its place calls for, and of the bucket that stands there.
    HashPage,
    /// Flags and right link of a `GiST` page fit each other.
    GistLinks,
    /// A `GiST` tuple fits its line pointer, and a downlink names another page.
    GistTuple,
    /// The fixed pages of an SP-GiST index are what they must be, and a page counts its stand-ins rightly.
    SpGistPage,
    /// An SP-GiST tuple is of a kind that its page may have, and its parts fill it.
    SpGistTuple,
    /// Leaf tuples of an SP-GiST page form chains that end.
    SpGistChain,
    /// The nodes of a page of the free space map fit each other, and describe pages that can be.
    FreeSpaceMap,
    /// The page of a sequence has its magic number and one tuple.
    Sequence,
    /// A map page is in its format.
    MapPage,
    /// The control file has its checksum and possible values.
    ControlFile,
    /// A map of file numbers has its magic number and checksum.
    RelationMap,
}

/// A broken invariant, located.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What is required.
    pub invariant: Invariant,
    /// Offset in the bytes that were handed in.
    pub offset_bytes: usize,
    /// Number of the line pointer, from 1, where one is concerned.
    pub item: Option<u16>,
    /// What the format requires here, in words.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl Damage {
    /// Makes a damage that concerns no line pointer.
    #[must_use]
    pub fn at(
        invariant: Invariant,
        offset_bytes: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Damage {
        Damage { invariant, offset_bytes, item: None, expected: expected.into(), found: found.into() }
    }

    /// The same damage, with the line pointer it concerns.
    #[must_use]
    pub fn of_item(mut self, item: u16) -> Damage {
        self.item = Some(item);
        self
    }
}
