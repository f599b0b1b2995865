//! What `cargo metadata` says, without a network.

use std::process::Command;

use serde_json::Value;

use crate::tree;

/// Runs `cargo metadata` with these arguments; `Err` is what cargo said.
pub(crate) fn metadata(arguments: &[&str]) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(tree::root())
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(arguments)
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

/// The packages in the answer.
pub(crate) fn packages(answer: &Value) -> &[Value] {
    answer["packages"].as_array().map_or(&[], Vec::as_slice)
}
