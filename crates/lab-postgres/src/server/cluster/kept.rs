//! What is said of a cluster that is kept.

use crate::server::cluster::{Cluster, SUPERUSER};

impl Cluster {
    /// Where the cluster is once it is kept, how to start it and how to remove it, as lines for people.
    pub fn kept_words(&self) -> Vec<String> {
        let (bin, data) = (self.server.bin_dir.display(), self.data().display().to_string());
        let by_user =
            self.user.as_ref().map_or(String::new(), |user| format!("runuser -u {} -- ", user.name));
        let parts = self.parts.iter().map(|part| format!(" '{}'", part.directory().display()));
        vec![
            format!("kept the cluster of the last run: \"{data}\""),
            format!(
                "start it with: {by_user}'{bin}/pg_ctl' -D '{data}' -l /tmp/fathom-kept.log -w -o \"-p {port} -k /tmp\" start",
                port = self.port
            ),
            format!("open it with: psql -h /tmp -p {} -U {SUPERUSER} postgres", self.port),
            format!(
                "remove it, once it is stopped, with: rm -r '{}'{}",
                self.directory.display(),
                parts.collect::<String>()
            ),
        ]
    }
}
