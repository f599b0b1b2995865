//! What one sample asks of the server, view by view.

use super::super::counters::relation_pages;

/// What is asked of one view, as one row of named numbers.
pub(super) struct Group {
    /// Alias in the statement.
    pub(super) alias: &'static str,
    /// What the user does not see when it is refused.
    pub(super) subject: &'static str,
    /// Oldest and newest `server_version_num / 10000`.
    pub(super) majors: std::ops::RangeInclusive<u32>,
    /// Name of each number and its expression.
    pub(super) columns: &'static [(&'static str, &'static str)],
    /// Rest of the query.
    pub(super) from: &'static str,
}

/// A time of the log in milliseconds; NULL while the server does not take it: it stays 0 then.
macro_rules! wal_ms {
    ($milliseconds:literal) => {
        concat!("CASE WHEN current_setting('track_wal_io_timing')::bool THEN ", $milliseconds, " END")
    };
}

const ALL: std::ops::RangeInclusive<u32> = 0..=u32::MAX;

/// Everything that is asked for. The order is that of the statement.
pub(super) const GROUPS: [Group; 17] = [
    Group {
        alias: "position",
        subject: "log position",
        majors: ALL,
        columns: &[("log_position", "pg_current_wal_insert_lsn() - '0/0'")],
        from: "",
    },
    Group {
        alias: "ids",
        subject: "transaction numbers",
        majors: ALL,
        columns: &[("write_transactions", "pg_snapshot_xmax(pg_current_snapshot())::text")],
        from: "",
    },
    Group {
        alias: "wal",
        subject: "pg_stat_wal",
        majors: 14..=u32::MAX,
        columns: &[("log_full_pages", "wal_fpi"), ("log_buffers_full", "wal_buffers_full")],
        from: "FROM pg_stat_wal",
    },
    Group {
        alias: "wal_sync",
        subject: "pg_stat_wal.wal_sync",
        majors: 14..=17,
        columns: &[
            ("log_flushes", "wal_sync"),
            ("log_flush_ms", wal_ms!("wal_sync_time")),
            ("log_writes", "wal_write"),
            ("log_write_ms", wal_ms!("wal_write_time")),
        ],
        from: "FROM pg_stat_wal",
    },
    Group {
        alias: "wal_io",
        subject: "pg_stat_io of the log",
        majors: 18..=u32::MAX,
        columns: &[
            ("log_flushes", "sum(fsyncs)"),
            ("log_flush_ms", wal_ms!("sum(fsync_time)")),
            ("log_writes", "sum(writes)"),
            ("log_write_ms", wal_ms!("sum(write_time)")),
        ],
        from: "FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'",
    },
    Group {
        alias: "bgwriter",
        subject: "pg_stat_bgwriter",
        majors: ALL,
        columns: &[("background_pages", "buffers_clean")],
        from: "FROM pg_stat_bgwriter",
    },
    Group {
        alias: "growth",
        subject: "the sizes of the run's tables",
        majors: ALL,
        columns: &[("pages_allocated", "pages")],
        from: concat!("FROM (", relation_pages!(), ") AS grown"),
    },
    Group {
        alias: "old_checkpoints",
        subject: "checkpoints in pg_stat_bgwriter",
        majors: 0..=16,
        columns: &[
            ("checkpoints", "checkpoints_timed + checkpoints_req"),
            ("checkpoint_pages", "buffers_checkpoint"),
        ],
        from: "FROM pg_stat_bgwriter",
    },
    Group {
        alias: "checkpointer",
        subject: "pg_stat_checkpointer",
        majors: 17..=u32::MAX,
        columns: &[("checkpoints", "num_timed + num_requested"), ("checkpoint_pages", "buffers_written")],
        from: "FROM pg_stat_checkpointer",
    },
    Group {
        alias: "old_backends",
        subject: "writes of backends in pg_stat_bgwriter",
        majors: 0..=15,
        columns: &[("backend_pages", "buffers_backend")],
        from: "FROM pg_stat_bgwriter",
    },
    Group {
        alias: "io",
        subject: "pg_stat_io",
        majors: 16..=17,
        columns: &[("backend_pages", "sum(writes) FILTER (WHERE backend_type = 'client backend')")],
        from: "FROM pg_stat_io WHERE object = 'relation'",
    },
    // From 18 on `writes` counts calls, as `extends` does.
    Group {
        alias: "io_bytes",
        subject: "pg_stat_io.write_bytes",
        majors: 18..=u32::MAX,
        columns: &[(
            "backend_pages",
            "sum(write_bytes) FILTER (WHERE backend_type = 'client backend') / current_setting('block_size')::int",
        )],
        from: "FROM pg_stat_io WHERE object = 'relation'",
    },
    Group {
        alias: "extends",
        subject: "pg_stat_io.extends",
        majors: 16..=17,
        columns: &[("pages_extended", "sum(extends)")],
        from: "FROM pg_stat_io WHERE object = 'relation'",
    },
    // From 18 on `extends` counts calls, of which each adds one page or more.
    Group {
        alias: "extend_bytes",
        subject: "pg_stat_io.extend_bytes",
        majors: 18..=u32::MAX,
        columns: &[("pages_extended", "sum(extend_bytes) / current_setting('block_size')::int")],
        from: "FROM pg_stat_io WHERE object = 'relation'",
    },
    Group {
        alias: "control",
        subject: "pg_control_checkpoint()",
        majors: ALL,
        columns: &[("redo_position", "redo_lsn - '0/0'"), ("checkpoint_position", "checkpoint_lsn - '0/0'")],
        from: "FROM pg_control_checkpoint()",
    },
    Group {
        alias: "log_files",
        subject: "pg_ls_waldir()",
        majors: ALL,
        columns: &[("log_segments", "count(*)"), ("log_size_bytes", "coalesce(sum(size), 0)")],
        from: "FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'",
    },
    Group {
        alias: "base",
        subject: "size and transactions of the database",
        majors: ALL,
        columns: &[
            ("data_size_bytes", "pg_database_size(current_database())"),
            ("transactions", "(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())"),
        ],
        from: "",
    },
];

/// Is the checkpointer at work? Asked by itself: other servers have no such process.
pub(super) const CHECKPOINTER: Group = Group {
    alias: "process",
    subject: "the checkpointer in pg_stat_activity",
    majors: ALL,
    columns: &[(
        "checkpoint_active",
        "count(*) FILTER (WHERE wait_event IS DISTINCT FROM 'CheckpointerMain')",
    )],
    from: "FROM pg_stat_activity WHERE backend_type = 'checkpointer' HAVING count(*) > 0",
};

impl Group {
    /// The query by itself.
    pub(super) fn query(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|(name, expression)| format!("({expression})::float8 AS {name}"))
            .collect();
        format!("SELECT {} {}", columns.join(", "), self.from)
    }
}
