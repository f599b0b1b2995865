//! Compares visible rows with the summaries of BRIN indexes.

use formats::postgres::attribute::Datum;

use crate::block::work::Work;
use crate::heap::context::{HeapCheck, HeapScratch};
use crate::rules;

impl HeapCheck<'_> {
    /// Holds a visible row against what the BRIN indexes of its table know of its range.
    pub(crate) fn check_ranges<S>(
        &self,
        values: &[Datum<'_>],
        item: u16,
        scratch: &mut HeapScratch,
        work: &mut Work<'_, S>,
    ) {
        let block = work.place.block;
        let HeapScratch { ranges: reader, buffer, .. } = scratch;
        for number in &self.table.summarised_by {
            let Some(brin) = self.ranges.plans.get(number) else { continue };
            // The second look reads the index again: the first may have seen blocks that were being written.
            let mut refusal = None;
            for is_anew in [false, true] {
                if reader.is_accused(*number, block) {
                    break;
                }
                let columns = &brin.columns;
                let Some(summary) = reader.summary(brin, columns, block, &self.ranges, is_anew) else {
                    break;
                };
                refusal = columns.iter().enumerate().find_map(|(position, column)| {
                    let number = usize::try_from(column.table_column).ok()?.checked_sub(1)?;
                    let value = values.get(number).copied().unwrap_or_else(|| self.missing_value(number));
                    Some((position, summary.refusal(position, column, &value, buffer)?))
                });
                if refusal.is_none() {
                    break;
                }
            }
            let Some((position, what)) = refusal else { continue };
            reader.accuse(*number, block);
            let expected = format!(
                "a row within the summary of index {}, which has {what} in column {} of the index",
                brin.name,
                position + 1
            );
            work.report(&rules::BRIN_SUMMARY, Some(item), expected, "a row outside the summary".to_owned());
        }
    }
}
