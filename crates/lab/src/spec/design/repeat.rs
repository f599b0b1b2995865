//! `[repeat_until]`: blocks are added until intervals are narrow, until comparisons are decided, or until both are so.

use results::model::Looks;

use super::REPETITIONS_MAX;
use crate::schedule::{Decision, RepeatUntil};
use crate::spec::document::Entry;
use crate::spec::error::{Span, SpecError};
use crate::spec::validity::{fraction, percent_text};

const KEYS: [&str; 4] = ["half_width", "decision", "margin", "blocks_max"];

/// Most blocks of a study that waits for decisions: each look costs a test, and its level is computed from all before.
const LOOKS_MAX: u32 = 100;

/// Reads the table.
pub(crate) fn read(entry: &Entry<'_>) -> Result<RepeatUntil, SpecError> {
    let (mut half_width, mut is_decided, mut margin, mut blocks_max) = (None, false, None, None);
    for inner in entry.table()? {
        match inner.key {
            "half_width" => half_width = Some(fraction(&inner)?),
            "decision" => is_decided = inner.flag()?,
            "margin" => margin = Some((fraction(&inner)?, inner.value_place.clone())),
            "blocks_max" => blocks_max = Some(inner.count(2..=REPETITIONS_MAX)?),
            _ => return Err(inner.not_known("[repeat_until]", &KEYS)),
        }
    }
    if let Some((margin, place)) = margin.as_ref().filter(|(margin, _)| !is_decided || *margin <= 0.0) {
        let title = match is_decided {
            true => format!("`margin` takes more than 0%, found {}", percent_text(*margin)),
            false => "`margin` needs `decision = true`".to_owned(),
        };
        return Err(SpecError::at(place, title, "").help("decision = true ends a study that is decided"));
    }
    let decision = is_decided.then(|| Decision { margin: margin.map(|(margin, _)| margin) });
    let is_wide = half_width.is_none_or(|half_width| half_width > 0.0);
    match blocks_max {
        Some(blocks_max) if is_wide && (half_width.is_some() || is_decided) => {
            let half_width_percent = half_width.map(|half_width| half_width * 100.0);
            Ok(RepeatUntil { half_width_percent, decision, blocks_max })
        }
        _ => Err(SpecError::at(
            &entry.key_place,
            "[repeat_until] needs a width above zero or decision = true, and a cap",
            "",
        )
        .help("write half_width = \"2%\" or decision = true, and blocks_max = 20")),
    }
}

/// Refuses what the command line may bring: widths of zero, margins of zero, caps below the repetitions.
pub(crate) fn check(until: &RepeatUntil, repetitions: u32, head: &Span) -> Result<(), SpecError> {
    if let Some(width) = until.half_width_percent.filter(|width| !(*width > 0.0 && width.is_finite())) {
        let title = format!("an interval cannot become as narrow as {width} %");
        return Err(SpecError::without_place(title).help("give a half width above 0 %, such as 2 %"));
    }
    let margin = until.decision.and_then(|decision| decision.margin);
    if let Some(margin) = margin.filter(|margin| !(*margin > 0.0 && margin.is_finite())) {
        let title = format!("a margin of {} % is not possible", 100.0 * margin);
        return Err(SpecError::without_place(title)
            .help("give the largest difference that counts as none, such as 5 %"));
    }
    let most = if until.decision.is_some() { LOOKS_MAX } else { REPETITIONS_MAX };
    if until.blocks_max < repetitions || until.blocks_max > most {
        let title = format!(
            "repeating ends after {} blocks, but {repetitions} repetitions are requested",
            until.blocks_max
        );
        return Err(
            SpecError::at(head, title, "").help(format!("set the cap between the repetitions and {most}"))
        );
    }
    Ok(())
}

/// The looks of a study that waits for decisions.
pub(crate) fn looks(until: Option<RepeatUntil>, repetitions: u32) -> Option<Looks> {
    let until = until?;
    let margin = until.decision?.margin;
    Some(Looks { blocks_min: repetitions, blocks_max: until.blocks_max, margin })
}
