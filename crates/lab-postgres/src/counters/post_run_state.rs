//! The state of the table after a run.

use lab::engine::{PostRunState, TargetError};
use lab::work::{Work, Workload};
use results::model::Metric;

use crate::capabilities::Capabilities;
use crate::control::Control;
use crate::workload::schema;
use crate::workload::table::TABLE;

/// Rows, pages and bytes of the run's table. Reads the table once, to count.
pub(crate) fn post_run_state(
    control: &mut Control,
    capabilities: &Capabilities,
    work: &Work,
) -> Result<PostRunState, TargetError> {
    if work.workload == Workload::Own {
        return sizes(control, capabilities);
    }
    if !work.workload.adds_rows() {
        return Ok(PostRunState::default());
    }
    let context = "could not count the rows of the table";
    let rows: u64 = control.count(context, &format!("SELECT count(*) FROM {TABLE}"))?;
    let mut post_run_state = PostRunState {
        rows: Some(rows),
        payload_bytes: Some(rows * schema::payload_bytes_per_row(work)),
        ..PostRunState::default()
    };
    post_run_state.metrics.extend(spread(control, work)?);
    if capabilities.storage_plain {
        post_run_state.rows_per_page = match work.workload {
            Workload::Populate => Some(1),
            Workload::GuidPopulate => Some(crate::workload::guid::ROWS_PER_PAGE),
            _ => None,
        };
    }
    if let (true, Some(page_size_bytes)) = (capabilities.relation_size, capabilities.page_size_bytes) {
        let sum_over_parts = |function: &str| {
            format!(
                "SELECT sum({function}(part))::bigint FROM (SELECT '{TABLE}'::regclass AS part UNION ALL \
                 SELECT inhrelid FROM pg_inherits WHERE inhparent = '{TABLE}'::regclass) AS parts"
            )
        };
        let context = "could not ask for the size of the table";
        let table_bytes: u64 = control.count(context, &sum_over_parts("pg_relation_size"))?;
        let table_pages = table_bytes / page_size_bytes;
        post_run_state.table_pages = Some(table_pages);
        if post_run_state.rows_per_page.is_some() {
            // A server whose sessions queue for a new page adds several at a time; those that nobody needed stay
            // empty. Rows are only inserted, so a page that holds any holds a first one.
            let context = "could not count the pages that hold rows";
            let sql = format!("SELECT count(*) FROM {TABLE} WHERE ctid::text LIKE '(%,1)'");
            let occupied_pages: u64 = control.count(context, &sql)?;
            post_run_state.table_pages = Some(occupied_pages);
            post_run_state.metrics.push(Metric::new(
                "table_empty_pages",
                table_pages.saturating_sub(occupied_pages) as f64,
                "1",
                "pg_relation_size() over the block size, less pages with a first row",
            ));
        }
        post_run_state.total_bytes = Some(control.count(context, &sum_over_parts("pg_total_relation_size"))?);
        let index_bytes: u64 = control.count(context, &sum_over_parts("pg_indexes_size"))?;
        post_run_state.metrics.push(Metric::new(
            "index_bytes",
            index_bytes as f64,
            "bytes",
            "pg_indexes_size()",
        ));
    }
    Ok(post_run_state)
}

/// Bytes of all tables and indexes of a workload of the user's own.
fn sizes(control: &mut Control, capabilities: &Capabilities) -> Result<PostRunState, TargetError> {
    let mut post_run_state = PostRunState::default();
    if !capabilities.relation_size {
        return Ok(post_run_state);
    }
    let context = "could not ask for the sizes of the database";
    let sum = |function: &str| {
        format!(
            "SELECT coalesce(sum({function}(class.oid)), 0)::bigint FROM pg_class AS class \
             JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace \
             WHERE class.relkind IN ('r', 'm') \
             AND namespace.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
        )
    };
    post_run_state.total_bytes = Some(control.count(context, &sum("pg_total_relation_size"))?);
    let index_bytes: u64 = control.count(context, &sum("pg_indexes_size"))?;
    post_run_state.metrics.push(Metric::new("index_bytes", index_bytes as f64, "bytes", "pg_indexes_size()"));
    Ok(post_run_state)
}

/// Rows of the largest partition over the mean of all, where there are several.
fn spread(control: &mut Control, work: &Work) -> Result<Option<Metric>, TargetError> {
    if work.data_files < 2 {
        return Ok(None);
    }
    let sql = format!(
        "SELECT max(part) * {} / greatest(sum(part), 1) FROM (SELECT count(*)::float8 AS part FROM {TABLE} \
         GROUP BY tableoid) AS parts",
        work.data_files
    );
    Ok(Some(Metric::new(
        "largest_file_over_mean",
        control.count("could not count the rows of each partition", &sql)?,
        "1",
        "rows by tableoid",
    )))
}
