//! What could not be read at once, piece by piece.

use std::io;
use std::os::unix::fs::FileExt as _;

use super::{UnderWay, Worker, read};
use crate::input::{INTERRUPTED_MAX, again_if_interrupted, early_end};
use crate::scan::{Content, Extent};

impl Worker<'_> {
    /// Reads an extent again in pieces and shows runs of readable and of unreadable pieces.
    pub(super) fn read_in_pieces(
        &mut self,
        slot: usize,
        under_way: &UnderWay,
        visit: &mut dyn FnMut(Extent<'_>),
    ) -> io::Result<()> {
        let claim = under_way.claim;
        let mut bytes = Vec::with_capacity(claim.length_bytes);
        let mut unreadable: Option<(usize, io::Error)> = None;
        let mut at = 0;
        while at < claim.length_bytes {
            let piece_bytes = self.shared.options.retry_bytes.min(claim.length_bytes - at);
            match self.read_piece(slot, under_way, at, piece_bytes, &mut bytes)? {
                Ok(0) => break,
                Ok(length_bytes) => {
                    if let Some((start, error)) = unreadable.take() {
                        self.unreadable(&claim, start..at, &error, visit);
                    }
                    at += length_bytes;
                }
                Err(error) => {
                    self.readable(under_way, at, &mut bytes, visit);
                    unreadable.get_or_insert((at, error));
                    at += piece_bytes;
                }
            }
        }
        if let Some((start, error)) = unreadable {
            self.unreadable(&claim, start..at, &error, visit);
        }
        self.readable(under_way, at, &mut bytes, visit);
        let missing_bytes = (claim.length_bytes - at) as u64;
        if missing_bytes > 0 {
            self.totals.counts(claim.file_index).missing_bytes += missing_bytes;
            let content = Content::Missing { length_bytes: missing_bytes };
            let offset_bytes = claim.offset_bytes + at as u64;
            visit(Extent { file_index: claim.file_index, offset_bytes, content });
        }
        Ok(())
    }

    /// Reads up to `piece_bytes` from `at` bytes behind the start of the claim and appends them to `bytes`. 0: the
    /// file ends here. The outer error is that of the queue.
    fn read_piece(
        &mut self,
        slot: usize,
        under_way: &UnderWay,
        at: usize,
        piece_bytes: usize,
        bytes: &mut Vec<u8>,
    ) -> io::Result<io::Result<usize>> {
        let (_, before_bytes, _) = under_way.aligned(at, piece_bytes);
        let mut interrupted_count = 0;
        loop {
            let found_bytes = match self.read_once(slot, under_way, at, piece_bytes)? {
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted && interrupted_count < INTERRUPTED_MAX =>
                {
                    interrupted_count += 1;
                    continue;
                }
                Err(error) => return Ok(Err(error)),
                Ok(found_bytes) => found_bytes,
            };
            let end = found_bytes.min(before_bytes + piece_bytes);
            let found = self.backend.buffer(slot).get(before_bytes..end).unwrap_or_default();
            bytes.extend_from_slice(found);
            return match found.len() {
                0 => Ok(self.read_buffered(under_way, at, piece_bytes, bytes)),
                length => Ok(Ok(length)),
            };
        }
    }

    /// The same through the page cache: a direct read that ends before what is wanted of it, or gives nothing although
    /// the file goes on, says nothing yet.
    fn read_buffered(
        &self,
        under_way: &UnderWay,
        at: usize,
        piece_bytes: usize,
        bytes: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let offset_bytes = under_way.claim.offset_bytes + at as u64;
        let file = &under_way.open.file;
        let is_device = under_way.open.is_block_device;
        if is_device || offset_bytes >= file.metadata()?.len() {
            return Ok(0);
        }
        // Not noted as a read of its own: the pieces are noted together.
        let buffered = std::fs::File::open(&under_way.open.path)?;
        let mut piece = vec![0; piece_bytes];
        let count = again_if_interrupted(|| buffered.read_at(&mut piece, offset_bytes))?;
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        let size_bytes = file.metadata()?.len();
        match count {
            0 if offset_bytes < size_bytes => Err(early_end(offset_bytes, size_bytes)),
            count => Ok(count),
        }
    }

    /// One read that contains `piece_bytes` from `at` bytes behind the start of the claim. The outer error is that of
    /// the queue.
    fn read_once(
        &mut self,
        slot: usize,
        under_way: &UnderWay,
        at: usize,
        piece_bytes: usize,
    ) -> io::Result<io::Result<usize>> {
        let (offset_bytes, _, whole_bytes) = under_way.aligned(at, piece_bytes);
        let whole_bytes = whole_bytes.min(self.shared.buffer_bytes);
        self.backend.start(read(slot, offset_bytes, whole_bytes));
        loop {
            // What ends meanwhile in other slots stays in the list for `run`.
            self.backend.wait(&mut self.completions)?;
            let position = self.completions.iter().position(|completion| completion.slot == slot);
            if let Some(position) = position {
                return Ok(self.completions.swap_remove(position).outcome);
            }
        }
    }
}
