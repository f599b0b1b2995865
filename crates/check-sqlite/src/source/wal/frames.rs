//! The frames of a WAL whose header is right.

use std::collections::BTreeMap;
use std::io::{self, Read};

use formats::sqlite::{FRAME_HEADER_SIZE_BYTES, FrameHeader, WAL_HEADER_SIZE_BYTES, WalHeader};

use crate::source::reader::Brake;
use crate::source::wal::facts::{Break, FramesRead, LogFacts, fill};

/// How the frames of a WAL are read.
pub(super) struct Frames {
    pub(super) frame_bytes: usize,
    pub(super) header: WalHeader,
    /// Frames behind these do not count: those of the WAL when the locks were taken, or those that are known to be
    /// committed. A writer goes on appending, faster than it is read perhaps.
    pub(super) frame_count_max: u64,
}

impl Frames {
    pub(super) fn read(&self, reader: &mut impl Read, brake: &Brake) -> io::Result<FramesRead> {
        let mut offsets = BTreeMap::new();
        let mut since_commit = Vec::new();
        let mut sum = Some(self.header.sum);
        let mut facts = LogFacts { committed_count: 0, break_at: None, salt: self.header.salt };
        let mut page_count = None;
        let mut broken: Option<Break> = None;
        let mut frame = vec![0; self.frame_bytes];
        let mut offset = WAL_HEADER_SIZE_BYTES as u64;
        let total = self.frame_count_max.saturating_mul(self.frame_bytes as u64);
        for index in 0..self.frame_count_max {
            brake.go_on(offset - WAL_HEADER_SIZE_BYTES as u64, total)?;
            brake.wait(self.frame_bytes);
            if !fill(reader, &mut frame)? {
                break;
            }
            let head = FrameHeader::new(&frame);
            match sum.and_then(|sum| head.continues(&self.header, sum, &frame)) {
                Some(after) => {
                    sum = Some(after);
                    since_commit.push((head.page, offset + FRAME_HEADER_SIZE_BYTES as u64));
                    if head.page_count_after_commit > 0 {
                        offsets.extend(since_commit.drain(..));
                        page_count = Some(head.page_count_after_commit);
                        facts.committed_count = index + 1;
                    }
                }
                None => self.behind(sum.take(), index, &head, &frame, &mut broken),
            }
            offset += self.frame_bytes as u64;
        }
        facts.break_at = broken.filter(|found| found.commit_count > 0);
        Ok(FramesRead { facts, page_count, offsets })
    }

    /// Counts a frame at or behind the first one that does not continue the WAL. `sum` is there for the first one.
    fn behind(
        &self,
        sum: Option<formats::sqlite::WalSum>,
        index: u64,
        head: &FrameHeader,
        frame: &[u8],
        broken: &mut Option<Break>,
    ) {
        if let Some(sum) = sum {
            let page = frame.get(FRAME_HEADER_SIZE_BYTES..).unwrap_or_default();
            let expected = sum.after(frame.get(..8).unwrap_or_default()).after(page);
            *broken = Some(Break {
                frame: index,
                expected_sum: expected.halves(),
                found_sum: head.sum,
                frame_count: 0,
                commit_count: 0,
            });
        }
        let is_same_generation = head.salt == self.header.salt && head.page != 0;
        if let Some(found) = broken.as_mut().filter(|_| is_same_generation) {
            found.frame_count += 1;
            found.commit_count += u64::from(head.page_count_after_commit > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use formats::sqlite::WalSum;

    use super::*;

    /// A WAL to which a writer appends faster than it is read; asks for a stop after so many bytes.
    struct Endless {
        left: usize,
        stop: Arc<AtomicBool>,
    }

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(1);
            self.left = self.left.saturating_sub(into.len());
            self.stop.store(self.left == 0, Ordering::Relaxed);
            Ok(into.len())
        }
    }

    fn read(frame_count_max: u64, left: usize) -> io::Result<FramesRead> {
        let stop = Arc::new(AtomicBool::new(false));
        let sum = WalSum::new(false, (0, 0));
        let header = WalHeader { page_size_bytes: 512, checkpoint_sequence: 0, salt: (1, 1), sum };
        let frames = Frames { frame_bytes: FRAME_HEADER_SIZE_BYTES + 512, header, frame_count_max };
        let brake = Brake::new(None, Some(stop.clone()));
        frames.read(&mut Endless { left, stop }, &brake)
    }

    #[test]
    fn a_wal_that_grows_while_it_is_read_is_read_up_to_its_length_at_the_start() {
        assert!(read(100, usize::MAX).is_ok());
    }

    #[test]
    fn a_stop_ends_the_reading_of_a_wal_at_the_next_frame() {
        let error = read(u64::MAX, 10 * 536).err().unwrap();
        assert!(error.to_string().starts_with("stopped after 5360 of "), "{error}");
    }
}
