//! Growth to a size: whole copies of the rows, then a part of one more, in small steps.

use super::portion::{Portion, Statements};
use super::{ExpandError, Table};

/// Copies at most: a source of a few bytes must not loop for ever.
const COPIES_MAX: u64 = 10_000_000;

/// Parts of the wanted size in the smallest step of a partial copy: 0.5 %, well within the 5 % that are promised.
const STEPS_PER_SIZE: u64 = 200;

/// Which rows of the source a copy takes: those whose step is above the first and not above the second number.
pub type Steps = (i64, i64);

/// A database that grows.
pub trait Growing: Statements {
    /// Bytes of the database now.
    fn size_bytes(&mut self) -> Result<u64, ExpandError>;

    /// Adds copy number `copy`: all rows of the source, or those of some steps.
    fn copy(&mut self, copy: u64, steps: Option<Steps>) -> Result<(), ExpandError>;
}

/// How far and by what a database grows.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Bytes to reach.
    pub wanted_bytes: u64,
    /// Number of the first copy, and what is added for the next.
    pub first: u64,
    /// From each copy to the next.
    pub step: u64,
    /// Bytes that one copy is expected to take; what the first one takes is measured.
    pub copy_bytes: u64,
}

/// What was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub whole_copies: u64,
    pub partial_copies: u64,
    pub size_bytes: u64,
}

/// Adds copies until the size is reached. `on_step` gets the bytes so far and fails to stop.
///
/// # Errors
/// What the engine or `on_step` refuses.
pub fn grow(
    engine: &mut impl Growing,
    tables: &[Table],
    aim: Aim,
    on_step: &mut dyn FnMut(u64) -> Result<(), ExpandError>,
) -> Result<Growth, ExpandError> {
    let mut growth = Growth { size_bytes: engine.size_bytes()?, ..Growth::default() };
    let (mut number, mut measured_bytes) = (aim.first, None);
    let mut portion = None;
    while growth.size_bytes < aim.wanted_bytes && growth.whole_copies < COPIES_MAX {
        on_step(growth.size_bytes)?;
        let copy_bytes: u64 = measured_bytes.unwrap_or(aim.copy_bytes);
        let before_bytes = growth.size_bytes;
        // A copy may take more than the one before: pages split where keys come in another order.
        let is_whole = if aim.wanted_bytes - before_bytes >= 2 * copy_bytes {
            engine.copy(number, None)?;
            growth.size_bytes = engine.size_bytes()?;
            true
        } else {
            let portion = match &mut portion {
                Some(portion) => portion,
                none => none.insert(Portion::make(engine, tables)?),
            };
            let by_steps = InSteps { portion, number, copy_bytes, wanted_bytes: aim.wanted_bytes };
            by_steps.copy(engine, &mut growth.size_bytes, on_step)?
        };
        growth.whole_copies += u64::from(is_whole);
        growth.partial_copies += u64::from(!is_whole);
        let grown_bytes = growth.size_bytes.saturating_sub(before_bytes);
        measured_bytes = Some(measured_bytes.unwrap_or(0).max(grown_bytes));
        number += aim.step;
    }
    Ok(growth)
}

/// One copy that ends when the size is reached.
struct InSteps<'a> {
    portion: &'a Portion,
    number: u64,
    copy_bytes: u64,
    wanted_bytes: u64,
}

impl InSteps<'_> {
    /// Whether the copy became whole.
    fn copy(
        &self,
        engine: &mut impl Growing,
        size_bytes: &mut u64,
        on_step: &mut dyn FnMut(u64) -> Result<(), ExpandError>,
    ) -> Result<bool, ExpandError> {
        let (mut done, mut done_row_bytes) = (-1, 0);
        while *size_bytes < self.wanted_bytes {
            if done >= self.portion.last_step {
                return Ok(true);
            }
            on_step(*size_bytes)?;
            // Half of what is missing: an estimate that is wrong by a factor of two passes the size by nothing.
            let missing_bytes = self.wanted_bytes - *size_bytes;
            let add_bytes = (missing_bytes / 2).max(self.wanted_bytes / STEPS_PER_SIZE);
            let row_bytes = u128::from(add_bytes) * u128::from(self.portion.row_bytes)
                / u128::from(self.copy_bytes.max(1));
            let row_bytes = u64::try_from(row_bytes).unwrap_or(u64::MAX).min(self.portion.row_bytes);
            let (next, next_row_bytes) = self.portion.next(engine, done, done_row_bytes + row_bytes)?;
            engine.copy(self.number, Some((done, next)))?;
            (done, done_row_bytes) = (next, next_row_bytes);
            *size_bytes = engine.size_bytes()?;
        }
        Ok(done >= self.portion.last_step)
    }
}
