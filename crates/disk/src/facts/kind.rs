//! What kind of thing holds the bytes of a directory.

use serde::{Deserialize, Serialize};

/// The name under which everything that keeps its bytes in memory stands in
/// [`super::StorageFacts::physical_devices`].
pub const MEMORY: &str = "memory";

/// What kind of thing holds the bytes of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StorageKind {
    /// A file system on a block device.
    Block,
    /// A file system that keeps its files in memory (tmpfs, ramfs). A flush does nothing there.
    Memory,
    /// An overlay: what is written goes to the upper directory, and the block devices listed are those behind it.
    Overlay {
        /// The upper directory as the mount table names it; absent for an overlay that cannot be written. In a
        /// container the path belongs to the host, and then no block device can be found.
        upper_directory: Option<String>,
    },
    /// A file system of another machine.
    Network {
        /// The mounted source, such as `server:/export`.
        source: String,
    },
    /// Anything else without a block device that can be named (ZFS, FUSE, or no mount table to read).
    Other {
        /// Why no block device stands here, as a clause.
        reason: String,
    },
}
