//! `global/pg_control`: what the cluster is and where it stopped.

use crate::postgres::bytes::{u8_at, u32_at, u64_at};
use crate::postgres::checksum::crc32c;
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::primitive::{BLOCK_SIZE_DEFAULT, BLOCK_SIZE_MAX, BLOCK_SIZE_MIN, Xid};

/// Versions of the file that this module reads: 1300 (13 to 16), 1700 (17), 1800 (18).
// OBSERVED: pg_control_system() of 14.24, 15.18, 16.15, 17.11, 18.6
pub const VERSIONS: [u32; 3] = [1300, 1700, 1800];

/// How the cluster stopped.
// EVIDENCE: src/include/catalog/pg_control.h DBState
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Being set up.
    StartingUp,
    /// Shut down in order.
    ShutDown,
    /// A standby, shut down cleanly.
    ShutDownInRecovery,
    /// In the middle of shutting down.
    ShuttingDown,
    /// Replaying the log after a crash.
    InCrashRecovery,
    /// Replaying the log as a standby or from an archive.
    InArchiveRecovery,
    /// Running, or stopped without shutting down.
    InProduction,
    /// A value that does not exist.
    Other(u32),
}

impl State {
    fn of(value: u32) -> State {
        match value {
            0 => State::StartingUp,
            1 => State::ShutDown,
            2 => State::ShutDownInRecovery,
            3 => State::ShuttingDown,
            4 => State::InCrashRecovery,
            5 => State::InArchiveRecovery,
            6 => State::InProduction,
            other => State::Other(other),
        }
    }
}

/// The fields of the control file that a checker needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Identifier of the cluster.
    pub system_identifier: u64,
    /// Version of this file.
    pub control_version: u32,
    /// Version of the catalogs.
    pub catalog_version: u32,
    /// How the cluster stopped.
    pub state: State,
    /// Position of the last checkpoint's record.
    pub checkpoint_lsn: u64,
    /// Where replay would start.
    pub redo_lsn: u64,
    /// Time line of the last checkpoint.
    pub timeline: u32,
    /// Next transaction id at the checkpoint: epoch in the upper half.
    pub next_xid: u64,
    /// Next multixact.
    pub next_multi: u32,
    /// Offset of the next multixact's members.
    pub next_multi_offset: u32,
    /// Oldest transaction id that the log of commits still has.
    pub oldest_xid: Xid,
    /// Oldest multixact.
    pub oldest_multi: u32,
    /// Oldest transaction that was not finished when the checkpoint began; 0 where nobody asked.
    pub oldest_active_xid: Xid,
    /// 0 minimal, 1 replica, 2 logical.
    pub wal_level: u32,
    /// A standby must replay at least to here.
    pub min_recovery_lsn: u64,
    /// Where the backup started that is being restored; 0 for none.
    pub backup_start_lsn: u64,
    /// Block size, bytes.
    pub block_bytes: u32,
    /// Blocks per segment file.
    pub segment_blocks: u32,
    /// Bytes of a value that one TOAST row holds.
    pub toast_chunk_bytes: u32,
    /// Size of a page of the log, bytes.
    pub log_page_bytes: u32,
    /// Size of a segment file of the log, bytes.
    pub log_segment_bytes: u32,
    /// 0 when data checksums are off.
    pub checksum_version: u32,
}

impl Control {
    /// Reads the file. What stands there comes back even if it is damaged; `None` only if it is too short.
    ///
    /// Block and segment sizes that cannot be are replaced by the defaults, and reported.
    // EVIDENCE: src/include/catalog/pg_control.h ControlFileData, CheckPoint; x86-64 layout. OBSERVED: 14.24,
    // 15.18, 16.15, 17.11, 18.6 against pg_control_checkpoint(), pg_control_init(); the CRC holds in all
    #[must_use]
    pub fn read(bytes: &[u8], damage: &mut Vec<Damage>) -> Option<Control> {
        let word = |offset| u32_at(bytes, offset);
        let long = |offset| u64_at(bytes, offset);
        let control_version = word(8)?;
        let mut control = Control {
            system_identifier: long(0)?,
            control_version,
            catalog_version: word(12)?,
            state: State::of(word(16)?),
            checkpoint_lsn: long(32)?,
            redo_lsn: long(40)?,
            timeline: word(48)?,
            next_xid: long(64)?,
            next_multi: word(76)?,
            next_multi_offset: word(80)?,
            oldest_xid: word(84)?,
            oldest_multi: word(92)?,
            oldest_active_xid: word(120)?,
            min_recovery_lsn: long(136)?,
            backup_start_lsn: long(152)?,
            wal_level: word(172)?,
            block_bytes: word(216)?,
            segment_blocks: word(220)?,
            log_page_bytes: word(224)?,
            log_segment_bytes: word(228)?,
            toast_chunk_bytes: word(240)?,
            checksum_version: word(252)?,
        };
        u8_at(bytes, 291)?;
        let mut broken = |offset, expected: String, found: String| {
            damage.push(Damage::at(Invariant::ControlFile, offset, expected, found))
        };
        if !VERSIONS.contains(&control_version) {
            broken(8, "version 1300, 1700 or 1800 (PostgreSQL 14 to 18)".into(), control_version.to_string());
        }
        // 18 added a byte in the middle (default_char_signedness), which moves the sum by four.
        let crc_offset = if control_version >= 1800 { 292 } else { 288 };
        let stored = word(crc_offset)?;
        let computed = crc32c(bytes.get(..crc_offset)?);
        if stored != computed {
            broken(crc_offset, format!("CRC-32C {computed:#010x}"), format!("{stored:#010x}"));
        }
        let block = control.block_bytes as usize;
        if !(BLOCK_SIZE_MIN..=BLOCK_SIZE_MAX).contains(&block) || !block.is_power_of_two() {
            broken(216, "a power of two from 1024 to 32768".into(), block.to_string());
            control.block_bytes = BLOCK_SIZE_DEFAULT as u32;
        }
        if control.segment_blocks == 0 {
            broken(220, "at least one block per segment".into(), "0".into());
            control.segment_blocks = 131_072;
        }
        if control.toast_chunk_bytes < control.block_bytes / 64
            || control.toast_chunk_bytes > control.block_bytes
        {
            broken(
                240,
                "a TOAST chunk between a 64th of a block and a block".into(),
                control.toast_chunk_bytes.to_string(),
            );
            control.toast_chunk_bytes = control.block_bytes / 4 - 52;
        }
        Some(control)
    }
}
