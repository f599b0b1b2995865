//! SQL of one's own, the SQL of what is shipped, and the highest rate.

mod examples;
mod executed;
mod max_rate;
mod scripts;
mod spec;
mod sql;
