//! Which call this build of SQLite flushes files with.
//!
//! The amalgamation calls fsync unless it is told at compile time that fdatasync works; distributions tell it so. SQLite
//! has no function that says which, so it is taken from the flags that both were compiled with.

use results::ceiling::SyncCall;

/// Flags of the bundled SQLite, from `.cargo/config.toml` or from who builds.
const FLAGS: [Option<&str>; 2] = [option_env!("LIBSQLITE3_FLAGS"), option_env!("CFLAGS")];
/// Set where the library of the distribution takes the place of the bundled one.
const SYSTEM_LIBRARY: Option<&str> = option_env!("LIBSQLITE3_SYS_USE_PKG_CONFIG");

/// The call by which this build of SQLite makes files durable.
pub fn sync_call() -> SyncCall {
    // EVIDENCE: configure of SQLite looks for fdatasync and defines HAVE_FDATASYNC, as packages are built.
    if SYSTEM_LIBRARY.is_some() {
        return SyncCall::Fdatasync;
    }
    by_flags(FLAGS.into_iter().flatten().flat_map(str::split_whitespace))
}

/// What the compiler made of these flags; the last of a name wins.
// EVIDENCE: sqlite os_unix.c: `#if !defined(fdatasync) && !HAVE_FDATASYNC`, `# define fdatasync fsync`
fn by_flags<'a>(flags: impl Iterator<Item = &'a str>) -> SyncCall {
    let (mut has, mut is_defined) = (false, false);
    for flag in flags {
        match flag {
            "-DHAVE_FDATASYNC" | "-DHAVE_FDATASYNC=1" => has = true,
            "-DHAVE_FDATASYNC=0" | "-UHAVE_FDATASYNC" => has = false,
            "-Ufdatasync" => is_defined = false,
            other if other.starts_with("-Dfdatasync") => is_defined = other != "-Dfdatasync=fsync",
            _ => {}
        }
    }
    if has || is_defined { SyncCall::Fdatasync } else { SyncCall::Fsync }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_the_compiler_decide_which_call_flushes() {
        let of = |text: &str| by_flags(text.split_whitespace());
        assert_eq!(of(""), SyncCall::Fsync);
        assert_eq!(of("-USQLITE_ENABLE_API_ARMOR SQLITE_ENABLE_X"), SyncCall::Fsync);
        assert_eq!(of("-O2 -DHAVE_FDATASYNC=1"), SyncCall::Fdatasync);
        assert_eq!(of("-Dfdatasync=fdatasync"), SyncCall::Fdatasync);
        assert_eq!(of("-DHAVE_FDATASYNC -UHAVE_FDATASYNC"), SyncCall::Fsync);
    }

    #[test]
    fn a_build_in_this_workspace_flushes_as_distributions_do() {
        assert_eq!(sync_call(), SyncCall::Fdatasync, "see .cargo/config.toml");
    }
}
