//! What all pages have: head, colours, definitions, script.

use base64::Engine;
use sha2::{Digest, Sha256};

use super::definitions::{Definition, Definitions};
use super::markup::{Markup, markup};

const STYLE: &str = concat!(
    include_str!("../../vendor/uplot-1.6.32/uPlot.min.css"),
    include_str!("../../assets/chart.css"),
    include_str!("../../assets/page.css")
);
const UPLOT: &str = include_str!("../../vendor/uplot-1.6.32/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../../vendor/uplot-1.6.32/LICENSE");
const SCRIPT: &str = concat!(include_str!("../../assets/zoom.js"), include_str!("../../assets/page.js"));

/// A page whose script draws no counters over time.
const NO_DATA: &str = r#"{"counters":[],"clocks":[],"runs":[]}"#;

/// What one page puts into the shell.
#[derive(Default)]
pub(super) struct Content<'a> {
    /// Its name.
    pub(super) title: &'a str,
    /// The line above the name.
    pub(super) kicker: String,
    /// Behind the name.
    pub(super) lead: Markup,
    /// Links to the sections.
    pub(super) links: Markup,
    /// The sections.
    pub(super) sections: Markup,
    /// JSON that the script draws over time, safe inside its element; `None` where nothing is drawn.
    pub(super) data: Option<String>,
    /// Does it ask its server for news?
    pub(super) is_live: bool,
}

impl Content<'_> {
    /// Writes the page.
    pub(super) fn page(self, definitions: &Definitions) -> String {
        let has_data = self.data.is_some();
        let head = markup!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"fathom\">\n\
             <title>{}</title>\n<style>{}</style>\n</head>\n",
            policy(self.is_live),
            self.title,
            Markup::trusted(STYLE)
        );
        let header = markup!(
            "<body{}>\n<header>\n<div class=\"bar\"><p class=\"kicker\">fathom · {}</p>\n\
             <button id=\"theme\" class=\"scripted\" type=\"button\" title=\"Colours: as the system, light, dark\">\
             ◐ auto</button></div>\n<h1>{}</h1>\n{}</header>\n{}\n",
            if self.is_live { " data-live" } else { "" },
            self.kicker,
            self.title,
            self.lead,
            self.links
        );
        let footer = markup!(
            "<aside id=\"definitions\"><h2>Definitions</h2>\n{}</aside>\n\
             <footer><p>Written by fathom from stored results; nothing on this page was typed by hand.{}</p></footer>\n\
             <div id=\"tip\" role=\"status\" hidden></div>\n",
            definitions.used().into_iter().map(footnote).collect::<Markup>(),
            if has_data { " Charts over time: uPlot, MIT licence." } else { "" }
        );
        let scripts = markup!(
            "<script type=\"application/json\" id=\"data\">{}</script>\n{}<script>{}</script>\n</body>\n</html>",
            Markup::trusted(self.data.unwrap_or_else(|| NO_DATA.to_owned())),
            if has_data { plot() } else { Markup::default() },
            Markup::trusted(SCRIPT)
        );
        let main = markup!("<main>\n{}</main>\n", self.sections);
        [head, header, main, footer, scripts].into_iter().collect::<Markup>().into_string()
    }
}

/// The library for charts over time, with its licence.
fn plot() -> Markup {
    markup!(
        "<!--\nuPlot\n{}\n-->\n<script>{}</script>\n",
        Markup::trusted(UPLOT_LICENCE),
        Markup::trusted(UPLOT)
    )
}

/// A definition, cut into its paragraph and its points.
fn footnote(entry: &Definition) -> Markup {
    let lines = entry.text.lines().map(|line| markup!("<p>{}</p>", line.trim_start_matches("- ")));
    markup!(
        "<div id=\"def-{}\" class=\"definition\"><b>{}</b>{}</div>\n",
        entry.number,
        entry.names.join(", "),
        lines.collect::<Markup>()
    )
}

/// What the page may do: run its own two scripts, and nothing from elsewhere; a live page may ask its own server.
fn policy(is_live: bool) -> Markup {
    let hash = |script: &str| {
        let digest = Sha256::digest(script.as_bytes());
        Markup::trusted(format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest)))
    };
    let connect = if is_live { Markup::trusted("connect-src 'self'; ") } else { Markup::default() };
    markup!(
        "default-src 'none'; {}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
         script-src {} {}",
        connect,
        hash(UPLOT),
        hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendored_files_are_those_that_their_sums_name() {
        let sums = include_str!("../../vendor/uplot-1.6.32/VENDOR.toml");
        let css = include_str!("../../vendor/uplot-1.6.32/uPlot.min.css");
        for (name, text) in [("LICENSE", UPLOT_LICENCE), ("uPlot.iife.min.js", UPLOT), ("uPlot.min.css", css)]
        {
            let digest: String =
                Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(sums.contains(&format!("\"{name}\" = \"{digest}\"")), "{name} has the sum {digest}");
        }
    }

    #[test]
    fn no_script_of_ours_can_end_its_element() {
        for text in [UPLOT, SCRIPT] {
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }
}
