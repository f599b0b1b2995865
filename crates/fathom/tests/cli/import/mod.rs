//! Results of other tools: stored once, marked everywhere, refused with a reason, and equal to what the tools report.

mod pgbench;
mod refused;
mod stored;
