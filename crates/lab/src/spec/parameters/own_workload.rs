//! Parameters of workloads of the user's own, and which others mean something for them.

use std::time::Duration;

use super::parameter::{DAY, Parameter, ParameterType};

/// Listed before the last ones.
pub(super) static OWN: [Parameter; 6] = [
    Parameter {
        name: "protocol",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("simple", "values are part of the text of a statement"),
            ("extended", "values are parameters; each execution is parsed"),
            ("prepared", "values are parameters; each statement is parsed once per connection"),
        ]),
        unit: "",
        default: None,
        doc: "How statements of own scripts and their values reach the server. For own workloads. Not set: simple.",
    },
    Parameter {
        name: "max_tries",
        aliases: &[],
        kind: ParameterType::Integer { min: 0, max: 1 << 31 },
        unit: "tries",
        default: None,
        doc: "Tries of a transaction that failed by serialization or deadlock; 0 is without limit. For own workloads. Not set: 1.",
    },
    Parameter {
        name: "on_error",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("abort", "the client ends, and the run is invalid"),
            ("continue", "the transaction is counted as failed, and the client continues"),
            ("retry", "the transaction is tried again, up to `max_tries`"),
        ]),
        unit: "",
        default: None,
        doc: "What follows an error that is neither a serialization failure nor a deadlock. For own workloads. Not set: abort.",
    },
    Parameter {
        name: "latency_limit",
        aliases: &[],
        kind: ParameterType::Duration { min: Duration::from_micros(1), max: DAY },
        unit: "time",
        default: None,
        doc: "Transactions that take longer are late. With a `rate`, those that would begin later than this are skipped. For own workloads. Not set: no limit.",
    },
    Parameter {
        name: "scale",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 1_000_000_000 },
        unit: "",
        default: None,
        doc: "Value of the variable `:scale` of own scripts. For own workloads. Not set: 1.",
    },
    Parameter {
        name: "transaction_log",
        aliases: &[],
        kind: ParameterType::Boolean,
        unit: "",
        default: None,
        doc: "Keeps the time of each transaction with the results. For own workloads. Not set: false.",
    },
];

/// Parameters of all workloads that mean something for own ones; any other name is a name of the user's own.
const SHARED: [&str; 18] = [
    "workload",
    "rows_total",
    "duration",
    "warm_up",
    "warm_up_rows",
    "connections",
    "jobs",
    "durability",
    "rate",
    "placement",
    "buffer_pool_mib",
    "log_size_mib",
    "manual_checkpoint_every",
    "memory_limit_mib",
    "server_cores",
    "label",
    "transactions",
    "rows",
];

/// Values of own workloads where the spec gives none.
const DEFAULTS: [(&str, &str); 4] =
    [("protocol", "simple"), ("max_tries", "1"), ("on_error", "abort"), ("scale", "1")];

/// Does a parameter mean something for own workloads under this name or alias?
pub(super) fn is_named(parameter: &Parameter, name: &str) -> bool {
    let is_name = parameter.name == name || SHARED.contains(&name);
    is_name && (SHARED.contains(&parameter.name) || is_of_own_workload_alone(parameter.name))
}

/// Has the parameter no meaning for any other workload?
pub(crate) fn is_of_own_workload_alone(name: &str) -> bool {
    OWN.iter().any(|parameter| parameter.name == name)
}

/// The default of a parameter that built-in workloads do not have.
pub(crate) fn default_of_own_workload(name: &str, is_own: bool) -> Option<&'static str> {
    DEFAULTS.iter().find(|(known, _)| is_own && *known == name).map(|(_, default)| *default)
}
