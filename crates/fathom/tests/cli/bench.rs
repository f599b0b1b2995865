//! An empty directory and the program in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use results::store::{Store, StudyResults};

/// Nothing in these tests takes longer, on a slow machine with a throttled disk either.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often a scene is set up before a moment that was never met fails the test.
const SCENES_MAX: u32 = 20;

/// A spec whose cells end in a moment without waiting for the device.
pub(crate) const QUICK: &str = r#"
name = "quick"
title = "quick"
question = "does it run?"
kind = "own"
repetitions = 3
[factors]
batch_size = [1, 5]
[parameters]
workload = "populate"
connections = 2
rows_total = 40
durability = "none"
# A busy machine is no fault of what is tested here.
[validity]
start_skew = "100%"
client_cpu = "100%"
samples_present = "0%"
"#;

/// What a miniature needs so that no run of it fails because the machine is busy.
const LENIENT: &str =
    "\n[validity]\nstart_skew = \"100%\"\nclient_cpu = \"100%\"\nsamples_present = \"0%\"\n";

pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self { directory: tempfile::tempdir().unwrap() };
        // A server that runs as another user must be able to get here.
        #[allow(clippy::permissions_set_readonly_false)]
        std::fs::set_permissions(bench.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        bench.write("quick.toml", QUICK);
        bench
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.path().join("fathom-results")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Writes a shipped experiment with gates that a busy machine passes; returns the name of the file.
    pub(crate) fn lenient(&self, experiment: &str) -> String {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let name = format!("{experiment}.toml");
        let text = std::fs::read_to_string(shipped.join(&name)).unwrap();
        assert!(!text.contains("[validity]"), "{name} has gates of its own");
        self.write(&name, &(text + LENIENT));
        name
    }

    /// The program with these words; `run` takes designs that are too small to decide, as most tests have them.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.strict_command(words);
        if words.first() == Some(&"run") {
            command.arg("--anyway");
        }
        command
    }

    /// The program with these words and no others.
    pub(crate) fn strict_command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args(words).current_dir(self.path()).env_remove("FATHOM_RESULTS").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a line of a shell that finds the program by its name.
    pub(crate) fn shell(&self, line: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_fathom")).parent().unwrap();
        let mut places = vec![program.to_owned()];
        places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.path()).env_remove("FATHOM_RESULTS").stdin(Stdio::null());
        command.env("PATH", std::env::join_paths(places).unwrap()).output().unwrap()
    }

    /// Runs and expects this exit status; returns (standard output, standard error).
    pub(crate) fn expect(&self, status: i32, words: &[&str]) -> (String, String) {
        let output = self.run(words);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "fathom {words:?}\n{out}\n{err}");
        (out, err)
    }

    /// Runs a study to its end; a run that a busy machine made invalid was repeated, and status 1 says so.
    pub(crate) fn finish(&self, words: &[&str]) -> (String, String) {
        let output = self.run(words);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let is_repeated = output.status.code() == Some(1) && out.contains("Invalid runs");
        assert!(output.status.code() == Some(0) || is_repeated, "fathom {words:?}\n{out}\n{err}");
        (out, err)
    }

    /// Starts the program with the default disposition of signals: tests may run under nohup, which ignores SIGHUP.
    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let program = self.command(words);
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,TERM").arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The latest study with all its runs.
    pub(crate) fn stored(&self) -> StudyResults {
        let store = Store::open_read_only(&self.results()).unwrap();
        let study = store.latest_study().unwrap().unwrap();
        store.study_results(study.id).unwrap()
    }

    /// How many runs count, read while another process may write; 0 when there is no file yet.
    pub(crate) fn counting(&self) -> usize {
        let Ok(store) = Store::open_read_only(&self.results()) else { return 0 };
        let Ok(Some(study)) = store.latest_study() else { return 0 };
        store.runs(study.id).map_or(0, |runs| runs.iter().filter(|run| run.counts()).count())
    }
}

/// Looks until `look` finds something.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} did not happen within {PATIENCE:?}");
        // Often enough to meet a run of some milliseconds, and leaves the CPU to the program.
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets up a scene again until its moment is met: on a busy machine the program may have ended before it was looked at.
pub(crate) fn until_met<T>(moment: &str, scene: impl FnMut() -> Option<T>) -> T {
    std::iter::repeat_with(scene)
        .take(SCENES_MAX as usize)
        .find_map(|met| met)
        .unwrap_or_else(|| panic!("{moment} was not met in {SCENES_MAX} scenes"))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// State of a process that has not been waited for, by the letter of proc(5): `T` stopped, `Z` ended.
pub(crate) fn state(process: &Child) -> char {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.and_then(|state| state.trim().chars().next()).unwrap()
}

pub(crate) fn signal(process: &Child, name: &str) {
    signal_id(process.id(), name);
}

pub(crate) fn signal_id(process_id: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(process_id.to_string()).status().unwrap();
    assert!(sent.success());
}
