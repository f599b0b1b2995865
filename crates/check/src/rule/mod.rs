//! The table of all rules that are tested.

#[cfg(test)]
pub(crate) mod examples;
mod role;

pub use results::check::CheckLevel;
use results::check::{CheckReport, Confidence, Finding};
use results::engine::EngineId;
use std::cmp::Ordering;

pub use role::{Rank, Role, Suspect, Unit};

/// One invariant of a format: tested by the checker, explained to the user.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The name in findings, and what `fathom explain` takes.
    pub id: &'static str,
    /// The lowest level at which it is tested.
    pub level: CheckLevel,
    /// What the format requires, in one sentence without a full stop.
    pub invariant: &'static str,
    /// What it means when the invariant is broken, and how that usually comes about.
    pub meaning: &'static str,
    /// What to do then.
    pub next_step: &'static str,
    /// Where the invariant is published.
    pub evidence: &'static str,
    /// How close to the cause it is, what it calls into question, and what its findings count.
    pub role: Role,
    /// Numbers of the messages of the engine's own checker for the same fault, where the correspondence is documented.
    pub messages: Option<&'static str>,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

impl PartialOrd for Rule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rule {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(other.id)
    }
}

impl std::hash::Hash for Rule {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// The rules of one engine, and what is known about one beside another.
#[derive(Debug)]
pub struct RuleSet {
    /// The engine, as in records.
    pub engine: EngineId,
    /// What the engine calls a page.
    pub page_word: &'static str,
    /// What the engine calls the place of a row or entry in a page.
    pub slot_word: &'static str,
    /// The command that makes an index again from its table.
    pub rebuild: &'static str,
    /// The engine's own checker, where its message numbers stand beside rules.
    pub messages_word: &'static str,
    /// Tables of rules, in the order in which they are documented.
    pub tables: &'static [&'static [&'static Rule]],
    /// Whether a rule that calls everything into question is about one database: the one in whose directory its file
    /// lies.
    pub is_of_one_database: fn(&str) -> bool,
    /// Whether findings of the second rule probably follow from a finding of the first, where the object of the second
    /// depends on that of the first.
    pub explains: fn(&str, &str) -> bool,
}

impl RuleSet {
    /// All rules, in the order in which they are documented.
    pub fn iter(&self) -> impl Iterator<Item = &'static Rule> + use<> {
        self.tables.iter().flat_map(|table| table.iter().copied())
    }

    /// The rule of a name.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&'static Rule> {
        self.iter().find(|rule| rule.id == id)
    }

    /// The role of a rule by its id; that of rules about records for one that no table has.
    #[must_use]
    pub fn role(&self, id: &str) -> Role {
        self.get(id).map_or(Role::RECORD, |rule| rule.role)
    }

    /// A finding that one of these rules is broken, about a file as a whole; what is known of its place is set by the
    /// caller.
    #[must_use]
    pub fn finding(
        &self,
        rule: &Rule,
        file: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Finding {
        Finding {
            file: file.into(),
            page: None,
            slot: None,
            offset_bytes: None,
            rule: rule.id.to_owned(),
            engine: self.engine.name().to_owned(),
            object: None,
            invariant: rule.invariant.to_owned(),
            expected: expected.into(),
            found: found.into(),
            confidence: Confidence::Certain,
            next_step: rule.next_step.to_owned(),
            row: None,
            messages: rule.messages.map(str::to_owned),
        }
    }
}

/// The rules of all engines: for readers of reports of any of them.
#[derive(Debug, Clone)]
pub struct RuleBook(pub Vec<&'static RuleSet>);

impl RuleBook {
    /// The rules of the engine of a report; none, with general words, where a newer version made it.
    #[must_use]
    pub fn of(&self, report: &CheckReport) -> &'static RuleSet {
        self.0.iter().copied().find(|rules| report.engine == rules.engine).unwrap_or(&UNKNOWN)
    }

    /// All rules, in the order in which they are documented.
    pub fn iter(&self) -> impl Iterator<Item = &'static Rule> {
        self.0.iter().flat_map(|rules| rules.iter())
    }

    /// The rule of a name.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&'static Rule> {
        self.iter().find(|rule| rule.id == id)
    }
}

/// No rules, and general words.
static UNKNOWN: RuleSet = RuleSet {
    engine: EngineId::Noop,
    page_word: "page",
    slot_word: "slot",
    rebuild: "REINDEX",
    messages_word: "",
    tables: &[],
    is_of_one_database: |_| false,
    explains: |_, _| true,
};

/// Defines rules with named fields: a static for each, and `TABLE`, which has them in the order of the text.
///
/// `role` is (rank, suspect, unit), see [`Role`]; `messages` may be left out.
#[macro_export]
macro_rules! rules {
    ($(
        $(#[$note:meta])*
        $name:ident {
            id: $id:literal,
            level: $level:ident,
            role: ($rank:ident, $suspect:ident, $unit:ident),
            invariant: $invariant:expr,
            meaning: $meaning:expr,
            next_step: $next_step:expr,
            evidence: $evidence:expr,
            $(messages: $messages:literal,)?
        }
    )*) => {
        $(
            $(#[$note])*
            #[doc = $invariant]
            pub(crate) static $name: $crate::rule::Rule = $crate::rule::Rule {
                id: $id,
                level: $crate::rule::CheckLevel::$level,
                role: $crate::rule::Role::new(
                    $crate::rule::Rank::$rank,
                    $crate::rule::Suspect::$suspect,
                    $crate::rule::Unit::$unit,
                ),
                invariant: $invariant,
                meaning: $meaning,
                next_step: $next_step,
                evidence: $evidence,
                messages: $crate::rules!(@messages $($messages)?),
            };
        )*
        /// The rules of this table, in the order in which they are documented.
        pub(crate) static TABLE: &[&$crate::rule::Rule] = &[$(&$name),*];
    };
    (@messages) => { None };
    (@messages $messages:literal) => { Some($messages) };
}

/// The text that `fathom explain RULE` prints.
#[must_use]
pub fn explanation(rule: &Rule) -> String {
    format!(
        "{}: {}\n\n{}\n\nTested from level {}. Source: {}.\nWhat to do: {}\n",
        rule.id,
        rule.invariant,
        rule.meaning,
        rule.level.name(),
        rule.evidence,
        rule.next_step
    )
}

/// Rules as a table in Markdown, for docs/check/.
#[must_use]
pub fn markdown_table_of(rules: &RuleSet) -> String {
    let mut table = String::from("| id | level | rule | meaning | source |\n|---|---|---|---|---|\n");
    for rule in rules.iter() {
        let [invariant, meaning, evidence] =
            [rule.invariant, rule.meaning, rule.evidence].map(|text| text.replace('|', "\\|"));
        table.push_str(&format!(
            "| `{}` | {} | {invariant} | {meaning} | {evidence} |\n",
            rule.id,
            rule.level.name()
        ));
    }
    table
}
