//! The consistency checker: reads database files, tests what their format promises, names what is broken.

#![forbid(unsafe_code)]
