//! A backup in several streams and the way back: files of an engine at rest, or `pg_basebackup` of a running one.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use check::options::Options;
use lab::child::LastSignal;
use lab::task::{EngineLocation, ServerAddress, TaskOrder, TaskOutcome};
use lab::work::BackupMethod;
use results::model::Metric;

use super::metric;
use super::verify::{check, require_clean};

/// Bytes that a stream takes at a time: large enough for a device, small enough to share one file among streams.
const CHUNK_BYTES: u64 = 8 << 20;

/// Longest error text of a tool that is told.
const ERROR_CHARS_MAX: usize = 400;

/// Part of a file, and where it lies in a stream.
#[derive(Clone, Copy)]
struct Chunk {
    file_index: usize,
    offset_bytes: u64,
    length_bytes: u64,
    stream_offset_bytes: u64,
}

/// Backs the engine's files up, restores them beside, checks the restored copy, and removes both.
pub(super) fn there_and_back(order: &TaskOrder) -> Result<TaskOutcome, String> {
    let scratch = Scratch::create(&order.place.scratch)?;
    let outcome = match order.work.subject.backup {
        BackupMethod::Reader => by_reader(order, &scratch.0),
        BackupMethod::PgBasebackup => by_tool(order, &scratch.0),
    };
    drop(scratch);
    outcome.map(|metrics| TaskOutcome { metrics, structures: Vec::new() })
}

fn by_reader(order: &TaskOrder, scratch: &Path) -> Result<Vec<Metric>, String> {
    let root = if order.place.path.is_dir() {
        order.place.path.clone()
    } else {
        order.place.path.parent().map(Path::to_path_buf).unwrap_or_default()
    };
    let files = if order.place.path.is_dir() { tree(&root)? } else { vec![order.place.path.clone()] };
    let streams = order.work.subject.streams.max(1) as usize;
    let began = Instant::now();
    let plans = plan(&files, streams)?;
    in_parallel(&plans, |index, chunks| write_stream(&files, chunks, &stream_path(scratch, index)))?;
    let backup_s = began.elapsed().as_secs_f64();
    let bytes: u64 = plans.iter().flatten().map(|chunk| chunk.length_bytes).sum();

    let restored = scratch.join("restored");
    let began = Instant::now();
    let targets = make_targets(&root, &files, &restored)?;
    in_parallel(&plans, |index, chunks| read_stream(&targets, chunks, &stream_path(scratch, index)))?;
    flush_all(&targets)?;
    let restore_s = began.elapsed().as_secs_f64();
    let copy =
        if order.place.path.is_dir() { restored } else { targets.into_iter().next().unwrap_or_default() };
    check_copy(&copy, &order.place)?;
    Ok(figures("fathom's reader", bytes, backup_s, Some(restore_s)))
}

/// The tool writes one stream; the way back is a copy of what it wrote, in as many streams as are asked for.
fn by_tool(order: &TaskOrder, scratch: &Path) -> Result<Vec<Metric>, String> {
    let server = order.place.server.as_ref().ok_or("the server does not run")?;
    let (copy, restored) = (scratch.join("backup"), scratch.join("restored"));
    let began = Instant::now();
    run_tool(server, &order.place.path, &copy, scratch)?;
    let backup_s = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let files = tree(&copy)?;
    let plans = plan(&files, order.work.subject.streams.max(1) as usize)?;
    let targets = make_targets(&copy, &files, &restored)?;
    in_parallel(&plans, |_, chunks| copy_chunks(&files, &targets, chunks))?;
    flush_all(&targets)?;
    let restore_s = began.elapsed().as_secs_f64();
    let bytes = plans.iter().flatten().map(|chunk| chunk.length_bytes).sum();
    check_copy(&restored, &order.place)?;
    Ok(figures("pg_basebackup, one stream", bytes, backup_s, Some(restore_s)))
}

/// Has `pg_basebackup` copy a running server; the tool flushes what it wrote before it ends.
fn run_tool(server: &ServerAddress, data: &Path, copy: &Path, scratch: &Path) -> Result<(), String> {
    let mut command = lab::child::command(server.bin_dir.join("pg_basebackup"), LastSignal::Kill);
    command
        .args(["--checkpoint=fast", "--wal-method=fetch", "--format=plain", "--pgdata"])
        .arg(copy)
        .arg("--host")
        .arg(&server.socket_directory)
        .args(["--port", &server.port.to_string(), "--username", &server.user, "--no-password"]);
    // A tablespace keeps its path in a plain copy, and that one is in use on this machine.
    let spaces = data.join("pg_tblspc");
    for entry in fs::read_dir(&spaces).map_err(told("list", &spaces))? {
        let entry = entry.map_err(told("list", &spaces))?;
        if let Ok(from) = fs::read_link(entry.path()) {
            let to = scratch.join("spaces").join(entry.file_name());
            command.arg(format!("--tablespace-mapping={}={}", from.display(), to.display()));
        }
    }
    let done = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not start pg_basebackup: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let text: String = String::from_utf8_lossy(&done.stderr).chars().take(ERROR_CHARS_MAX).collect();
    Err(format!("pg_basebackup ended with {}: {}", done.status, text.trim()))
}

fn figures(source: &str, bytes: u64, backup_s: f64, restore_s: Option<f64>) -> Vec<Metric> {
    let metric = |name: &str, value: f64, unit: &str| metric::metric(name, value, unit, source);
    let rate = |seconds: f64| bytes as f64 / seconds.max(1e-9);
    let mut metrics = vec![
        metric("task_read_bytes", bytes as f64, "bytes"),
        metric("backup_s", backup_s, "s"),
        metric("backup_bytes_per_s", rate(backup_s), "bytes/s"),
    ];
    if let Some(seconds) = restore_s {
        metrics.push(metric("restore_s", seconds, "s"));
        metrics.push(metric("restore_bytes_per_s", rate(seconds), "bytes/s"));
    }
    metrics
}

/// A restored copy that is not whole is no backup.
fn check_copy(copy: &Path, place: &EngineLocation) -> Result<(), String> {
    let report = check(copy, place.engine, &Options::default())?;
    require_clean(&report).map_err(|reason| format!("the restored copy is incomplete: {reason}"))
}

/// Shares the files out among streams, chunk by chunk.
fn plan(files: &[PathBuf], streams: usize) -> Result<Vec<Vec<Chunk>>, String> {
    let mut plans: Vec<Vec<Chunk>> = vec![Vec::new(); streams];
    let mut ends = vec![0; streams];
    let mut next = 0;
    for (file_index, path) in files.iter().enumerate() {
        let length_bytes = fs::metadata(path).map_err(told("inspect", path))?.len();
        for offset_bytes in (0..length_bytes).step_by(CHUNK_BYTES as usize) {
            let length_bytes = CHUNK_BYTES.min(length_bytes - offset_bytes);
            let stream_offset_bytes = ends[next];
            plans[next].push(Chunk { file_index, offset_bytes, length_bytes, stream_offset_bytes });
            ends[next] += length_bytes;
            next = (next + 1) % streams;
        }
    }
    Ok(plans)
}

fn in_parallel(
    plans: &[Vec<Chunk>],
    work: impl Fn(usize, &[Chunk]) -> Result<(), String> + Sync,
) -> Result<(), String> {
    std::thread::scope(|scope| {
        let work = &work;
        let streams: Vec<_> = plans
            .iter()
            .enumerate()
            .map(|(index, chunks)| scope.spawn(move || work(index, chunks)))
            .collect();
        streams.into_iter().try_for_each(|stream| {
            stream.join().unwrap_or_else(|_| Err("a stream of the backup panicked".to_owned()))
        })
    })
}

fn write_stream(files: &[PathBuf], chunks: &[Chunk], path: &Path) -> Result<(), String> {
    let stream = File::create(path).map_err(told("create", path))?;
    let mut buffer = vec![0; CHUNK_BYTES as usize];
    for chunk in chunks {
        let from = &files[chunk.file_index];
        let bytes = &mut buffer[..chunk.length_bytes as usize];
        let source = File::open(from).map_err(told("open", from))?;
        source.read_exact_at(bytes, chunk.offset_bytes).map_err(told("read", from))?;
        stream.write_all_at(bytes, chunk.stream_offset_bytes).map_err(told("write", path))?;
    }
    stream.sync_data().map_err(told("flush", path))
}

fn read_stream(targets: &[PathBuf], chunks: &[Chunk], path: &Path) -> Result<(), String> {
    let stream = File::open(path).map_err(told("open", path))?;
    let mut buffer = vec![0; CHUNK_BYTES as usize];
    for chunk in chunks {
        let to = &targets[chunk.file_index];
        let bytes = &mut buffer[..chunk.length_bytes as usize];
        stream.read_exact_at(bytes, chunk.stream_offset_bytes).map_err(told("read", path))?;
        let target = File::options().write(true).open(to).map_err(told("open", to))?;
        target.write_all_at(bytes, chunk.offset_bytes).map_err(told("write", to))?;
    }
    Ok(())
}

/// Copies parts of files to the same places of others.
fn copy_chunks(files: &[PathBuf], targets: &[PathBuf], chunks: &[Chunk]) -> Result<(), String> {
    let mut buffer = vec![0; CHUNK_BYTES as usize];
    for chunk in chunks {
        let (from, to) = (&files[chunk.file_index], &targets[chunk.file_index]);
        let bytes = &mut buffer[..chunk.length_bytes as usize];
        let source = File::open(from).map_err(told("open", from))?;
        source.read_exact_at(bytes, chunk.offset_bytes).map_err(told("read", from))?;
        let target = File::options().write(true).open(to).map_err(told("open", to))?;
        target.write_all_at(bytes, chunk.offset_bytes).map_err(told("write", to))?;
    }
    Ok(())
}

fn flush_all(files: &[PathBuf]) -> Result<(), String> {
    files
        .iter()
        .try_for_each(|path| File::open(path).and_then(|file| file.sync_data()).map_err(told("flush", path)))
}

/// Empty files with the names of the originals, below the directory of the copy.
fn make_targets(root: &Path, files: &[PathBuf], restored: &Path) -> Result<Vec<PathBuf>, String> {
    fs::create_dir_all(restored).map_err(told("create", restored))?;
    let mut targets = Vec::new();
    for directory in if root.join("PG_VERSION").is_file() { directories(root)? } else { Vec::new() } {
        let to = restored.join(directory.strip_prefix(root).unwrap_or(&directory));
        fs::create_dir_all(&to).map_err(told("create", &to))?;
    }
    for file in files {
        let to = restored.join(file.strip_prefix(root).unwrap_or(file));
        File::create(&to).map_err(told("create", &to))?;
        targets.push(to);
    }
    Ok(targets)
}

fn stream_path(scratch: &Path, index: usize) -> PathBuf {
    scratch.join(format!("stream-{index}"))
}

/// All regular files below a directory, in the order of their names.
fn tree(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for directory in directories(root)? {
        for entry in fs::read_dir(&directory).map_err(told("list", &directory))? {
            let path = entry.map_err(told("list", &directory))?.path();
            if fs::symlink_metadata(&path).map_err(told("inspect", &path))?.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// A directory and all below it; links are not followed.
fn directories(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![root.to_path_buf()];
    let mut next = 0;
    while let Some(directory) = found.get(next).cloned() {
        for entry in fs::read_dir(&directory).map_err(told("list", &directory))? {
            let entry = entry.map_err(told("list", &directory))?;
            if entry.file_type().map_err(told("inspect", &entry.path()))?.is_dir() {
                found.push(entry.path());
            }
        }
        next += 1;
    }
    Ok(found)
}

fn told(verb: &'static str, path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("could not {verb} \"{}\": {error}", path.display())
}

/// A directory that is removed with all that is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn create(path: &Path) -> Result<Self, String> {
        let _ = fs::remove_dir_all(path);
        fs::create_dir_all(path).map_err(told("create", path))?;
        Ok(Self(path.to_path_buf()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
