//! What a database has that no level verifies: constraints, foreign tables; and what access methods that are not known
//! here keep in their blocks.

mod constraints;
mod methods;

pub(crate) use crate::run::unverified::constraints::Constraints;
pub(crate) use crate::run::unverified::methods::other_methods;

/// Names that are listed of each kind.
const NAMES_MAX: usize = 3;

/// `2 unique indexes: a, b`; at most a few names.
pub(crate) fn listed(names: &[&str], one: &str, many: &str) -> String {
    let first = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMES_MAX { ", ..." } else { "" };
    format!("{} {}: {first}{more}", names.len(), if names.len() == 1 { one } else { many })
}
