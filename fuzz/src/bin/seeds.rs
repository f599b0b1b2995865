//! Writes the seeds of all targets: `seeds DIRECTORY CORPUS`; a folder for each target.

use std::path::{Path, PathBuf};

use fathom_fuzz::{TARGETS, seeds};

/// What code that is compiled for coverage calls; in the targets libFuzzer has it.
#[cfg(feature = "plain")]
mod coverage {
    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_8bit_counters_init(_start: *mut u8, _end: *mut u8) {}

    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _end: *const usize) {}

    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_trace_pc_indir(_callee: usize) {}
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(directory), Some(corpus)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: seeds DIRECTORY CORPUS");
        std::process::exit(2);
    };
    for target in TARGETS {
        let folder = directory.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds::of(target.name, Path::new(&corpus)) {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}
