//! Text from outside that would like to be more than text.

use report::{export, markdown, text};
use results::model::{GateOutcome, RunState};

use crate::made_up::{self, summarise};
use crate::own;

const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[2J<script>alert(1)</script>|`$(rm)`\r\n\u{202e}=1+1,\"x\"";

fn hostile() -> results::store::StudyResults {
    let mut results = made_up::batch();
    results.study.title = HOSTILE.to_owned();
    results.study.question = HOSTILE.to_owned();
    results.study.experiment = HOSTILE.to_owned();
    results.study.fixed[0].0 = HOSTILE.to_owned();
    results.study.factors[0].name = HOSTILE.to_owned();
    for cell in &mut results.cells {
        cell.levels[0].0 = HOSTILE.to_owned();
    }
    for stored in &mut results.runs {
        stored.run.state = RunState::Invalid;
        stored.run.gates[0].outcome = GateOutcome::Failed;
        stored.run.gates[0].found = HOSTILE.to_owned();
        stored.run.clients[0].error = Some(HOSTILE.repeat(1000));
        stored.run.metrics[0].name = HOSTILE.to_owned();
        stored.run.settings[0].value = HOSTILE.to_owned();
        stored.run.environment.machine = serde_json::json!({ HOSTILE: [HOSTILE, { HOSTILE: HOSTILE }] });
        stored.run.warnings[0].text = HOSTILE.to_owned();
        stored.run.events[0].kind = HOSTILE.to_owned();
        stored.run.scripts = own::scripts(HOSTILE, 300);
        for script in &mut stored.run.scripts {
            script.file = HOSTILE.to_owned();
            script.statements[0].text = HOSTILE.repeat(100);
            script.statements[0].failures = script.failures.clone();
            script.statements[0].first_failure = Some(HOSTILE.to_owned());
        }
    }
    own::sum_scripts(&mut results);
    results.corrections[0].reason = HOSTILE.to_owned();
    results
}

#[test]
fn nothing_reaches_the_terminal_that_it_would_obey() {
    let results = hostile();
    let summary = summarise(&results, &[]);
    for output in [text::study(&summary), text::run_detail(&results.runs[0], "study 1")] {
        let obeyed = output.chars().find(|character| character.is_control() && *character != '\n');
        assert_eq!(obeyed, None, "{output:?}");
        assert!(!output.contains('\u{202e}'));
        assert!(output.len() < 1_000_000);
    }
}

#[test]
fn markup_is_inert_on_the_page() {
    let results = hostile();
    let summary = summarise(&results, &[]);
    let page = report::html::Page {
        summary: &summary,
        results: &results,
        runs: &results.runs,
        baselines: &[],
        structures: &[],
        is_live: false,
    };
    for output in [report::html::page(&page), report::html::svg(&page)] {
        assert!(!output.contains("<script>alert") && !output.contains(['\u{1b}', '\u{7}', '\u{202e}']));
        assert!(output.contains("&lt;script&gt;alert(1)"));
    }
    // Our three scripts and no other.
    assert_eq!(report::html::page(&page).matches("<script").count(), 3);
}

#[test]
fn markup_is_inert_in_markdown() {
    let results = hostile();
    for output in
        [markdown::study(&summarise(&results, &[])), markdown::run_detail(&results.runs[0], "study 1")]
    {
        assert!(!output.contains("<script>") && !output.contains('\u{1b}'));
        // Every line of a table has as many unescaped bars as its header.
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let tables = output.split("\n\n").filter(|block| block.starts_with('|'));
        for table in tables {
            let first = table.lines().next().map(bars);
            assert!(table.lines().all(|line| Some(bars(line)) == first), "{table}");
        }
    }
}

#[test]
fn exports_keep_the_text_in_its_field() {
    let results = hostile();
    let csv = export::runs_csv(&results);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let experiment = reader.headers().unwrap().iter().position(|name| name == "experiment").unwrap();
    let headers = reader.headers().unwrap().clone();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), results.runs.len());
    // Nothing acts on the terminal or in a spreadsheet, and nothing of the text is lost.
    let shown = report::plain::cell(HOSTILE);
    assert!(records.iter().all(|record| record[experiment] == shown) && shown.contains("\\u{1b}]0;title"));
    let is_formula = |field: &str| field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    let fields = records.iter().flat_map(csv::StringRecord::iter).chain(headers.iter());
    assert!(fields.into_iter().all(|field| !is_formula(field) && !field.contains(report::plain::is_hidden)));
    let csv = export::scripts_csv(&results, &results.runs);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), results.runs.len() * 7, "two scripts with five statements");
    let fields = records.iter().flat_map(csv::StringRecord::iter);
    assert!(fields.into_iter().all(|field| !is_formula(field) && !field.contains(report::plain::is_hidden)));
    let lines = export::json_lines(&results, &results.runs);
    assert_eq!(lines.lines().count(), results.runs.len());
    for line in lines.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["experiment"], HOSTILE);
    }
    let benchmark = export::go_benchmark(&results);
    assert!(benchmark.lines().all(|line| !line.contains('\u{1b}') && !line.contains('\r')));
}
