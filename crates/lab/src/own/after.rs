//! Rows of what is executed after a run, as metrics.

use results::model::{Metric, Warning};

use super::statements::ResultSet;

/// Longest name of a metric.
const NAME_CHARS_MAX: usize = 64;
/// Most metrics that a run takes.
const METRICS_MAX: usize = 200;

/// The metrics that rows give, and what is left out of them.
///
/// A result with one row gives a metric for each column that has a number, named as the column. A result with two
/// columns, a name and a number, gives one for each row. The unit follows from the end of the name: `_bytes`, `_s`,
/// `_ms`, `_us`, `_percent`, else a count.
pub fn metrics(results: &[ResultSet], source: &str) -> (Vec<Metric>, Vec<Warning>) {
    let mut metrics: Vec<Metric> = Vec::new();
    let mut left_out: Vec<String> = Vec::new();
    for result in results {
        for (name, value) in named_values(result, &mut left_out) {
            let name = name.to_lowercase();
            let number = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            match number {
                None => left_out.push(format!("{name} (\"{}\" is not a number)", shortened(&value))),
                Some(_) if !is_name(&name) => {
                    left_out.push(format!("\"{}\" (no name of a metric)", shortened(&name)))
                }
                Some(_) if metrics.iter().any(|metric| metric.name == name) => {
                    left_out.push(format!("{name} (given twice)"));
                }
                Some(_) if metrics.len() == METRICS_MAX => {
                    left_out.push(format!("{name} (more than {METRICS_MAX} metrics)"));
                }
                Some(number) => metrics.push(Metric::new(&name, number, unit_of(&name), source)),
            }
        }
    }
    let text = format!("{source}: left out of the metrics: {}", left_out.join(", "));
    let warning = Warning { code: "after_left_out".to_owned(), text };
    (metrics, if left_out.is_empty() { Vec::new() } else { vec![warning] })
}

fn named_values(result: &ResultSet, left_out: &mut Vec<String>) -> Vec<(String, String)> {
    let is_number =
        |value: &Option<String>| value.as_deref().is_some_and(|text| text.trim().parse::<f64>().is_ok());
    let is_list = result.columns.len() == 2
        && result
            .rows
            .iter()
            .all(|row| matches!(row.as_slice(), [name, _] if name.is_some() && !is_number(name)));
    if is_list {
        let pair = |row: &Vec<Option<String>>| match row.as_slice() {
            [Some(name), Some(value)] => Some((name.clone(), value.clone())),
            _ => None,
        };
        return result.rows.iter().filter_map(pair).collect();
    }
    match result.rows.as_slice() {
        [] => Vec::new(),
        [row] => result
            .columns
            .iter()
            .zip(row)
            .filter_map(|(column, value)| Some((column.clone(), value.clone()?)))
            .collect(),
        rows => {
            left_out.push(format!(
                "{} ({} rows; one row is taken, or rows of a name and a number)",
                result.columns.join(", "),
                rows.len()
            ));
            Vec::new()
        }
    }
}

fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase());
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    begins && name.len() <= NAME_CHARS_MAX && name.chars().all(plain)
}

fn unit_of(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("bytes") => "bytes",
        Some("s") => "s",
        Some("ms") => "ms",
        Some("us") => "us",
        Some("percent") => "%",
        _ => "1",
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(columns: &[&str], rows: &[&[Option<&str>]]) -> ResultSet {
        let owned = |value: &Option<&str>| value.map(str::to_owned);
        ResultSet {
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: rows.iter().map(|row| row.iter().map(owned).collect()).collect(),
        }
    }

    #[test]
    fn one_row_gives_its_columns_and_a_list_gives_its_rows() {
        let (metrics, warnings) = metrics(
            &[
                result(&["orders_bytes", "fill_percent"], &[&[Some("8192"), Some("91.5")]]),
                result(
                    &["name", "pages"],
                    &[&[Some("heap_pages"), Some("12")], &[Some("index_pages"), Some("3")]],
                ),
                result(&["hot"], &[&[None]]),
            ],
            "after.sql",
        );
        let found: Vec<_> =
            metrics.iter().map(|metric| (metric.name.as_str(), metric.value, metric.unit.as_str())).collect();
        assert_eq!(
            found,
            [
                ("orders_bytes", 8192.0, "bytes"),
                ("fill_percent", 91.5, "%"),
                ("heap_pages", 12.0, "1"),
                ("index_pages", 3.0, "1"),
            ]
        );
        assert!(warnings.is_empty());
    }

    #[test]
    fn what_is_no_metric_is_named() {
        let (metrics, warnings) = metrics(
            &[
                result(&["state"], &[&[Some("ok")]]),
                result(&["a b"], &[&[Some("1")]]),
                result(&["n"], &[&[Some("1")], &[Some("2")]]),
                result(&["x"], &[&[Some("1")]]),
                result(&["X"], &[&[Some("NaN")]]),
                result(&["x"], &[&[Some("2")]]),
            ],
            "after.sql",
        );
        assert_eq!(metrics.len(), 1);
        for expected in ["\"ok\" is not a number", "\"a b\"", "n (2 rows", "x (given twice)", "\"NaN\""] {
            assert!(warnings[0].text.contains(expected), "{expected}: {}", warnings[0].text);
        }
    }
}
