//! From the parameters of a cell to the work of its runs, and the rules that parameters obey together.

use std::collections::BTreeMap;

use results::EngineId;

use super::subject;
use super::values::{Conflict, Values, conflict};
use crate::engine::{Engine, Layout};
use crate::work::{Amount, Durability, KeyOrder, LoopSide, Placement, WarmUp, Work, Workload};

/// Who says where data and log lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogPlace<'a> {
    /// The layout.
    Ours(&'a Layout),
    /// Whoever runs the server.
    Foreign,
}

impl Values<'_> {
    /// The work of the cell on `engine`; the seed is left at 0.
    pub(crate) fn work(&self, engine: &Engine, place: LogPlace<'_>) -> Result<Work, Conflict> {
        let workload = self.workload()?;
        let mut work = Work {
            workload,
            loop_side: if self.word("loop") == "server" { LoopSide::Server } else { LoopSide::Client },
            amount: self.amount()?,
            warm_up: self.warm_up(),
            connections: self.count("connections").unwrap_or(1) as u32,
            jobs: self.count("jobs").map(|jobs| jobs as u32),
            batch_size: self.count("batch_size").unwrap_or(1),
            key: match self.word("key") {
                "random" => KeyOrder::Random,
                "sequential" => KeyOrder::Sequential,
                _ if matches!(workload, Workload::RandomInsert | Workload::GuidPopulate) => KeyOrder::Random,
                _ => KeyOrder::Sequential,
            },
            secondary_indexes: self.count("secondary_indexes").unwrap_or(0) as u32,
            data_files: self.count("data_files").unwrap_or(1) as u32,
            durability: match self.word("durability") {
                "relaxed" => Durability::Relaxed,
                "none" => Durability::None,
                _ => Durability::Full,
            },
            rate_per_s: self.0.get("rate").and_then(|level| level.as_number()),
            placement: match self.word("placement") {
                "log-apart" => Placement::LogApart,
                "data-apart" => Placement::DataApart,
                _ => Placement::Together,
            },
            buffer_pool_mib: self.count("buffer_pool_mib"),
            log_size_mib: self.count("log_size_mib"),
            manual_checkpoint_every: self.time("manual_checkpoint_every").filter(|period| !period.is_zero()),
            settings: self.settings(engine.id),
            subject: self.subject(workload),
            own: None,
            label: self.word("label").to_owned(),
            seed: 0,
        };
        subject::load_in_one(&mut work);
        check_clients(&work)?;
        check_workload(&work)?;
        check_placement(&work, engine, place)?;
        self.check_subject(&work)?;
        Ok(work)
    }

    fn workload(&self) -> Result<Workload, Conflict> {
        match self.word("workload") {
            "populate" => Ok(Workload::Populate),
            "random-insert" => Ok(Workload::RandomInsert),
            "select-one" => Ok(Workload::SelectOne),
            "guid-populate" => Ok(Workload::GuidPopulate),
            "guid-lookup-scan" => Ok(Workload::GuidLookupScan),
            "guid-lookup-join" => Ok(Workload::GuidLookupJoin),
            "structure" => Ok(Workload::Structure),
            "check" => Ok(Workload::Check),
            "backup" => Ok(Workload::Backup),
            "raw-read" => Ok(Workload::RawRead),
            "inventory" => Ok(Workload::Inventory),
            "own" => Ok(Workload::Own),
            _ => Err(conflict(&["workload"], "no `workload` is given")
                .help("add workload = \"populate\" or \"random-insert\" to [parameters]")),
        }
    }

    fn amount(&self) -> Result<Amount, Conflict> {
        match (self.count("rows_total"), self.time("duration")) {
            (Some(rows), None) => Ok(Amount::Rows(rows)),
            (None, Some(time)) => Ok(Amount::Time(time)),
            (Some(_), Some(_)) => Err(conflict(
                &["rows_total", "duration"],
                "`rows_total` and `duration` are both given: a run ends by rows or by time",
            )
            .help("keep one of them")),
            (None, None) => Err(conflict(
                &["rows_total"],
                "neither `rows_total` nor `duration` is given: nothing says when a run ends",
            )
            .help("add rows_total = 8000 or duration = \"10s\" to [parameters]")),
        }
    }

    fn warm_up(&self) -> WarmUp {
        match (self.count("warm_up_rows"), self.time("warm_up")) {
            (Some(rows), _) => WarmUp::Rows(rows),
            (None, Some(time)) => WarmUp::Time(time),
            (None, None) => WarmUp::None,
        }
    }

    fn settings(&self, engine: EngineId) -> BTreeMap<String, String> {
        self.0
            .iter()
            .filter_map(|(name, level)| {
                let (prefix, setting) = name.split_once('.')?;
                (*prefix == engine).then(|| (setting.to_owned(), level.to_string()))
            })
            .collect()
    }
}

fn check_clients(work: &Work) -> Result<(), Conflict> {
    let connections = u64::from(work.connections);
    if let Some(jobs) = work.jobs.filter(|jobs| *jobs > work.connections) {
        let title = format!("`jobs` is {jobs} for {connections} connections: some threads would drive none");
        return Err(conflict(&["jobs", "connections"], title).help(format!("use at most {connections} jobs")));
    }
    if work.rate_per_s.is_some() && work.loop_side == LoopSide::Server {
        let title =
            "`rate` needs the loop in the client: a loop on the server cannot wait for its intended start";
        return Err(conflict(&["rate", "loop"], title).help("set loop = \"client\", or leave out the rate"));
    }
    let Amount::Rows(rows) = work.amount else { return Ok(()) };
    if rows < connections {
        let title =
            format!("{rows} rows are too few for {connections} connections: some clients would do nothing");
        return Err(conflict(&["rows_total", "connections"], title)
            .help(format!("set rows_total to at least {connections}")));
    }
    // With one row each, the smallest share decides: a batch beyond it never fills and the level would be a lie.
    let smallest_share = rows / connections;
    if work.batch_size > smallest_share {
        let title = format!(
            "`batch_size` is {} and a client has {smallest_share} rows: no transaction would be that large",
            work.batch_size
        );
        let needed = work.batch_size.saturating_mul(connections);
        return Err(conflict(&["batch_size", "rows_total", "connections"], title)
            .help(format!("set rows_total to at least {needed}, or lower the batch")));
    }
    Ok(())
}

fn check_workload(work: &Work) -> Result<(), Conflict> {
    if work.workload.adds_rows() {
        return Ok(());
    }
    let needless = [
        ("batch_size", work.batch_size != 1),
        ("secondary_indexes", work.secondary_indexes != 0),
        ("data_files", work.data_files != 1),
    ];
    for (name, is_given) in needless {
        if is_given {
            let title = format!("`{name}` has no meaning for a workload that adds no rows to a table");
            return Err(conflict(&[name, "workload"], title).help(format!("leave out `{name}`")));
        }
    }
    if work.loop_side == LoopSide::Server {
        let title = "a workload that adds no rows to a table needs the loop in the client";
        return Err(conflict(&["loop", "workload"], title).help("set loop = \"client\""));
    }
    Ok(())
}

/// Engines that cannot place their log elsewhere say so themselves, with their reason; here only what is missing.
fn check_placement(work: &Work, engine: &Engine, place: LogPlace<'_>) -> Result<(), Conflict> {
    if !engine.has_layout || work.placement == Placement::Together {
        return Ok(());
    }
    let LogPlace::Ours(layout) = place else {
        let title =
            "`placement` cannot be chosen on a server that is not ours: its data and log stay where they are";
        return Err(conflict(&["placement"], title)
            .help("set placement=together, or name a managed engine in place of a URL (--target NAME)"));
    };
    if layout.log.is_none() {
        let title = "`placement` puts data and log in two places, and the layout has no log directory";
        return Err(conflict(&["placement"], title)
            .help("name a directory on another device: log = \"…\" in [layout], or on the command line"));
    }
    if work.placement == Placement::DataApart && layout.data.is_empty() {
        let title = "`placement` data-apart puts the log in a data directory, and the layout has none";
        return Err(conflict(&["placement"], title)
            .help("name one: data = [\"…\"] in [layout], or on the command line"));
    }
    Ok(())
}
