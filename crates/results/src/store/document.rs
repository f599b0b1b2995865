//! Documents: JSON that is stored once, under the hash of its content.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Content hash by which a document is stored once.
pub(super) fn document_hash(json: &str) -> String {
    Sha256::digest(json.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Model types have text keys and no failing serialisers, so this cannot fail.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("the records of the model serialise to JSON")
}
