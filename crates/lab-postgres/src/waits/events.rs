//! Names of wait events: from the number that stands in shared memory, in the spelling of the newest major.
//!
//! The numbers move between majors, so there is a table per major. The table is what the servers themselves say; while
//! a sampler runs, its once-a-second sample over SQL goes on checking it: where a number and a name stood still together
//! around the statement, the name gets a vote, and votes beat the table. So an event that a later minor release or an
//! extension adds gets its name too.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Oldest and newest major with a table.
pub(super) const MAJORS: std::ops::RangeInclusive<u32> = 14..=18;

/// Votes that a name needs before it may overrule the table: a single one may be a coincidence of two changes.
const VOTES_MIN: u32 = 3;

/// Classes by the highest byte of the number.
// EVIDENCE: PostgreSQL src/include/utils/wait_classes.h; wait_event.h before 17
const CLASSES: [(u8, &str); 10] = [
    (0x01, "LWLock"),
    (0x03, "Lock"),
    (0x04, "BufferPin"),
    (0x05, "Activity"),
    (0x06, "Client"),
    (0x07, "Extension"),
    (0x08, "IPC"),
    (0x09, "Timeout"),
    (0x0a, "IO"),
    (0x0b, "InjectionPoint"),
];

/// Classes in which a session has nothing to do, or waits for a time that somebody asked for.
const IDLE_CLASSES: [&str; 5] = ["Activity", "Client", "Extension", "InjectionPoint", "Timeout"];

/// Is it a class in which a session has nothing to do?
pub(super) fn is_idle_class(class: &str) -> bool {
    IDLE_CLASSES.contains(&class)
}

/// [`is_idle_class`] for the number.
pub(super) fn is_idle_event(event: u32) -> bool {
    class_of(event).is_some_and(is_idle_class)
}

/// The class that the number says.
pub(super) fn class_of(event: u32) -> Option<&'static str> {
    CLASSES.iter().find(|(byte, _)| u32::from(*byte) == event >> 24).map(|(_, class)| *class)
}

/// One line of the table: an event with its number and its spelling in each major.
#[derive(Debug)]
pub(super) struct TableRow {
    /// Class.
    pub(super) class: &'static str,
    /// Name as the newest major spells it.
    pub(super) name: &'static str,
    /// Per major from 14 on: low 16 bits of the number, and the spelling of that major.
    pub(super) majors: Vec<Option<(u16, &'static str)>>,
}

/// All lines, in the order of the file.
pub(super) fn table() -> &'static [TableRow] {
    static TABLE: OnceLock<Vec<TableRow>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let text = include_str!("events.tsv");
        text.lines().filter(|line| !line.starts_with('#')).filter_map(table_row).collect()
    })
}

fn table_row(line: &'static str) -> Option<TableRow> {
    let mut fields = line.split('\t');
    let (class, name) = (fields.next()?, fields.next()?);
    let major = |field: &'static str| {
        let (id, spelling) = field.split_once(':').unwrap_or((field, name));
        Some((id.parse().ok()?, spelling))
    };
    Some(TableRow { class, name, majors: fields.map(major).collect() })
}

/// Class and name, in the spelling of the newest major, of what an older one calls `spelling`.
pub(super) fn normalise(class: &str, spelling: &str) -> (String, String) {
    let known = table().iter().find(|row| {
        let spelled = || row.majors.iter().flatten().any(|(_, old)| *old == spelling);
        row.class == class && (row.name == spelling || spelled())
    });
    (class.to_owned(), known.map_or(spelling, |row| row.name).to_owned())
}

/// Names of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    table: HashMap<u32, (&'static str, &'static str)>,
    votes: HashMap<u32, HashMap<(String, String), u32>>,
}

impl Names {
    /// Begins with the table of a major; empty for one without.
    pub(super) fn of_major(major: u32) -> Self {
        let index = MAJORS.contains(&major).then(|| (major - MAJORS.start()) as usize);
        let number = |row: &'static TableRow| {
            let (id, _) = (*row.majors.get(index?)?)?;
            let (byte, _) = CLASSES.iter().find(|(_, class)| *class == row.class)?;
            Some((u32::from(*byte) << 24 | u32::from(id), (row.class, row.name)))
        };
        Self { table: table().iter().filter_map(number).collect(), votes: HashMap::new() }
    }

    /// Notes that the server calls the number so.
    pub(super) fn vote(&mut self, event: u32, class: &str, spelling: &str) {
        *self.votes.entry(event).or_default().entry(normalise(class, spelling)).or_default() += 1;
    }

    /// Numbers for which the server's word was heard and is not what the table says.
    pub(super) fn disagreements(&self) -> Vec<String> {
        let mut list: Vec<String> = self
            .votes
            .iter()
            .filter_map(|(event, votes)| {
                let (class, name) = self.table.get(event)?;
                let agrees = votes.keys().any(|(c, n)| c == class && n == name);
                let (said, _) = votes.iter().max_by_key(|(_, count)| **count)?;
                (!agrees).then(|| {
                    format!(
                        "{event:#010x} is {class}:{name} by the table, {}:{} by the server",
                        said.0, said.1
                    )
                })
            })
            .collect();
        list.sort();
        list
    }

    /// How many numbers the server named as the table does.
    pub(super) fn agreements(&self) -> usize {
        let agrees = |(event, votes): (&u32, &HashMap<(String, String), u32>)| {
            let known = self.table.get(event);
            known.is_some_and(|(class, name)| votes.keys().any(|(c, n)| c == class && n == name))
        };
        self.votes.iter().filter(|entry| agrees(*entry)).count()
    }

    /// Class and name of a number; one without a name is named by its digits.
    pub(super) fn name(&self, event: u32) -> (String, String) {
        let voted = self.votes.get(&event).and_then(|votes| {
            let all: u32 = votes.values().sum();
            let (name, count) =
                votes.iter().max_by_key(|(name, count)| (**count, std::cmp::Reverse(*name)))?;
            // Votes beside the majority come from events that came and went around the statement.
            (2 * count > all).then(|| (name.clone(), *count))
        });
        let known = self.table.get(&event).map(|(class, name)| ((*class).to_owned(), (*name).to_owned()));
        match (voted, known) {
            (Some((name, votes)), Some(known)) => {
                if votes >= VOTES_MIN {
                    name
                } else {
                    known
                }
            }
            (Some((name, _)), None) => name,
            (None, Some(known)) => known,
            (None, None) => (class_of(event).unwrap_or("Unnamed").to_owned(), format!("{event:#010x}")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_line_has_five_majors_and_no_number_has_two_names() {
        assert!(table().len() > 250);
        for major in MAJORS {
            let index = (major - MAJORS.start()) as usize;
            let count = table().iter().filter(|row| row.majors[index].is_some()).count();
            assert_eq!(Names::of_major(major).table.len(), count, "{major}");
        }
        assert!(table().iter().all(|row| row.majors.len() == MAJORS.count()));
    }

    #[test]
    fn numbers_are_those_that_running_servers_showed() {
        for (major, event, name) in [
            (14, 0x0a00_0043, "WalSync"),
            (15, 0x0a00_0046, "WalSync"),
            (18, 0x0a00_004e, "WalSync"),
            (14, 0x0900_0001, "PgSleep"),
            (18, 0x0900_0002, "PgSleep"),
            (16, 0x0600_0000, "ClientRead"),
        ] {
            assert_eq!(Names::of_major(major).name(event).1, name, "{major}");
        }
    }

    #[test]
    fn older_spellings_become_the_newest_one_within_their_class() {
        assert_eq!(normalise("IO", "WALWrite"), ("IO".to_owned(), "WalWrite".to_owned()));
        assert_eq!(normalise("LWLock", "WALWrite").1, "WALWrite");
        assert_eq!(normalise("IO", "RelationMapSync").1, "RelationMapReplace");
        assert_eq!(normalise("LWLock", "pg_stat_statements").1, "pg_stat_statements");
    }

    #[test]
    fn votes_name_what_the_table_does_not_have_and_overrule_it_only_together() {
        let mut names = Names::of_major(17);
        assert_eq!(names.name(0x0700_0009).1, "0x07000009");
        names.vote(0x0700_0009, "Extension", "MyExtensionMain");
        assert_eq!(names.name(0x0700_0009).1, "MyExtensionMain");
        let wal_sync = 0x0a00_004a;
        assert_eq!(names.name(wal_sync).1, "WalSync");
        names.vote(wal_sync, "IO", "WalWrite");
        assert_eq!((names.name(wal_sync).1, names.disagreements().len()), ("WalSync".to_owned(), 1));
        names.vote(wal_sync, "IO", "WalWrite");
        names.vote(wal_sync, "IO", "WalWrite");
        assert_eq!(names.name(wal_sync).1, "WalWrite");
        (0..3).for_each(|_| names.vote(wal_sync, "IO", "WalSync"));
        assert_eq!((names.name(wal_sync).1, names.agreements()), ("WalSync".to_owned(), 1));
    }

    #[test]
    fn idleness_is_a_matter_of_class() {
        assert!(is_idle_event(0x0600_0000) && is_idle_event(0x0900_0001) && is_idle_event(0x0500_0003));
        assert!(!is_idle_event(0x0a00_0043) && !is_idle_event(0) && !is_idle_event(0x0100_0008));
    }
}
