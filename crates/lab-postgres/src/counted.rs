//! Waits that the server counts and times itself.

use lab::observe::counted::CountedWait;

/// They go with `track_wal_io_timing` and `track_io_timing`.
pub(super) const COUNTED: [CountedWait; 6] = [
    CountedWait {
        class: "IO",
        name: "WalSync",
        count: "log_flushes",
        moved: "log_flushes",
        seconds: "log_flush_s",
    },
    CountedWait {
        class: "IO",
        name: "WalWrite",
        count: "log_writes",
        moved: "log_writes",
        seconds: "log_write_s",
    },
    // A wait is a call: pages of which one call moves several are no count of waits.
    CountedWait {
        class: "IO",
        name: "DataFileRead",
        count: "data_read_calls",
        moved: "data_reads",
        seconds: "data_read_s",
    },
    CountedWait {
        class: "IO",
        name: "DataFileWrite",
        count: "data_write_calls",
        moved: "data_writes",
        seconds: "data_write_s",
    },
    CountedWait {
        class: "IO",
        name: "DataFileExtend",
        count: "data_extend_calls",
        moved: "data_extends",
        seconds: "data_extend_s",
    },
    CountedWait {
        class: "IO",
        name: "DataFileSync",
        count: "data_flushes",
        moved: "data_flushes",
        seconds: "data_flush_s",
    },
];
