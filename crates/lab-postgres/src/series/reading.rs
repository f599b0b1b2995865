//! One reading of all counters of a server.

use std::collections::BTreeMap;

/// Numbers of one sample by name; one that the server left NULL is absent.
pub(super) type PostgresReading = BTreeMap<&'static str, f64>;
