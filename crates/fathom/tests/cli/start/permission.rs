//! Commands of a spec: shown, refused, allowed, recorded.

use results::store::Store;

use crate::bench::{Bench, QUICK};

/// A spec whose samplers leave a trace.
fn bench() -> Bench {
    let bench = Bench::new();
    let command = "touch trace; while true; do date +%s,1; sleep 0.1; done";
    bench.write(
        "commands.toml",
        &QUICK.replace("[factors]", &format!("samplers = [\"{command}\"]\n[factors]")),
    );
    bench
}

#[test]
fn a_command_of_a_spec_runs_only_when_it_is_allowed() {
    let bench = bench();
    let (out, err) = bench.expect(2, &["run", "commands.toml"]);
    assert!(
        out.is_empty() && err.contains("samplers: touch trace") && err.contains("--allow-commands"),
        "{err}"
    );
    assert!(!bench.path().join("trace").exists() && !bench.results().exists(), "nothing was started");
    let (out, _) = bench.expect(0, &["run", "commands.toml", "--dry-run"]);
    assert!(out.contains("samplers: touch trace"), "{out}");
    let (out, _) = bench.expect(0, &["run", "commands.toml", "--dry-run", "--json"]);
    assert!(out.contains("samplers: touch trace"), "{out}");
    let (out, err) = bench.expect(0, &["show", "commands.toml"]);
    assert!(out.contains("samplers = ") && err.contains("samplers: touch trace"), "{err}");
    assert!(!bench.path().join("trace").exists());
    // On a busy machine a run of milliseconds may end before its sampler was scheduled once.
    for _ in 0..20 {
        bench.finish(&["run", "commands.toml", "--allow-commands", "--repetitions", "1", "--again"]);
        if bench.path().join("trace").exists() {
            break;
        }
    }
    assert!(bench.path().join("trace").exists());
    let store = Store::open_read_only(&bench.results()).unwrap();
    let study = store.latest_study().unwrap().unwrap().study;
    assert!(study.spec_toml.contains("samplers = [\"touch trace"), "{}", study.spec_toml);
}

#[test]
fn settings_that_are_commands_or_load_code_are_commands_of_the_spec() {
    let bench = Bench::new();
    for (name, value, is_command) in [
        ("archive_command", "cp %p /tmp/x", true),
        ("Restore_Command", "x", true),
        ("ssl_passphrase_command", "x", true),
        ("shared_preload_libraries", "/tmp/evil.so", true),
        ("dynamic_library_path", "/tmp", true),
        ("shared_preload_libraries", "auto_explain", false),
        ("archive_command", "", false),
    ] {
        let spec = format!("{QUICK}\n[engine.postgres]\n{name} = \"{value}\"\n");
        bench.write("settings.toml", &spec);
        let (_, err) = bench.expect(0, &["show", "settings.toml"]);
        assert_eq!(err.contains(&format!("postgres.{name}: {value}")), is_command, "{name}: {err}");
    }
    // On another engine the setting does nothing; and what the command line sets is known to whoever typed it.
    bench.write("settings.toml", &format!("{QUICK}\n[engine.postgres]\narchive_command = \"x\"\n"));
    bench.expect(0, &["run", "settings.toml", "--dry-run"]);
    bench.finish(&["run", "settings.toml", "--repetitions", "1"]);
}
