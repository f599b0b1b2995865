//! What is different in the miniature of an experiment.

use crate::spec::design::{DesignSpec, REPETITIONS_MAX};
use crate::spec::document::Entry;
use crate::spec::draft::Draft;
use crate::spec::error::SpecError;
use crate::spec::validity::Validity;

const MINIATURE_KEYS: [&str; 6] = ["repetitions", "against", "factors", "parameters", "engine", "validity"];

/// What is different in the miniature.
#[derive(Clone, Debug)]
pub(crate) struct Miniature {
    pub(crate) repetitions: Option<u32>,
    /// Its contrasts alone.
    pub(crate) design: DesignSpec,
    /// `None` keeps the factors of the full scale.
    pub(crate) factors: Option<Draft>,
    pub(crate) parameters: Draft,
    pub(crate) validity: Validity,
}

impl Miniature {
    /// Reads `[miniature]`; `validity` is that of the full scale.
    pub(super) fn read(entries: &[Entry<'_>], validity: &Validity, is_own: bool) -> Result<Self, SpecError> {
        let mut miniature = Self {
            repetitions: None,
            design: DesignSpec::default(),
            factors: None,
            parameters: Draft::new(is_own),
            validity: validity.clone(),
        };
        let mut both = Draft::new(is_own);
        let mut has_factors = false;
        for entry in entries {
            match entry.key {
                "repetitions" => miniature.repetitions = Some(entry.count(1..=REPETITIONS_MAX)?),
                "against" => miniature.design.read_against(entry)?,
                "factors" => {
                    both.read_factors(&entry.table()?)?;
                    has_factors = true;
                }
                "parameters" => both.read_parameters(&entry.table()?)?,
                "engine" => both.read_engines(&entry.table()?)?,
                "validity" => miniature.validity.read(&entry.table()?)?,
                _ => return Err(entry.not_known("[miniature]", &MINIATURE_KEYS)),
            }
        }
        miniature.factors =
            has_factors.then(|| Draft { factors: std::mem::take(&mut both.factors), ..Draft::new(is_own) });
        miniature.parameters = both;
        Ok(miniature)
    }
}
