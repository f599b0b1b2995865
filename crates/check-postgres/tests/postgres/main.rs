//! The PostgreSQL checker against clusters made by real servers: silent on all that is clean, and for each class of
//! damage the finding that it calls for. Clusters are made in single-user mode, so no server listens anywhere.

#[path = "../../../check/tests/support/advice.rs"]
mod advice;
mod cluster;
mod damage;
mod indexes;
mod reports;
mod rows;
mod running;
mod scene;
