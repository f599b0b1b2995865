//! What limits a configuration.

/// What a run spends its time on, and so what limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The log: a commit waits until it is on its device.
    Log,
    /// The device of the data: reads, writes and flushes of data files.
    DataDevice,
    /// One page that many sessions access at once.
    Page,
    /// New space: one session at a time makes a table or an index longer.
    Space,
    /// A lock on rows, transactions or the whole database.
    Lock,
    /// CPUs.
    Cpu,
    /// The client, or the way to it: sessions have nothing to do.
    Client,
    /// Something else that has a name but no place among these.
    Other,
}

impl Limit {
    /// The limit in words, as the object of "the limit is".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Log => "the log",
            Self::DataDevice => "the data device",
            Self::Page => "a page that many sessions access at once",
            Self::Space => "the allocation of new pages",
            Self::Lock => "a lock",
            Self::Cpu => "the CPUs",
            Self::Client => "the client or the network to it",
            Self::Other => "something other than log, data device, page, lock or CPU",
        }
    }

    /// What the sessions of a configuration with this limit do, as a clause.
    #[must_use]
    pub fn sessions(self) -> &'static str {
        match self {
            Self::Log => "sessions wait for the log",
            Self::DataDevice => "sessions wait for the data device",
            Self::Page => "sessions wait for a page that many access at once",
            Self::Space => "sessions wait for the allocation of new pages",
            Self::Lock => "sessions wait for a lock",
            Self::Cpu => "sessions are on CPUs or wait for one",
            Self::Client => "sessions wait for their client",
            Self::Other => "sessions wait for something else",
        }
    }

    /// The shipped experiment that would test a remedy, with the remedy; `None` where none is shipped.
    #[must_use]
    pub fn remedy(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Log => Some(("populate-batch", "more rows per transaction: fewer flush waits")),
            Self::DataDevice => Some(("separate-data-log", "data and log on devices of their own")),
            Self::Page => Some(("multi-file", "several data files, so that the page exists more than once")),
            Self::Space => Some(("allocation-contention", "several data files that grow independently")),
            Self::Lock => {
                Some(("connections-x-waits", "fewer connections, so that fewer queue for the lock"))
            }
            Self::Cpu => Some(("populate-connections", "as many connections as the CPUs can carry")),
            Self::Client | Self::Other => None,
        }
    }
}
