//! The page: its answer, its parts, and that it is the same for the same results.

use insta::assert_json_snapshot;
use report::html::{Page, page, svg};
use report::outcome::Answer;
use report::{markdown, text};
use results::store::StudyResults;

use crate::made_up::{self, summarise};

fn answer(results: &StudyResults) -> Answer {
    Answer::of(&summarise(results, &[]))
}

fn with_page<T>(results: &StudyResults, read: impl FnOnce(&Page<'_>) -> T) -> T {
    let summary = summarise(results, &[]);
    read(&Page {
        summary: &summary,
        results,
        runs: &results.runs,
        baselines: &[],
        structures: &[],
        is_live: false,
    })
}

#[test]
fn the_answer_names_the_best_configuration_with_its_certainty() {
    assert_json_snapshot!(answer(&made_up::batch()));
}

#[test]
fn the_answer_of_an_a_a_pair_names_no_winner() {
    assert_json_snapshot!(answer(&made_up::a_a()));
}

#[test]
fn invalid_runs_come_before_the_answer() {
    let mut results = made_up::matrix();
    made_up::spoil(&mut results, 1);
    let answer = answer(&results);
    assert!(answer.invalid.as_ref().is_some_and(|words| words.contains("excluded from means")), "{answer:?}");
    let html = with_page(&results, page);
    let (invalid, headline) = (html.find("<p class=\"invalid\">"), html.find("<p class=\"headline\">"));
    assert!(invalid.is_some() && invalid < headline);
    assert_json_snapshot!(answer);
}

#[test]
fn the_parts_stand_in_their_order_and_an_empty_one_is_absent_with_its_link() {
    let html = with_page(&made_up::matrix(), page);
    let place = |id: &str| html.find(&format!("<section id=\"{id}\">"));
    let is_linked = |id: &str| html.contains(&format!("<a href=\"#{id}\">"));
    let places: Vec<usize> = ["answer", "factors", "record"].iter().map(|id| place(id).unwrap()).collect();
    assert!(places.is_sorted());
    for id in ["why", "time", "device", "structure"] {
        assert_eq!((place(id), is_linked(id)), (None, false), "{id}");
    }
    assert!(is_linked("factors") && html.contains("<h2><span>3</span> Record</h2>"));
    // Two numeric factors: a heat map; and every picture says what it shows.
    assert!(html.contains("class=\"heat\""));
    assert_eq!(
        html.matches("<svg class=\"chart\"").count(),
        html.matches("role=\"img\" aria-label=").count()
    );
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let results = made_up::matrix();
    assert_eq!(with_page(&results, page), with_page(&results, page));
    let slide = with_page(&results, svg);
    assert!(slide.starts_with("<svg xmlns=") && !slide.contains("var(--"));
}

#[test]
fn the_title_says_what_the_caches_of_the_runs_were() {
    let titled = |results: &StudyResults, title: &str| {
        let summary = summarise(results, &[]);
        assert_eq!(summary.heading(), title);
        assert!(text::study(&summary).starts_with(&format!("{title}\n===")), "{}", text::study(&summary));
        assert!(text::brief(&summary).starts_with(&format!("{title}\n===")));
        assert!(markdown::study(&summary).starts_with("## A made-up study"));
        assert_eq!(markdown::study(&summary).contains("cold, verified"), title.contains("cold, verified"));
        with_page(results, |made| {
            let html = page(made);
            assert!(
                html.contains(&format!("<title>{title}</title>"))
                    && html.contains(&format!("<h1>{title}</h1>"))
            );
            assert!(svg(made).contains(title));
        });
        summary
    };
    let batch = made_up::batch();
    assert_eq!(titled(&batch, "A made-up study").caches, []);
    let all = titled(
        &made_up::with_caches(batch.clone(), |_| Some("cold, verified")),
        "A made-up study (cache: cold, verified)",
    );
    assert_eq!(all.caches[0].run_count, all.counts.counting);
    let json = serde_json::to_value(&all).unwrap();
    assert_eq!(json["caches"][0]["state"], "cold, verified");
    let states = [Some("warm"), Some("cold, verified"), None];
    let mixed = made_up::with_caches(batch, |cell| states[cell as usize]);
    titled(&mixed, "A made-up study (cache: cold, verified in 5; warm in 5; not verified in 5 of 15 runs)");
}
