//! What a claim names and a study lacks: a factor, or a level of one.

use results::model::{Factor, Level};

use super::rule::{ClaimError, Name, Selector};

pub(super) fn find_factor<'a>(name: &Name, factors: &'a [Factor]) -> Result<&'a Factor, ClaimError> {
    factors.iter().find(|factor| factor.name == name.text).ok_or_else(|| {
        let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        ClaimError {
            span: name.span.clone(),
            title: format!("{} is not a factor here", crate::spec::error::quoted(&name.text)),
            help: Some(if known.is_empty() {
                "there is no factor at this scale".to_owned()
            } else {
                crate::spec::error::suggestion(&name.text, &known)
            }),
        }
    })
}

pub(super) fn unknown_in_selector(selector: &Selector, factors: &[Factor]) -> Option<ClaimError> {
    let factor = match find_factor(&selector.factor, factors) {
        Ok(factor) => factor,
        Err(unknown_reference) => return Some(unknown_reference),
    };
    if factor.levels.iter().any(|level| selector.level.is(level)) {
        return None;
    }
    let levels: Vec<String> = factor.levels.iter().map(Level::to_string).collect();
    Some(ClaimError {
        span: selector.level.span.clone(),
        title: format!(
            "{} is not a level of `{}`",
            crate::spec::error::quoted(&selector.level.text),
            factor.name
        ),
        help: Some(format!("its levels are {}", levels.join(", "))),
    })
}
