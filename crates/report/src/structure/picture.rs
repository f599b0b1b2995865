//! A strip map as a small picture of characters.

use results::structure::StripMap;

const PICTURE_WIDTH: usize = 64;
const PICTURE_HEIGHT: usize = 12;

/// The lowest and the highest page of a map.
pub(super) fn bounds(map: &StripMap) -> (u64, u64) {
    (map.pages.iter().copied().min().unwrap_or(0), map.pages.iter().copied().max().unwrap_or(0))
}

/// Lines of a picture, the highest pages first; `.` few leaves, `:` more, `#` many of a column.
pub(super) fn picture(map: &StripMap) -> Vec<String> {
    let (low, high) = bounds(map);
    let span = u128::from(high - low) + 1;
    let columns = PICTURE_WIDTH.min(map.pages.len()).max(1);
    let mut counts = vec![vec![0u32; columns]; PICTURE_HEIGHT];
    for (position, page) in map.pages.iter().enumerate() {
        let column = position * columns / map.pages.len();
        let row = (u128::from(page - low) * PICTURE_HEIGHT as u128 / span) as usize;
        counts[row][column] += 1;
    }
    let per_column = (map.pages.len() / columns).max(1) as u32;
    let character = |count: u32| match count {
        0 => ' ',
        few if few * 6 <= per_column => '.',
        more if more * 2 <= per_column => ':',
        _ => '#',
    };
    let line =
        |row: &Vec<u32>| format!("|{}|", row.iter().map(|count| character(*count)).collect::<String>());
    counts.iter().rev().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordered_tree_is_a_line_and_a_random_one_fills_the_picture() {
        let ordered = picture(&StripMap::thinned(640, 1000..1640, 640));
        assert!(ordered.iter().all(|line| line.chars().filter(|c| *c == ' ').count() >= 50), "{ordered:?}");
        let random = picture(&StripMap::thinned(6400, (0..6400).map(|page| page * 2741 % 6400), 6400));
        let filled = |line: &String| line.chars().filter(|character| *character != ' ').count();
        assert!(random.iter().all(|line| filled(line) > 40), "{random:?}");
        let single = StripMap { leaf_count: 20, step: 20, pages: vec![5] };
        assert_eq!(picture(&single).len(), PICTURE_HEIGHT);
        assert_eq!(picture(&StripMap::default()).len(), PICTURE_HEIGHT);
    }
}
