//! An access pattern: one row of the matrix, in the words of fio.

use serde::{Deserialize, Serialize};

use crate::backend::DEPTH_MAX;

/// The largest transfer. Larger ones are cut by the kernel anyway, and say nothing new.
pub const TRANSFER_BYTES_MAX: u64 = 64 << 20;

/// The most jobs of one row.
pub const JOBS_MAX: u32 = 1024;

/// One row of the matrix: an access pattern. fio's names in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The size of a transfer (`bs`), a multiple of 512 bytes.
    pub transfer_bytes: u64,
    /// The share of transfers that read, 0 to 100 (`rwmixread`); the others write.
    pub read_percent: u8,
    /// The share of transfers at a random place, 0 to 100 (`percentage_random`); the others follow the one before.
    pub random_percent: u8,
    /// How many transfers each job has under way (`iodepth`).
    pub outstanding: u32,
    /// How many jobs do this at the same time (`numjobs`), each on a thread and a share of the file of its own.
    pub jobs: u32,
}

impl Pattern {
    /// Reads of one job, at random places or one after the other.
    pub const fn read(transfer_bytes: u64, random_percent: u8, outstanding: u32) -> Self {
        Pattern { transfer_bytes, read_percent: 100, random_percent, outstanding, jobs: 1 }
    }

    /// Writes of one job, at random places or one after the other.
    pub const fn write(transfer_bytes: u64, random_percent: u8, outstanding: u32) -> Self {
        Pattern { transfer_bytes, read_percent: 0, random_percent, outstanding, jobs: 1 }
    }

    /// How many transfers all jobs have under way.
    pub fn outstanding_total(&self) -> u64 {
        u64::from(self.outstanding) * u64::from(self.jobs)
    }

    /// Says whether some transfers write.
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// What makes the pattern impossible; `None` for a possible one.
    pub(super) fn problem(&self) -> Option<&'static str> {
        Some(match self {
            Pattern { transfer_bytes: 0, .. } => "a transfer has no bytes",
            Pattern { transfer_bytes, .. } if !transfer_bytes.is_multiple_of(512) => {
                "the size of a transfer must be a multiple of 512 bytes"
            }
            Pattern { transfer_bytes, .. } if *transfer_bytes > TRANSFER_BYTES_MAX => {
                "a transfer has at most 64 MiB"
            }
            Pattern { read_percent: 101.., .. } => "the share of reads is above 100 %",
            Pattern { random_percent: 101.., .. } => "the share of random places is above 100 %",
            Pattern { outstanding, .. } if !(1..=DEPTH_MAX as u32).contains(outstanding) => {
                "1 to 1024 transfers can be outstanding"
            }
            Pattern { jobs, .. } if !(1..=JOBS_MAX).contains(jobs) => "1 to 1024 jobs are possible",
            _ => return None,
        })
    }
}
