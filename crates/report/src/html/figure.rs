//! Figures with their captions, and the sentence where there is nothing to show.

use super::markup::{Markup, markup};

/// A sentence in place of a section that has nothing to show.
pub(super) fn absent(sentence: &str) -> Markup {
    markup!("<p class=\"absent\">{}</p>", sentence)
}

/// A picture with its caption.
pub(super) fn figure(svg: &Markup, caption: &Markup) -> Markup {
    let caption =
        if caption.is_empty() { Markup::default() } else { markup!("<figcaption>{}</figcaption>", caption) };
    markup!("<figure>{}{}</figure>", svg, caption)
}
