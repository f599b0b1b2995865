//! What the page must do, claim by claim.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::documents::OVERLAPS;
use crate::stored::{elapsed_ns, fathom, page, study, study_with, transactions_at};

const MARKS: &str = "path.dot,path.mean,rect.bar,rect.part,rect.heat,path.line,path.strip";

#[test]
fn the_page_asks_for_nothing_breaks_nothing_and_runs_no_name_as_code() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 4);
    let page = page(directory.path());
    browser.open(&page);
    assert_eq!(browser.value("window.taken === undefined"), json!(true));
    assert_eq!(browser.value("document.images.length"), json!(0));
    assert_eq!(browser.value("document.querySelectorAll('main > section').length"), json!(6));
    assert_eq!(browser.value("document.querySelector('h1').textContent.includes('<img src=x')"), json!(true));
    assert_eq!(browser.misdeeds(&page), Vec::<String>::new());
}

#[test]
fn every_chart_draws_marks_and_hover_shows_stored_values() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 4);
    browser.open(&page(directory.path()));
    let empty = format!(
        "[...document.querySelectorAll('svg.chart')].filter(svg => svg.getBoundingClientRect().width > 0)
         .filter(svg => ![...svg.querySelectorAll('{MARKS}')].some(mark => mark.getBBox().width + mark.getBBox().height > 0))
         .map(svg => svg.getAttribute('aria-label'))"
    );
    assert_eq!(browser.value(&empty), json!([]));
    let charts = browser.value("document.querySelectorAll('svg.chart').length").as_u64().unwrap();
    assert!(charts >= 6, "only {charts} charts");
    // Every run has its point; the invalid one is a cross.
    let first = "document.querySelector('#factors svg.chart')";
    assert_eq!(browser.value(&format!("{first}.querySelectorAll('path.dot').length")), json!(23));
    assert_eq!(browser.value(&format!("{first}.querySelectorAll('path.void').length")), json!(1));
    let tip = hovered(&mut browser, &format!("[...{first}.querySelectorAll('path.dot')][0]"));
    let value = elapsed_ns(0, 0) as f64 / 1e9;
    assert_eq!(tip, format!("run 1, block 1: {value} s"));

    // The counters over time: the pointer at the middle of the plot reads a look of the store.
    let painted = "(() => { const canvas = document.querySelector('#clock canvas');
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0; for (let i = 3; i < pixels.length; i += 4) if (pixels[i]) count++; return count; })()";
    assert!(browser.value(painted).as_u64().unwrap() > 1000);
    browser.value(
        "document.querySelector('#clock .u-over').scrollIntoView({block: 'center', behavior: 'instant'})",
    );
    let place = centre(&mut browser, "document.querySelector('#clock .u-over')");
    browser.point_at(place.0, place.1);
    // The plot answers on the next frame.
    let read = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(
        document.querySelector('tr[data-counter=write_transactions_per_s] [data-role=pointer]').textContent))))";
    let shown: f64 = browser.value(read).as_str().unwrap().replace(',', "").parse().unwrap();
    // Every counter has a chart of its own, whose axis begins at zero.
    let charts = "[document.querySelectorAll('#clock canvas').length, document.querySelectorAll('#clock tbody tr:not(.off)').length]";
    let counted = browser.value(charts);
    assert!(counted[0] == counted[1] && counted[0].as_u64().unwrap() >= 3, "{counted}");
    assert!((0..60).any(|second| transactions_at(second) == shown), "{shown} is no stored value");
}

#[test]
fn dragging_over_a_chart_shows_a_part_of_it_and_a_double_click_the_whole() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 2);
    browser.open(&page(directory.path()));
    let chart = "document.querySelector('#factors svg.chart')";
    browser.value(&format!("{chart}.scrollIntoView({{block: 'center', behavior: 'instant'}})"));
    let place = centre(&mut browser, chart);
    let shown = format!("{chart}.getAttribute('viewBox')");
    let is_said = "!document.querySelector('#factors .zoomed').hidden";
    let whole = browser.value(&shown);
    assert_eq!(browser.value(is_said), json!(false));
    let mut mouse = |kind: &str, off: f64, clicks: u32| {
        let event = json!({"type": kind, "x": place.0 + off, "y": place.1 + off, "button": "left", "clickCount": clicks});
        browser.ask("Input.dispatchMouseEvent", event);
    };
    mouse("mousePressed", -60.0, 1);
    mouse("mouseMoved", 20.0, 0);
    mouse("mouseReleased", 20.0, 1);
    let part = browser.value(&shown);
    assert_ne!(part, whole);
    assert_eq!(browser.value(is_said), json!(true));
    browser.value(&format!("{chart}.dispatchEvent(new MouseEvent('dblclick', {{bubbles: true}}))"));
    assert_eq!(browser.value(&shown), whole);
    assert_eq!(browser.value(is_said), json!(false));
}

#[test]
fn keys_buttons_and_two_fingers_look_closer_and_tell_figures_as_the_mouse_does() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 2);
    browser.open(&page(directory.path()));
    let chart = "document.querySelector('#factors svg.chart')";
    let shown = format!("{chart}.getAttribute('viewBox')");
    let whole = browser.value(&shown);
    let tip = "document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent";
    browser
        .value(&format!("{chart}.scrollIntoView({{block: 'center', behavior: 'instant'}}), {chart}.focus()"));
    assert_ne!(browser.value(&format!("getComputedStyle({chart}).outlineStyle")), json!("none"));
    // The event of the scrolling may come late, and hides the figures.
    let mut first = json!("");
    for _ in 0..100 {
        browser.press("Home");
        first = browser.value(tip);
        if first != "" {
            break;
        }
    }
    assert!(first.as_str().unwrap().starts_with("run 1, block 1: "), "{first}");
    browser.press("ArrowRight");
    assert_ne!(browser.value(tip), first);
    browser.press("+");
    assert_ne!(browser.value(&shown), whole);
    browser.press("0");
    assert_eq!(browser.value(&shown), whole);
    let button = |place: u32| {
        format!("document.querySelectorAll('#factors figure .closer')[0].children[{place}].click()")
    };
    browser.value(&button(0));
    assert_ne!(browser.value(&shown), whole);
    browser.value(&button(2));
    assert_eq!(browser.value(&shown), whole);
    let (x, y) = centre(&mut browser, chart);
    let mut touch = |kind: &str, apart: f64| {
        let points = match apart > 0.0 {
            true => json!([{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]),
            false => json!([]),
        };
        browser.ask("Input.dispatchTouchEvent", json!({"type": kind, "touchPoints": points}));
    };
    touch("touchStart", 20.0);
    touch("touchMove", 60.0);
    touch("touchEnd", 0.0);
    assert_ne!(browser.value(&shown), whole);
    // The counters over time: the arrows read the looks of the store, in words.
    browser.value("document.querySelector('#clock .plot').focus()");
    browser.press("Home");
    browser.press("ArrowRight");
    let said = browser.value("document.querySelector('#clock [role=status]').textContent");
    let words = format!("0.12 s: write_transactions_per_s {}", transactions_at(1));
    assert!(said.as_str().unwrap().starts_with(&words), "{said}");
    // Zooming one chart zooms all of them: the axes are painted anew, and settle.
    let painted = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(
        [...document.querySelectorAll('#clock canvas')].map(canvas => canvas.toDataURL())))))";
    let before = browser.value(painted);
    browser.value("document.querySelector('#clock .plot').focus()");
    browser.press("+");
    let after = browser.value(painted);
    let differ = |one: &Value, other: &Value| {
        let charts = one.as_array().unwrap().iter().zip(other.as_array().unwrap());
        charts.filter(|(one, other)| one != other).count()
    };
    assert_eq!(differ(&before, &after), before.as_array().unwrap().len());
    assert_eq!(differ(&after, &browser.value(painted)), 0);
    browser.press("0");
    assert_eq!(differ(&before, &browser.value(painted)), 0);
}

#[test]
fn the_files_on_the_page_are_those_of_the_export() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 2);
    browser.open(&page(directory.path()));
    for (name, format) in [("runs.csv", "csv"), ("clients.csv", "clients-csv")] {
        let link = format!("document.querySelector('a[download=\"{name}\"]').href");
        let content = browser.value(&format!("decodeURIComponent({link}.slice({link}.indexOf(',') + 1))"));
        let exported = fathom(directory.path(), &["export", "--format", format]);
        assert_eq!(content.as_str().unwrap(), exported, "{name}");
    }
    // The series are made by the script on demand.
    let made = "(() => { const link = [...document.querySelectorAll('a.download')].at(-1);
        link.addEventListener('click', event => event.preventDefault()); link.click(); return link.href.slice(0, 5); })()";
    assert_eq!(browser.value(made), json!("blob:"));
}

#[test]
fn a_page_of_a_hundred_runs_stays_small() {
    let directory = tempfile::tempdir().unwrap();
    // A study on PostgreSQL has about 35 counters in a run; these are 64.
    study_with(directory.path(), 17, 60);
    let page = page(directory.path());
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 2_000_000, "{bytes} bytes for 102 runs");
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page);
    assert_eq!(browser.value("document.querySelectorAll('#clock-run option').length"), json!(102));
}

/// The open page on a phone: nothing reaches beyond the screen, and rows of tables begin with what they are about.
pub(crate) fn fits_a_phone(browser: &mut Browser) {
    assert_eq!(browser.value(OVERLAPS), json!([]));
    // Tables scroll by themselves; the page does not, and nothing else reaches beyond it.
    let wide = "[...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll, nav, pre, #tip')
        && one.getBoundingClientRect().right > 391).map(one => one.tagName + ' ' + one.className + ' ' + one.textContent.slice(0, 40))";
    assert_eq!(browser.value(wide), json!([]));
    assert_eq!(browser.value("document.scrollingElement.scrollWidth"), json!(390));
    // The name of a row and its first value are seen without scrolling, and names are not broken into letters.
    browser.value("document.querySelectorAll('details').forEach(folded => folded.open = true)");
    let unseen = "[...document.querySelectorAll('table:not(.stack) tbody tr')].filter(row => row.cells.length > 1).filter(row => {
        const scroll = row.closest('.scroll').getBoundingClientRect();
        const name = document.createRange();
        name.selectNodeContents(row.cells[0]);
        const lines = name.getBoundingClientRect().height / 18;
        return row.cells[1].getBoundingClientRect().left + 20 > scroll.right || lines > 2 + row.cells[0].textContent.length / 8;
    }).map(row => row.textContent.slice(0, 60))";
    assert_eq!(browser.value(unseen), json!([]));
}

#[test]
fn the_page_is_legible_on_a_phone_and_in_the_dark() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 2);
    let page = page(directory.path());
    browser.phone();
    browser.open(&page);
    fits_a_phone(&mut browser);
    let small = "[...document.querySelectorAll('svg.chart text')].filter(text => text.getBoundingClientRect().width > 0)
        .map(text => parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getBoundingClientRect().width / 480)
        .filter(size => size < 9).length";
    assert_eq!(browser.value(small), json!(0));
    let body = "parseFloat(getComputedStyle(document.body).fontSize)";
    assert!(browser.value(body).as_f64().unwrap() >= 14.0);
    for (scheme, is_dark) in [("dark", true), ("light", false)] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.ask("Emulation.setEmulatedMedia", features);
        browser.open(&page);
        let (ink, paper) = (luminance(&mut browser, "color"), luminance(&mut browser, "backgroundColor"));
        assert_eq!(paper < ink, is_dark, "{scheme}: text {ink}, ground {paper}");
        let contrast = (ink.max(paper) + 0.05) / (ink.min(paper) + 0.05);
        assert!(contrast > 7.0, "{scheme}: contrast {contrast}");
    }
    // The switch overrules the system: auto, light, dark.
    browser.value("document.querySelector('#theme').click(), document.querySelector('#theme').click()");
    assert!(luminance(&mut browser, "backgroundColor") < 0.1);
}

#[test]
fn without_scripts_tables_pictures_and_files_remain() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 2);
    let page = page(directory.path());
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&page);
    let seen = |selector: &str| {
        format!(
            "[...document.querySelectorAll('{selector}')].filter(one => one.getBoundingClientRect().height > 0).length"
        )
    };
    assert_eq!(browser.value("document.documentElement.classList.contains('js')"), json!(false));
    for (selector, least) in
        [("table", 5), ("#time svg.chart", 6), ("#factors svg.chart", 3), ("a.download", 2)]
    {
        let count = browser.value(&seen(selector)).as_u64().unwrap();
        assert!(count >= least, "{count} of {selector} are seen");
    }
    assert_eq!(browser.value(&seen(".scripted")), json!(0));
}

/// Text of the tip when the pointer is over an element.
fn hovered(browser: &mut Browser, element: &str) -> String {
    browser.value(&format!("{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})"));
    let (x, y) = centre(browser, element);
    browser.point_at(x, y);
    browser.value("document.querySelector('#tip').textContent").as_str().unwrap().to_owned()
}

fn centre(browser: &mut Browser, element: &str) -> (f64, f64) {
    let place = browser.value(&format!(
        "(() => {{ const box = {element}.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
    ));
    (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
}

/// Relative luminance of a colour of the first section (WCAG 2).
fn luminance(browser: &mut Browser, property: &str) -> f64 {
    let colour = browser.value(&format!("getComputedStyle(document.querySelector('#answer')).{property}"));
    let channels: Vec<f64> = channels(&colour);
    let linear = |channel: f64| {
        let share = channel / 255.0;
        if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(channels[0]) + 0.7152 * linear(channels[1]) + 0.0722 * linear(channels[2])
}

fn channels(colour: &Value) -> Vec<f64> {
    let text = colour.as_str().unwrap();
    let numbers = text.trim_start_matches("rgb(").trim_start_matches("rgba(").trim_end_matches(')');
    numbers.split(',').map(|number| number.trim().parse().unwrap()).collect()
}
