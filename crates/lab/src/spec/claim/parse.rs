//! From the text of a claim to its parts.

use std::ops::Range;

use super::rule::{ClaimError, Name, Operand, Operator, Right, Rule, Selector};
use crate::spec::error::quoted;

/// Longer texts are not claims that anybody reads.
const CLAIM_BYTES_MAX: usize = 1000;

const OPERATORS: [(&str, Operator); 5] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

const FORMS: &str = "write `METRIC[factor=level] < METRIC[factor=level]`, `METRIC equal`, \
                     `strictly_increasing(METRIC, factor)` or `no_difference(METRIC, factor)`";

pub(super) fn claim(text: &str) -> Result<Rule, ClaimError> {
    if text.len() > CLAIM_BYTES_MAX {
        return Err(fault(0..text.len(), format!("a claim has at most {CLAIM_BYTES_MAX} bytes")));
    }
    let mut reader = Reader { text, at: 0 };
    let rule = reader.rule()?;
    reader.skip_spaces();
    if reader.at < text.len() {
        let title = format!("found {} after the end of the claim", quoted(&text[reader.at..]));
        return Err(fault(reader.at..text.len(), title));
    }
    Ok(rule)
}

fn fault(span: Range<usize>, title: String) -> ClaimError {
    ClaimError { span, title, help: Some(FORMS.to_owned()) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rule(&mut self) -> Result<Rule, ClaimError> {
        let metric = self.name("a metric")?;
        if self.takes("(") {
            return self.call(metric);
        }
        if self.takes_word("equal") {
            return Ok(Rule::Equal { metric: metric.text });
        }
        let left = self.operand(metric)?;
        let operator = self.operator()?;
        let right = self.right()?;
        if let Right::Metric { operand, .. } = &right {
            same_factors(&left, operand)?;
        }
        Ok(Rule::Compare { left, operator, right })
    }

    fn call(&mut self, function: Name) -> Result<Rule, ClaimError> {
        let metric = self.name("a metric")?.text;
        self.expect(",")?;
        let factor = self.name("a factor")?;
        self.expect(")")?;
        match function.text.as_str() {
            "strictly_increasing" => Ok(Rule::Monotonic { metric, factor, increasing: true }),
            "strictly_decreasing" => Ok(Rule::Monotonic { metric, factor, increasing: false }),
            "no_difference" => Ok(Rule::NoDifference { metric, factor }),
            other => {
                let known = ["strictly_increasing", "strictly_decreasing", "no_difference"];
                let help = crate::spec::error::suggestion(other, &known);
                let title = format!("{} is not a function of claims", quoted(other));
                Err(ClaimError { span: function.span, title, help: Some(help) })
            }
        }
    }

    fn operand(&mut self, metric: Name) -> Result<Operand, ClaimError> {
        let mut selectors: Vec<Selector> = Vec::new();
        if self.takes("[") {
            loop {
                let factor = self.name("a factor")?;
                self.expect("=")?;
                let level = self.level()?;
                if selectors.iter().any(|selector| selector.factor.text == factor.text) {
                    let title = format!("factor {} is given twice", quoted(&factor.text));
                    return Err(fault(factor.span, title));
                }
                selectors.push(Selector { factor, level });
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(Operand { metric: metric.text, selectors })
    }

    fn operator(&mut self) -> Result<Operator, ClaimError> {
        for (symbol, operator) in OPERATORS {
            if self.takes(symbol) {
                return Ok(operator);
            }
        }
        Err(self.unexpected("one of < <= > >= =="))
    }

    fn right(&mut self) -> Result<Right, ClaimError> {
        self.skip_spaces();
        let number = self.take_while(|c| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | 'e' | '+'));
        // A metric may begin with `e`; a number begins with a digit, a point or a minus.
        if !number.text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-') {
            self.at = number.span.start;
            let metric = self.name("a metric or a number")?;
            return Ok(Right::Metric { scale: 1.0, operand: self.operand(metric)? });
        }
        let value = number.text.replace('_', "").parse::<f64>().ok().filter(|value| value.is_finite());
        let Some(value) = value else {
            return Err(fault(number.span, format!("{} is not a number", quoted(&number.text))));
        };
        if !self.takes("*") {
            return Ok(Right::Number(value));
        }
        let metric = self.name("a metric")?;
        Ok(Right::Metric { scale: value, operand: self.operand(metric)? })
    }

    fn name(&mut self, wanted: &str) -> Result<Name, ClaimError> {
        self.skip_spaces();
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        if name.text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            Ok(name)
        } else {
            self.at = name.span.start;
            Err(self.unexpected(wanted))
        }
    }

    fn level(&mut self) -> Result<Name, ClaimError> {
        self.skip_spaces();
        let level = self.take_while(|c| !matches!(c, ',' | ']' | '[' | '=' | '<' | '>'));
        let trimmed = level.text.trim_end();
        if trimmed.is_empty() {
            return Err(self.unexpected("a level"));
        }
        Ok(Name { span: level.span.start..level.span.start + trimmed.len(), text: trimmed.to_owned() })
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> Name {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !accept(c)).unwrap_or(rest.len());
        let span = self.at..self.at + length;
        self.at = span.end;
        Name { text: self.text[span.clone()].to_owned(), span }
    }

    fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
    }

    fn takes(&mut self, symbol: &str) -> bool {
        self.skip_spaces();
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let start = self.at;
        let found = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').text == word;
        if !found {
            self.at = start;
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), ClaimError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn unexpected(&mut self, wanted: &str) -> ClaimError {
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let length = rest.find(' ').filter(|length| *length > 0).unwrap_or(rest.len());
        let found = if rest.is_empty() { "the end".to_owned() } else { quoted(&rest[..length]) };
        fault(self.at..self.at + length, format!("expected {wanted} in the claim, found {found}"))
    }
}

fn same_factors(left: &Operand, right: &Operand) -> Result<(), ClaimError> {
    let lone = |one: &Operand, other: &Operand| {
        one.selectors
            .iter()
            .find(|selector| !other.selectors.iter().any(|twin| twin.factor.text == selector.factor.text))
            .map(|selector| selector.factor.clone())
    };
    match lone(left, right).or_else(|| lone(right, left)) {
        None => Ok(()),
        Some(factor) => Err(ClaimError {
            span: factor.span,
            title: format!("factor {} is named on one side of the claim only", quoted(&factor.text)),
            help: Some("name the same factors on both sides, so that each cell has one partner".to_owned()),
        }),
    }
}
