//! The PostgreSQL checker against clusters made by real servers: silent on all that is clean, and for each class of
//! damage the finding that it calls for. Clusters are made in single-user mode, so no server listens anywhere.

#[path = "../support/advice.rs"]
mod advice;
mod archives;
mod bit_flips;
mod bounds;
mod brin;
mod brin_classes;
mod causes;
mod classes;
mod clean;
mod cluster_damage;
mod cluster_files;
mod cluster_state;
mod column_types;
mod coverage;
mod damage;
mod differential;
mod document;
mod drills;
mod edit;
mod free_space;
mod gin;
mod gin_classes;
mod gist;
mod hash;
mod index_entries;
mod live;
mod live_damage;
mod live_entries;
mod objects_in_motion;
mod peers;
mod random;
mod replayed_files;
mod resume;
mod row_names;
mod row_versions;
mod server;
mod sessions;
mod sources;
mod spgist;
mod standing;
mod structure;
mod transaction_logs;
mod unique_keys;
mod wal_pages;
