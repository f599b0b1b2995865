//! Names, places and rules as text.

use std::borrow::Cow;

use results::check::Finding;
use results::plain::{is_hidden, one_line};

use check::rule::RuleSet;

/// Names come from the file under test and may hold anything: what would act on a terminal, or hide, is written out.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains(is_hidden) {
        true => Cow::Owned(one_line(text)),
        false => Cow::Borrowed(text),
    }
}

/// Where a finding is: `base/5/16384 block 17 item 3`.
pub(super) fn place(rules: &RuleSet, finding: &Finding) -> String {
    let mut place = harmless(&finding.file).into_owned();
    for (word, number) in
        [(rules.page_word, finding.page), (rules.slot_word, finding.slot), ("offset", finding.offset_bytes)]
    {
        if let Some(number) = number {
            place.push_str(&format!(" {word} {number}"));
        }
    }
    place
}

/// The rule with the message numbers of the engine's own checker, where its findings have them.
pub(super) fn rule_name(rules: &RuleSet, rule: &str, messages: Option<&str>) -> String {
    match messages {
        Some(messages) => format!("{rule} ({} {messages})", rules.messages_word),
        None => rule.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_act_on_a_terminal_are_written_out() {
        assert_eq!(harmless("t\u{1b}[31m\n\u{202e}x"), "t\\u{1b}[31m\\n\\u{202e}x");
        assert_eq!(harmless("Zoë"), "Zoë");
    }
}
