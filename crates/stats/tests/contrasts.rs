//! The pairs of cells that contrasts name, and how names that are not known are refused.

#![allow(clippy::unwrap_used)]

use stats::design::contrasts::{ContrastError, Contrasts, Factor, pairs};

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor { name: name.to_owned(), levels: levels.iter().map(|&level| level.to_owned()).collect() }
}

fn grid() -> (Vec<Factor>, Vec<Vec<String>>) {
    let factors = vec![factor("connections", &["1", "4", "8"]), factor("batch_size", &["1", "10"])];
    let cells = factors[0]
        .levels
        .iter()
        .flat_map(|left| factors[1].levels.iter().map(|right| vec![left.clone(), right.clone()]))
        .collect();
    (factors, cells)
}

fn listed(contrasts: &[&str]) -> Vec<(usize, usize)> {
    let (factors, cells) = grid();
    let contrasts: Vec<Contrasts> = contrasts.iter().map(|text| text.parse().unwrap()).collect();
    let pairs = pairs(&factors, &cells, &contrasts).unwrap();
    pairs.iter().map(|pair| (pair.reference, pair.candidate)).collect()
}

fn refused(contrast: &str) -> String {
    let (factors, cells) = grid();
    contrast
        .parse::<Contrasts>()
        .and_then(|contrast| pairs(&factors, &cells, &[contrast]))
        .unwrap_err()
        .to_string()
}

// Cells: 0 is (1, 1), 1 is (1, 10), 2 is (4, 1), 3 is (4, 10), 4 is (8, 1), 5 is (8, 10).

#[test]
fn every_form_lists_the_pairs_that_are_counted_by_hand() {
    assert_eq!(listed(&["reference"]), [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]);
    assert_eq!(listed(&["previous"]), [(0, 1), (2, 3), (4, 5)]);
    assert_eq!(listed(&["previous(connections)"]), [(0, 2), (1, 3), (2, 4), (3, 5)]);
    assert_eq!(listed(&["each-level-of(connections)"]), [(0, 1), (2, 3), (4, 5)]);
    assert_eq!(listed(&["each-level-of(batch_size)"]), [(0, 2), (0, 4), (1, 3), (1, 5)]);
    assert_eq!(listed(&["pairs(connections: 8, 1)"]), [(4, 0), (5, 1)]);
}

#[test]
fn several_contrasts_give_each_pair_once() {
    assert_eq!(listed(&["previous", "reference"]), [(0, 1), (2, 3), (4, 5), (0, 2), (0, 3), (0, 4), (0, 5)]);
    assert_eq!(listed(&["pairs(batch_size: 1, 10)", "pairs(batch_size: 10, 1)"]), [(0, 1), (2, 3), (4, 5)]);
}

#[test]
fn cells_that_are_missing_or_out_of_order_do_not_confuse_the_pairs() {
    let (factors, mut cells) = grid();
    cells.remove(0);
    cells.reverse();
    // Cells: 0 is (8, 10), 1 is (8, 1), 2 is (4, 10), 3 is (4, 1), 4 is (1, 10).
    let found = pairs(&factors, &cells, &[Contrasts::Previous, Contrasts::Reference]).unwrap();
    let found: Vec<(usize, usize)> = found.iter().map(|pair| (pair.reference, pair.candidate)).collect();
    assert_eq!(found, [(1, 0), (3, 2), (4, 0), (4, 1), (4, 2), (4, 3)]);
}

#[test]
fn what_is_printed_reads_back() {
    for text in
        ["reference", "previous", "previous(key)", "each-level-of(sqlite.x)", "pairs(level: read, page)"]
    {
        assert_eq!(text.parse::<Contrasts>().unwrap().to_string(), text);
    }
    let spaced = "  pairs( level :read ,page )".parse::<Contrasts>().unwrap();
    assert_eq!(spaced.to_string(), "pairs(level: read, page)");
}

#[test]
fn names_that_are_not_known_are_refused_with_those_that_are() {
    assert_eq!(
        refused("each-level-of(conections)"),
        "factor 'conections' is not in the experiment\nhint: factors: connections, batch_size"
    );
    assert_eq!(
        refused("pairs(connections: 1, 16)"),
        "level '16' is not a level of factor 'connections'\nhint: levels: 1, 4, 8"
    );
    assert!(refused("pairs(connections: 4, 4)").contains("compares a level with itself"));
    for text in [
        "",
        "refrence",
        "pairs",
        "pairs()",
        "pairs(a)",
        "pairs(a: b)",
        "pairs(a: b, c, d)",
        "pairs(: b, c)",
        "previous(",
        "each-level-of()",
        "every(a)",
    ] {
        assert!(refused(text).contains("is not valid\nhint: write reference"), "{text}");
    }
}

#[test]
fn a_contrast_without_a_pair_is_refused() {
    let factors = [factor("label", &["a"])];
    let error = pairs(&factors, &[vec!["a".to_owned()]], &[Contrasts::Previous]).unwrap_err();
    assert!(error.to_string().starts_with("contrast previous gives no pair of cells"), "{error}");
    assert_eq!(pairs(&[], &[vec![]], &[Contrasts::Previous]), Err(ContrastError::NoFactor));
    assert!(pairs(&factors, &[vec![]], &[]).is_err() && pairs(&[], &[vec!["a".to_owned()]], &[]).is_err());
}
