//! The program as a user meets it: its own process, its exit status, what it prints, what it leaves.
#![allow(clippy::unwrap_used)]

mod bench;
mod check;
mod check_targets;
mod compare;
mod days;
mod failures;
mod hostile_text;
mod import;
mod input;
mod io;
mod kept;
mod notification;
mod own;
mod pages;
mod paths;
mod peers;
mod postgres;
mod secrets;
mod start;
mod structure;
mod study;
mod system_calls;
mod tasks;
