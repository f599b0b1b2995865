//! Numbers as text: four significant digits, the same number of decimals down a column, nothing decided on them.

mod units;

pub use units::{Unit, duration, exact, grouped, human, thousands};

/// Significant digits of the smallest number of a column.
const SIGNIFICANT_DIGITS: i32 = 4;

/// What stands where there is no number.
pub const ABSENT: &str = "-";

/// How many decimals the numbers of one column get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimals(usize);

impl Decimals {
    /// Chooses so that the smallest of the values that are not zero keeps four significant digits.
    pub fn for_values(values: impl IntoIterator<Item = f64>) -> Self {
        let sizes = values.into_iter().map(f64::abs).filter(|size| *size > 0.0 && size.is_finite());
        let smallest = sizes.fold(f64::INFINITY, f64::min);
        if smallest.is_infinite() {
            return Self(0);
        }
        let digits_before_point = smallest.log10().floor() as i32 + 1;
        Self((SIGNIFICANT_DIGITS - digits_before_point).clamp(0, 9) as usize)
    }

    /// As [`Decimals::for_values`], with none when all values are whole.
    pub fn for_column(values: impl IntoIterator<Item = f64> + Clone) -> Self {
        let is_whole = values.clone().into_iter().all(|value| value.fract() == 0.0);
        if is_whole { Self(0) } else { Self::for_values(values) }
    }

    /// Writes a value with this number of decimals.
    pub fn write(self, value: f64) -> String {
        if value.is_finite() { format!("{value:.*}", self.0) } else { ABSENT.to_owned() }
    }

    /// Writes a value or, when it is absent, a dash.
    pub fn write_or_dash(self, value: Option<f64>) -> String {
        value.map_or_else(|| ABSENT.to_owned(), |value| self.write(value))
    }
}

/// Writes one number by itself: whole numbers in full, others with four significant digits.
pub fn number(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    Decimals::for_values([value]).write(value)
}

/// Writes an index of the store for people, who count from 1.
pub fn counted_from_one(index: u32) -> String {
    (u64::from(index) + 1).to_string()
}

/// Writes a percentage with one decimal, without the sign `%`.
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{value:.1}") } else { ABSENT.to_owned() }
}

/// Writes a factor with two decimals, or three significant digits below 0.1.
pub fn factor(value: f64) -> String {
    if value.abs() < 0.1 && value != 0.0 { number(value) } else { format!("{value:.2}") }
}

/// Writes a p value; what is below 0.001 is written so.
pub fn p_value(value: f64) -> String {
    if value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_four_digits_of_its_smallest_number() {
        let column = Decimals::for_values([12.3456, 0.0, 1234.5]);
        assert_eq!((column.write(12.3456), column.write(1234.5)), ("12.35".to_owned(), "1234.50".to_owned()));
        assert_eq!(Decimals::for_values([0.0]).write(0.0), "0");
        assert_eq!(Decimals::for_values([0.00012344]).write(0.00012344), "0.0001234");
        assert_eq!(column.write_or_dash(None), "-");
        assert_eq!(column.write(f64::NAN), "-");
        assert_eq!(Decimals::for_column([3.0, 20.0]).write(3.0), "3");
        assert_eq!(Decimals::for_column([3.0, 20.5]).write(3.0), "3.000");
    }

    #[test]
    fn numbers_by_themselves_are_short_and_whole_ones_are_whole() {
        let texts: Vec<String> =
            [500.0, 134_217_728.0, 1_234_567.8, 2.0 / 3.0, -0.5, f64::NAN].map(number).to_vec();
        assert_eq!(texts, ["500", "134217728", "1234568", "0.6667", "-0.5000", "-"]);
        assert_eq!(
            (percent(72.96), factor(3.7), factor(0.012_34)),
            ("73.0".into(), "3.70".into(), "0.01234".into())
        );
        assert_eq!((p_value(0.0159), p_value(0.0002)), ("p = 0.016".to_owned(), "p < 0.001".to_owned()));
    }
}
