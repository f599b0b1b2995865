//! SQLite: database files and write-ahead logs, format 3.
