//! The strip map of a tree: physical page number over the logical order of the leaves. A straight line is perfect order.

use super::super::markup::Markup;
use super::axis::Axis;
use super::{Drawing, WIDTH, num};

const LEFT: f64 = 56.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 190.0;

/// Draws one point per listed leaf; every `step`th of `leaf_count` leaves is listed.
pub(crate) fn draw(title: &str, step: u64, leaf_count: u64, pages: &[u64]) -> Markup {
    let mut drawing = Drawing::new(title);
    drawing.text("word strong", (2.0, 14.0), &super::shortened(title, 56));
    let axis = Axis::from_zero(0.0, pages.iter().copied().max().unwrap_or(1) as f64);
    let order = Axis::from_zero(0.0, leaf_count.max(1) as f64);
    let y_of = |page: f64| HEIGHT - (HEIGHT - TOP) * axis.place(page);
    let x_of = |leaf: f64| LEFT + (WIDTH - RIGHT - LEFT) * order.place(leaf);
    for tick in &axis.ticks {
        drawing.line(
            if *tick == 0.0 { "grid zero" } else { "grid" },
            (LEFT, y_of(*tick)),
            (WIDTH - RIGHT, y_of(*tick)),
        );
        drawing.text("word end small", (LEFT - 5.0, y_of(*tick) + 4.0), &axis.words(*tick));
    }
    let mut path = String::new();
    for (index, page) in pages.iter().enumerate() {
        let at = (x_of((index as u64 * step) as f64), y_of(*page as f64));
        path.push_str(&format!("M{} {}h1.4", num(at.0), num(at.1)));
    }
    let class = if pages.len() < 150 { "strip few" } else { "strip" };
    drawing.outline(class, &path);
    for tick in order.ticks.iter().filter(|tick| **tick <= leaf_count as f64) {
        drawing.text("word middle small", (x_of(*tick), HEIGHT + 16.0), &order.words(*tick));
    }
    let every = if step > 1 { format!(" (one leaf in {step})") } else { String::new() };
    drawing.text(
        "word end faint",
        (WIDTH - RIGHT, HEIGHT + 34.0),
        &format!("leaf in the order of keys{every}"),
    );
    drawing.finish(HEIGHT + 42.0)
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn every_listed_leaf_has_a_point() {
        let svg = draw("index", 10, 40, &[3, 9, 4, 8]).into_string();
        assert_eq!(svg.matches("h1.4").count(), 4);
        assert!(svg.contains("one leaf in 10"));
    }
}
