//! The shape of a worker's queue.

use crate::backend::{BackendOptions, DEPTH_MAX};
use crate::buffer::BUFFER_BYTES_MAX;

/// Buffers beyond those of the reads under way.
const SPARE_COUNT: usize = 2;

/// The queue of a worker: a slot for each read under way, and where there is more to read some for what is looked at.
pub(super) fn queue_options(depth: usize, buffer_bytes: usize, extent_count: usize) -> BackendOptions {
    let with_spare = (depth + SPARE_COUNT).min(DEPTH_MAX);
    let fits = with_spare.checked_mul(buffer_bytes).is_some_and(|bytes| bytes <= BUFFER_BYTES_MAX / 2);
    let depth = if fits { with_spare } else { depth }.min(extent_count).max(1);
    BackendOptions {
        depth,
        buffer_bytes,
        file_count_max: depth,
        register_files: false,
        poll: false,
        grows: true,
        no_uring_reason: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_spare_buffers_where_there_is_more_to_read_and_room_for_them() {
        let slot_count = |depth, buffer_bytes, extents| queue_options(depth, buffer_bytes, extents).depth;
        assert_eq!(slot_count(8, 1 << 20, 1000), 10);
        assert_eq!(slot_count(8, 1 << 20, 9), 9);
        assert_eq!(slot_count(8, 1 << 20, 3), 3);
        assert_eq!(slot_count(8, 1 << 20, 0), 1);
        assert_eq!(slot_count(DEPTH_MAX, 4096, 5000), DEPTH_MAX);
        assert_eq!(slot_count(4, 1 << 28, 1000), 4);
    }
}
