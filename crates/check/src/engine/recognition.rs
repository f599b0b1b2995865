//! Which engine a path belongs to.

use super::probe::{Match, Probe, ProbeError};
use super::value::Engine;

/// The engine that a path belongs to, by the strongest evidence; of several the first in the list. Reads a few pages of a
/// file whose first bytes do not tell.
///
/// # Errors
/// When pages cannot be read.
pub fn recognise(
    engines: &[&'static Engine],
    probe: &Probe,
) -> Result<Option<(&'static Engine, Match)>, ProbeError> {
    for strength in Match::ALL {
        for engine in engines {
            let is_match = (engine.recognise)(probe, strength)
                .map_err(|source| ProbeError::Read { path: probe.path.clone(), source })?;
            if is_match {
                return Ok(Some((engine, strength)));
            }
        }
    }
    Ok(None)
}
