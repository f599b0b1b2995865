//! The picture for a slide as pixels: words need a font of this machine, and a picture without words is none.

/// Draws an SVG as a PNG in the fonts of this machine.
///
/// # Errors
///
/// When this machine has no font that has the letters.
#[cfg(feature = "png")]
pub(crate) fn from_svg(svg: &str) -> anyhow::Result<Vec<u8>> {
    let mut fonts = resvg::usvg::fontdb::Database::new();
    fonts.load_system_fonts();
    drawn::draw(svg, fonts)
}

/// Refuses, in a build without the feature `png`.
#[cfg(not(feature = "png"))]
pub(crate) fn from_svg(_: &str) -> anyhow::Result<Vec<u8>> {
    anyhow::bail!(
        "could not draw a PNG: this build is without the feature \"png\"\nhint: write slide.svg, which needs no feature, or build with `cargo build --release -p fathom --features png`"
    )
}

#[cfg(feature = "png")]
mod drawn {
    use std::sync::Arc;

    use anyhow::{Context, bail};
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::fontdb::{Database, Family, Query, Style};
    use resvg::usvg::{Group, Node, Options, Text, Tree};

    /// Pixels per unit of the picture: 1920 x 1080, what projectors show.
    const SCALE: f32 = 1.5;

    pub(crate) fn draw(svg: &str, mut fonts: Database) -> anyhow::Result<Vec<u8>> {
        if fonts.is_empty() {
            bail!("this machine has no fonts\n{HINT}");
        }
        choose_last_resorts(&mut fonts);
        let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
        let tree = Tree::from_str(svg, &options).context("could not render the picture")?;
        let mut letters = Letters::default();
        letters.count(tree.root());
        if letters.lost > 0 || letters.drawn == 0 {
            bail!("no font of this machine has the letters of the picture\n{HINT}");
        }
        let size = tree.size().to_int_size().scale_by(SCALE).context("the picture has no size")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).context("the picture has no size")?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().context("could not encode the picture as PNG")
    }

    const HINT: &str = "hint: install a font (on Debian fonts-dejavu-core), or use --format svg";

    /// Sees to it that the last resorts are fonts that exist: unless a file of the system says otherwise, they are Arial
    /// and Times New Roman.
    fn choose_last_resorts(fonts: &mut Database) {
        let upright = fonts.faces().filter(|face| face.style == Style::Normal);
        let best = upright.min_by_key(|face| (face.monospaced, !is_sans(&face.families)));
        let Some((name, _)) = best.and_then(|face| face.families.first().cloned()) else { return };
        let is_there = |family| fonts.query(&Query { families: &[family], ..Query::default() }).is_some();
        let (has_sans_serif, has_serif) = (is_there(Family::SansSerif), is_there(Family::Serif));
        if !has_sans_serif {
            fonts.set_sans_serif_family(&name);
        }
        if !has_serif {
            fonts.set_serif_family(&name);
        }
    }

    fn is_sans<T>(families: &[(String, T)]) -> bool {
        families.iter().any(|(name, _)| name.contains("Sans"))
    }

    /// Plain letters and digits of a picture that a font has, and those that none has.
    #[derive(Default)]
    struct Letters {
        drawn: usize,
        lost: usize,
    }

    impl Letters {
        fn count(&mut self, root: &Group) {
            let mut groups = vec![root];
            while let Some(group) = groups.pop() {
                for node in group.children() {
                    match node {
                        Node::Group(group) => groups.push(group),
                        Node::Text(text) => self.count_text(text),
                        Node::Path(_) | Node::Image(_) => {}
                    }
                }
            }
        }

        fn count_text(&mut self, text: &Text) {
            for glyph in text.layouted().iter().flat_map(|span| &span.positioned_glyphs) {
                if glyph.text.contains(|letter: char| letter.is_ascii_alphanumeric()) {
                    // Glyph 0 is the box that fonts draw for what they lack.
                    *(if glyph.id.0 == 0 { &mut self.lost } else { &mut self.drawn }) += 1;
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        #![allow(clippy::unwrap_used)]
        use super::*;

        const WORDS: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"40\">\
            <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
            <text x=\"5\" y=\"25\" font-size=\"20\">words</text></svg>";

        #[test]
        fn a_machine_without_fonts_draws_no_picture_without_words() {
            let error = draw(WORDS, Database::new()).unwrap_err().to_string();
            assert!(error.contains("no font") && error.contains("hint: install a font"), "{error}");
        }

        #[test]
        fn words_leave_ink_on_the_picture() {
            let mut fonts = Database::new();
            fonts.load_system_fonts();
            if fonts.is_empty() {
                eprintln!("this machine has no font: nothing tested");
                return;
            }
            // No such fonts: another one stands in.
            fonts.set_sans_serif_family("A font that nobody has");
            fonts.set_serif_family("Another one");
            let picture = Pixmap::decode_png(&draw(WORDS, fonts).unwrap()).unwrap();
            assert_eq!((picture.width(), picture.height()), (150, 60));
            assert!(picture.pixels().iter().any(|pixel| pixel.red() < 64), "the paper is white");
        }

        #[test]
        fn a_picture_of_lines_alone_is_refused() {
            let mut fonts = Database::new();
            fonts.load_system_fonts();
            let lines = WORDS.replace("words", "");
            assert!(draw(&lines, fonts).is_err());
        }
    }
}
