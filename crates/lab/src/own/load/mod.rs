//! Rows for a bulk load: from a CSV file, or made up by a generator for each column.

mod course;
mod csv_file;
mod generator;

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::workload::{Load, OwnWorkload};
use crate::engine::{BulkLoad, OwnDatabases, TargetError};
use course::Course;
pub use generator::column_program;
use generator::{Generator, SLICE_ROWS};

/// How often the caller hears how far a load is.
const TICK: Duration = Duration::from_millis(100);

/// Loads rows in bulk, on threads of its own; `on_rows` hears ten times a second how many there are, and says whether to go
/// on. Returns the rows that the engine counted; nothing where the load is not in bulk.
pub(super) fn load(
    databases: &mut dyn OwnDatabases,
    own: &OwnWorkload,
    on_rows: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<u64>, TargetError> {
    let course = Course::default();
    match &own.load {
        None | Some(Load::Script { .. }) => Ok(None),
        Some(copy @ Load::Copy { .. }) => {
            let loaders = vec![databases.loader()?];
            let work = |mut loader: Box<dyn BulkLoad>| csv_file::load(copy, loader.as_mut(), &course);
            on_threads(loaders, &work, &course, on_rows).map(Some)
        }
        Some(Load::Columns { table, rows, connections, columns }) => {
            let generator = Generator::new(own, columns, *rows).map_err(|reason| TargetError::Refused {
                text: format!("load of table {table}: {reason}"),
                hint: None,
            })?;
            let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
            let count = u64::from((*connections).max(1)).min(rows.div_ceil(SLICE_ROWS).max(1));
            let loaders = (0..count).map(|_| databases.loader()).collect::<Result<Vec<_>, _>>()?;
            let work = |mut loader: Box<dyn BulkLoad>| {
                loader.begin(table, &names)?;
                loop {
                    let slice = course.next_slice.fetch_add(1, Ordering::Relaxed);
                    let made = generator.slice(slice, &mut |values| loader.row(values))?;
                    if made == 0 || !course.add(made) {
                        return loader.end();
                    }
                }
            };
            on_threads(loaders, &work, &course, on_rows).map(Some)
        }
    }
}

/// Runs `work` with each loader on a thread of its own; returns the sum of the rows.
fn on_threads(
    loaders: Vec<Box<dyn BulkLoad>>,
    work: &(dyn Fn(Box<dyn BulkLoad>) -> Result<u64, TargetError> + Sync),
    course: &Course,
    on_rows: &mut dyn FnMut(u64) -> bool,
) -> Result<u64, TargetError> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = loaders.into_iter().map(|loader| scope.spawn(move || work(loader))).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            std::thread::sleep(TICK);
            if !on_rows(course.rows.load(Ordering::Relaxed)) {
                course.is_stopped.store(true, Ordering::Relaxed);
            }
        }
        let mut sum = 0;
        for thread in threads {
            let ended = thread.join();
            sum +=
                ended.map_err(|_| TargetError::engine("could not load", "a loading thread panicked"))??;
        }
        if course.is_stopped.load(Ordering::Relaxed) {
            return Err(TargetError::Refused { text: "the load was interrupted".to_owned(), hint: None });
        }
        Ok(sum)
    })
}
