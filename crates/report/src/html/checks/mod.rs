//! The page of a check: the verdict first, then what is damaged, what was not verified, and what the check cost beside
//! the other checks of the same place.

mod charts;
mod grids;

use results::check::GapKind;
use results::store::StoredCheck;
use results::verdict::VerdictKind;
use results::wording::{counted, thousands};

use super::definitions::{Definitions, Tables};
use super::figure::figure;
use super::markup::{Markup, markup};
use super::shell::shelled;
use super::tables;
use crate::layout::{Block, Section};
use crate::tables::{file_name, moment};
use grids::FINDINGS_MAX;

/// Findings up to which their table is open.
const FINDINGS_OPEN_MAX: usize = 10;

/// Next steps in the answer; all are in the table of objects.
const STEPS_MAX: usize = 3;

/// Writes the page of the first check; the others are those of the same place. Number 0 stands for one that was not stored.
pub fn page(checks: &[StoredCheck]) -> String {
    let definitions = Definitions::load();
    let own = definitions.of(Tables::Checks);
    let Some((check, others)) = checks.split_first() else {
        return shelled("Check", "", &[], &definitions);
    };
    let report = &check.report;
    let engine = report.engine_id().map_or(report.engine.as_str(), |engine| engine.title());
    let number = (check.id > 0).then(|| format!("check {}", check.id));
    let level = format!("level {}", report.level.name());
    let kicker: Vec<String> = [number, Some(moment(&check.stored_at)), Some(engine.to_owned()), Some(level)]
        .into_iter()
        .flatten()
        .collect();
    let mut parts = vec![answer(check)];
    parts.extend(damage(check, &own));
    parts.extend(not_verified(check));
    parts.push(work(check, checks, &own));
    if !others.is_empty() {
        let section = grids::overview(checks);
        parts.push(markup!("<h2>{}</h2>{}", section.title, tables::blocks(&section, &own)));
    }
    shelled(&format!("Check of {}", file_name(&check.place)), &kicker.join(" · "), &parts, &definitions)
}

/// The verdict, what it was decided on, and what to do.
fn answer(check: &StoredCheck) -> Markup {
    let report = &check.report;
    let verdict = report.verdict();
    let class = match verdict.kind {
        VerdictKind::Damage => "headline bad",
        VerdictKind::NoDamage => "headline good",
        _ => "headline",
    };
    let mut html = markup!("<h2>Result</h2><p class=\"environment\">{}</p>", check.place);
    html.push(&markup!("<p class=\"{}\">{}</p>", class, sentence(&verdict.text)));
    if let Some(why) = &report.unfinished {
        html.push(&markup!("<p class=\"invalid\">Not finished: {}</p>", why));
    }
    html.push(&markup!("<p>{}</p>", extent(check)));
    let mut steps: Vec<&str> = Vec::new();
    for object in &report.objects {
        if !object.next_step.is_empty() && !steps.contains(&object.next_step.as_str()) {
            steps.push(&object.next_step);
        }
    }
    if !steps.is_empty() {
        let items = steps.iter().take(STEPS_MAX).map(|step| markup!("<li>{}</li>", sentence(step)));
        html.push(&markup!("<p>Next steps:</p><ul class=\"items\">{}</ul>", items.collect::<Markup>()));
    }
    html
}

/// `Level full: 789 of 789 pages, 60,000 of 60,000 rows and ... verified in 0.12 s.`
fn extent(check: &StoredCheck) -> String {
    let report = &check.report;
    let seconds = crate::number::duration(report.counters.elapsed_ns as f64 / 1e9);
    let shares: Vec<String> = report
        .coverage
        .shares()
        .map(|(name, share)| {
            let [verified, total] = [share.verified_count, share.total_count].map(thousands);
            format!("{verified} of {total} {name}")
        })
        .collect();
    let accounting = &report.accounting;
    let missed = accounting.unreached_count + accounting.unreadable_count;
    let verified = match shares.is_empty() {
        true => format!(
            "{} of {} read",
            thousands(accounting.page_count.saturating_sub(missed)),
            counted(accounting.page_count, "page")
        ),
        false => format!("verified {}", shares.join(", ")),
    };
    format!("Level {}: {verified}, in {seconds}.", report.level.name())
}

/// Damaged objects and findings; nothing without findings.
fn damage(check: &StoredCheck, definitions: &Definitions) -> Option<Markup> {
    let report = &check.report;
    if report.objects.is_empty() && report.findings.is_empty() {
        return None;
    }
    let mut html = markup!("<h2>Damage</h2>");
    if !report.objects.is_empty() {
        html.push(&tables::grid(&grids::objects(check), definitions));
    }
    if !report.findings.is_empty() {
        let all = report.finding_count();
        let shown = report.findings.len().min(FINDINGS_MAX) as u64;
        let mut blocks = vec![Block::Grid(grids::findings(check))];
        if all > shown {
            blocks.push(Block::Paragraph(format!(
                "{} of {} are listed here.",
                thousands(shown),
                counted(all, "finding")
            )));
        }
        let section = Section::new(counted(all, "finding"), blocks);
        let is_open = report.findings.len() <= FINDINGS_OPEN_MAX;
        html.push(&tables::folded("findings", &section, definitions, is_open));
    }
    Some(html)
}

/// What was left out, and what no check verifies on this engine; a section each.
fn not_verified(check: &StoredCheck) -> impl Iterator<Item = Markup> {
    let kinds =
        [(GapKind::Coverage, "Not checked"), (GapKind::OutOfScope, "Not verified by fathom on this engine")];
    kinds.into_iter().filter_map(|(kind, title)| {
        let gaps = check.report.not_checked.iter().filter(|gap| gap.kind == kind).map(|gap| {
            let object = gap.object.as_ref().map_or(String::new(), |object| format!("{object}: "));
            markup!("<li>{}</li>", format!("{object}{} ({})", gap.what, gap.why))
        });
        let gaps: Markup = gaps.collect();
        (!gaps.is_empty()).then(|| markup!("<h2>{}</h2><ul class=\"items\">{}</ul>", title, gaps))
    })
}

/// Where the pages went, how fast they were read, and both as tables behind a fold.
fn work(check: &StoredCheck, checks: &[StoredCheck], definitions: &Definitions) -> Markup {
    let drawn = [
        (charts::accounting(checks), "Parts below 1 % are drawn larger, to be visible."),
        (charts::speed(checks), ""),
        (charts::scaling(checks), ""),
    ];
    let drawn: Markup =
        drawn.into_iter().filter_map(|(svg, note)| Some(figure(&svg?, &markup!("{}", note)))).collect();
    let mut html = markup!("<h2>Pages and speed</h2><div class=\"charts\">{}</div>", drawn);
    let mut blocks = Vec::new();
    if check.report.coverage.shares().count() > 0 {
        blocks.push(Block::Grid(grids::coverage(check)));
    }
    blocks.push(Block::Paragraph(balance(check)));
    let mut facts: Vec<String> =
        check.report.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    facts.push(format!("read through: {}", check.report.counters.reader));
    facts.push(format!("fathom: {}", check.fathom_version));
    blocks.push(Block::Items(facts));
    html.push(&tables::folded(
        "accounting",
        &Section::new("All values of this check", blocks),
        definitions,
        false,
    ));
    html
}

/// The pages of the check as a sum.
fn balance(check: &StoredCheck) -> String {
    let accounting = &check.report.accounting;
    let balance = if accounting.is_balanced() { "" } else { " The sum does not match the number of pages." };
    format!(
        "{} pages = {} clean + {} damaged + {} affected + {} skipped + {} unreadable + {} not reached; {} of {} bytes read.{balance}",
        thousands(accounting.page_count),
        thousands(accounting.clean_count),
        thousands(accounting.damaged_count),
        thousands(accounting.affected_count),
        thousands(accounting.skipped_count()),
        thousands(accounting.unreadable_count),
        thousands(accounting.unreached_count),
        thousands(accounting.bytes_read),
        thousands(accounting.bytes_expected)
    )
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
