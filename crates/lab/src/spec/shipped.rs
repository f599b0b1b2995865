//! The experiments that come with fathom.

use super::error::{SpecError, nearest, quoted};

/// A spec inside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedExperiment {
    /// Name in `fathom run NAME`.
    pub name: &'static str,
    /// Name under which it was published, where that differs; understood too.
    pub published_as: Option<&'static str>,
    /// The spec.
    pub text: &'static str,
}

macro_rules! shipped_experiment {
    ($name:literal) => {
        shipped_experiment!($name, None)
    };
    ($name:literal, $published_as:expr) => {
        ShippedExperiment {
            name: $name,
            published_as: $published_as,
            text: include_str!(concat!("../../../../experiments/", $name, ".toml")),
        }
    };
}

/// The only list of shipped experiments, in the order in which `fathom list` shows them.
static SHIPPED: [ShippedExperiment; 40] = [
    shipped_experiment!("populate-batch"),
    shipped_experiment!("populate-connections"),
    shipped_experiment!("populate-batch-x-connections"),
    shipped_experiment!("connections-after-unmasking"),
    shipped_experiment!("random-insert", Some("ssd-random-insert")),
    shipped_experiment!("random-key"),
    shipped_experiment!("guid-populate"),
    shipped_experiment!("guid-lookup-scan"),
    shipped_experiment!("guid-lookup-join"),
    shipped_experiment!("fragmentation-report"),
    shipped_experiment!("backup-restore-parallelism"),
    shipped_experiment!("files-x-arrays"),
    shipped_experiment!("bigger-machines"),
    shipped_experiment!("check-dop"),
    shipped_experiment!("check-vs-raw-read"),
    shipped_experiment!("io-baseline"),
    shipped_experiment!("maxdop-survey"),
    shipped_experiment!("multi-file"),
    shipped_experiment!("separate-data-log"),
    shipped_experiment!("nonclustered-indexes"),
    shipped_experiment!("contention-timeline"),
    shipped_experiment!("log-anatomy"),
    shipped_experiment!("log-growth"),
    shipped_experiment!("log-sizing"),
    shipped_experiment!("manual-checkpoint"),
    shipped_experiment!("allocation-contention"),
    shipped_experiment!("connections-x-waits"),
    shipped_experiment!("repeat-ten"),
    shipped_experiment!("a-a"),
    shipped_experiment!("key-choice"),
    shipped_experiment!("fillfactor-hot-updates"),
    shipped_experiment!("index-count"),
    shipped_experiment!("jsonb-gin"),
    shipped_experiment!("partitions"),
    shipped_experiment!("queue-table"),
    shipped_experiment!("synchronous-commit"),
    shipped_experiment!("page-size"),
    shipped_experiment!("wal-vs-delete-journal"),
    shipped_experiment!("checkpoint-spread"),
    shipped_experiment!("compression"),
];

/// All shipped experiments.
pub fn shipped() -> &'static [ShippedExperiment] {
    &SHIPPED
}

/// The shipped experiment called `name`, or an error with the nearest name.
pub fn find(name: &str) -> Result<&'static ShippedExperiment, SpecError> {
    if let Some(found) =
        SHIPPED.iter().find(|shipped| shipped.name == name || shipped.published_as == Some(name))
    {
        return Ok(found);
    }
    let names = SHIPPED.iter().map(|shipped| shipped.name);
    let help = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "shipped are {}; a spec of your own is given by its path",
            names.collect::<Vec<_>>().join(", ")
        ),
    };
    Err(SpecError::without_place(format!("no experiment is called {}", quoted(name))).help(help))
}
