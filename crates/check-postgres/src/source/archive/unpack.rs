//! Compressed tar files, decompressed to a temporary file without a name.

use std::fs::File;
use std::io::{self, Read};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use disk::space::require_free;

use crate::source::archive::limits::Limits;

/// Decompressed bytes between two looks at how much there is.
const STEP_BYTES: usize = 1 << 20;
/// Bytes that are written between two looks at the free space.
const SPACE_STEP_BYTES: u64 = 64 << 20;
/// Space of the temporary file system that is left to others.
const SPACE_LEFT_BYTES: u64 = 256 << 20;
/// Zeros of this length are a hole in the temporary file.
const HOLE_BYTES: usize = 4096;

/// What came out of a compressed file.
pub(super) struct Unpacked {
    pub(super) file: File,
    pub(super) bytes: u64,
    /// Why it could not be decompressed to its end.
    pub(super) cut: Option<String>,
}

type Input = BufReader<disk::input::File>;

/// A stream of one of the formats that `pg_basebackup --compress` writes.
enum Stream {
    Gzip(Box<flate2::bufread::MultiGzDecoder<Input>>),
    Lz4(Box<lz4_flex::frame::FrameDecoder<Input>>),
    Zstandard(Box<ruzstd::decoding::StreamingDecoder<Input, ruzstd::decoding::FrameDecoder>>),
}

impl Stream {
    /// The decoder for what the input begins with; gives it back where it is not compressed.
    // EVIDENCE: RFC 1952 2.3.1; LZ4 frame format 1.6.4; RFC 8878 3.1.1
    fn new(mut input: Input) -> io::Result<Result<Stream, Input>> {
        Ok(match input.fill_buf()? {
            [0x1F, 0x8B, ..] => Ok(Stream::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(input)))),
            [0x04, 0x22, 0x4D, 0x18, ..] => {
                Ok(Stream::Lz4(Box::new(lz4_flex::frame::FrameDecoder::new(input))))
            }
            // The window of a frame is memory: the decoder refuses one beyond 100 MiB.
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Ok(Stream::Zstandard(Box::new(
                ruzstd::decoding::StreamingDecoder::new(input).map_err(io::Error::other)?,
            ))),
            _ => Err(input),
        })
    }

    fn read_frame(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Gzip(stream) => stream.read(buffer),
            Stream::Lz4(stream) => stream.read(buffer),
            Stream::Zstandard(stream) => stream.read(buffer),
        }
    }

    /// The stream of the frame that follows, if any does: files of several frames are put together by tools that
    /// compress in parallel.
    fn following(self) -> io::Result<Option<Stream>> {
        let mut input = match self {
            // Goes on to the next member by itself.
            Stream::Gzip(_) => return Ok(None),
            Stream::Lz4(stream) => stream.into_inner(),
            Stream::Zstandard(stream) => stream.into_inner(),
        };
        if input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        match Stream::new(input)? {
            Ok(stream) => Ok(Some(stream)),
            Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "bytes after its end are not a frame")),
        }
    }
}

/// Frames one after the other.
struct Frames(Option<Stream>);

impl Frames {
    /// Fills a buffer; 0 at the end of the last frame.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(stream) = &mut self.0 {
            match stream.read_frame(buffer)? {
                0 => self.0 = self.0.take().map(Stream::following).transpose()?.flatten(),
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

/// Decompresses a file; `None` for one that is not compressed.
///
/// I/O: writes as much as comes out, long runs of zeros as holes, to a temporary file; leaves 256 MiB of its file system.
pub(super) fn unpack(path: &Path, limits: &Limits) -> io::Result<Option<Unpacked>> {
    let input = disk::input::File::open(path)?;
    let Ok(stream) = Stream::new(BufReader::with_capacity(STEP_BYTES, input))? else { return Ok(None) };
    let mut frames = Frames(Some(stream));
    let mut unpacked = Unpacked { file: tempfile::tempfile()?, bytes: 0, cut: None };
    let mut buffer = vec![0; STEP_BYTES];
    let mut unproven_bytes = 0;
    loop {
        limits.stop_if_asked()?;
        match frames.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => unproven_bytes += unpacked.write(buffer.get(..count).unwrap_or_default())?,
            // What was decompressed so far is worth a look.
            Err(error) if unpacked.bytes > 0 => {
                unpacked.cut = Some(format!("cannot be decompressed to its end: {error}"));
                break;
            }
            Err(error) => return Err(error),
        }
        if unproven_bytes >= SPACE_STEP_BYTES {
            unproven_bytes = 0;
            require_free(&std::env::temp_dir(), SPACE_LEFT_BYTES).map_err(|error| {
                let what = format!(
                    "{} bytes are decompressed, and {error}\nhint: set TMPDIR to a directory with more space",
                    unpacked.bytes
                );
                io::Error::new(io::ErrorKind::StorageFull, what)
            })?;
        }
    }
    unpacked.file.set_len(unpacked.bytes)?;
    Ok(Some(unpacked))
}

impl Unpacked {
    /// Appends bytes, zeros as holes; how many were written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let is_hole = |piece: &[u8]| piece.iter().all(|byte| *byte == 0);
        let mut written = 0;
        let mut rest = bytes;
        while !rest.is_empty() {
            let holes = rest.chunks(HOLE_BYTES).take_while(|piece| is_hole(piece)).map(<[u8]>::len).sum();
            let (zeros, behind) = rest.split_at(holes);
            self.file.seek(SeekFrom::Current(zeros.len() as i64))?;
            let length = behind.chunks(HOLE_BYTES).take_while(|piece| !is_hole(piece)).map(<[u8]>::len).sum();
            let (data, behind) = behind.split_at(length);
            self.file.write_all(data)?;
            written += data.len() as u64;
            rest = behind;
        }
        self.bytes += bytes.len() as u64;
        Ok(written)
    }
}
