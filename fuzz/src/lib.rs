//! What is fuzzed: one function for each kind of bytes that come from outside, for libFuzzer and for `mutate`.

pub mod pieces;
pub mod seeds;
mod serve;
mod small_page;
mod stored;
pub mod targets;

/// A function that takes any bytes: nothing may panic, hang, or grow.
pub struct Target {
    /// Its name, also that of its folder of seeds.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

macro_rules! table {
    ($($name:ident),* $(,)?) => {
        /// All targets, by name.
        pub const TARGETS: &[Target] = &[$( Target { name: stringify!($name), run: targets::$name } ),*];
    };
}

table!(
    address,
    archive,
    decode,
    fio_job,
    import,
    http_request,
    innodb_page,
    postgres_cluster,
    postgres_page,
    results_file,
    script_text,
    spec,
    sql_expression,
    sql_text,
    sqlite_file,
    sqlite_page,
    sqlserver_file,
    sqlserver_page,
    transaction_log,
    wire_answer,
    wire_script,
    wire_startup,
);

/// Options of AddressSanitizer: gcc, which compiles SQLite, and rustc mark the constants of a program differently, so that two
/// tables of SQLite with the same name and content are taken for one that is defined twice. Freed memory is kept for a short
/// time only, and the stacks of allocations have two frames: with all of them half of the time would go there. To see more,
/// run the input alone with `ASAN_OPTIONS=malloc_context_size=30`.
#[unsafe(no_mangle)]
pub extern "C" fn __asan_default_options() -> *const std::ffi::c_char {
    c"detect_odr_violation=0:detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=8:malloc_context_size=2".as_ptr()
}
