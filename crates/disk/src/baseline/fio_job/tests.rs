#![allow(clippy::unwrap_used)]

use super::*;

const PUBLISHED: &str = "
; the fourth and the last shape of the published table
[global]
ioengine=io_uring
direct=1
filename=/data/test
size=50g
runtime=30
ramp_time=500ms
time_based
norandommap=1

[sequential-8k]
rw=read
bs=8k
iodepth=32

[mixed-256k]
stonewall
rw=randread
percentage_random=50
bs=256K
iodepth = 86
numjobs=2
";

#[test]
fn a_job_file_becomes_a_matrix() {
    let job = read_fio_job(PUBLISHED).unwrap();
    assert_eq!(job.names, ["sequential-8k", "mixed-256k"]);
    assert_eq!(job.path, Some(PathBuf::from("/data/test")));
    let matrix = &job.matrix;
    let mixed = Pattern { jobs: 2, ..Pattern::read(256 << 10, 50, 86) };
    assert_eq!(matrix.patterns, [Pattern::read(8192, 0, 32), mixed]);
    assert_eq!((matrix.size_bytes, matrix.want_direct), (50 << 30, true));
    assert_eq!((matrix.runtime, matrix.ramp), (Duration::from_secs(30), Duration::from_millis(500)));
    assert_eq!(matrix.backend, BackendChoice::Uring);
    assert_eq!(matrix.destroy_contents, None, "a file cannot give the right to overwrite");
}

#[test]
fn fios_defaults_hold_where_nothing_is_said() {
    let job = read_fio_job("[a]").unwrap();
    assert_eq!(job.matrix.patterns, [Pattern::read(4096, 0, 1)]);
    assert!(!job.matrix.want_direct);
    assert_eq!(job.path, None);
    assert!(job.notes.iter().any(|note| note.starts_with("no runtime is given")));
}

#[test]
fn mixes_are_read_in_both_directions() {
    let mix = |text: &str| {
        let pattern = read_fio_job(&format!("[a]\n{text}")).unwrap().matrix.patterns[0];
        (pattern.read_percent, pattern.random_percent)
    };
    assert_eq!(mix("rw=randrw"), (50, 100));
    assert_eq!(mix("rw=randrw\nrwmixread=70"), (70, 100));
    assert_eq!(mix("rw=rw\nrwmixwrite=70"), (30, 0));
    assert_eq!(mix("rw=randwrite\nrwmixread=70"), (0, 100));
    assert_eq!(mix("rw=read\npercentage_random=70"), (100, 0));
}

#[test]
fn what_fathom_cannot_do_is_refused_with_its_line_and_a_hint() {
    let cases = [
        (
            "[a]\niodepht=3",
            2,
            "no parameter \"iodepht\"\nhint: the nearest parameter that fathom has is \"iodepth\"",
        ),
        ("[a]\nrate_process=poisson", 2, "no parameter \"rate_process\""),
        ("rw=read", 1, "precedes the first section"),
        ("[a\nrw=read", 1, "not closed"),
        ("[a]\nrw=trim", 2, "\"trim\" of parameter \"rw\" is not read, write"),
        ("[a]\nbs=8k,4k", 2, "is not one size"),
        ("[a]\nbs=8kib", 2, "is not one size"),
        ("[a]\nbs", 2, "has no value"),
        ("[a]\nbs=99999999999t", 2, "is not one size"),
        ("[a]\nruntime=-1", 2, "is not a time"),
        ("[a]\nfilename=/a:/b", 2, "is not one path"),
        ("[a]\nrwmixread=101", 2, "0 to 100"),
        ("[a]\nfdatasync=1", 2, "asks for flushes between transfers\nhint: ask for the flush table"),
        ("[a]\n[b]", 2, "at the same time as the ones before it\nhint: write \"stonewall\""),
        ("[a]\nsize=1g\n[b]\nstonewall\nsize=2g", 3, "move these parameters to [global]"),
        ("", 1, "no job section"),
        ("[a]\nbs=1000", 1, "multiple of 512"),
        ("[a]\niodepth=5000", 1, "1 to 1024"),
    ];
    for (text, line, part) in cases {
        let error = read_fio_job(text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
}

#[test]
fn text_cut_anywhere_is_an_error_or_a_matrix() {
    for end in 0..PUBLISHED.len() {
        let _any = read_fio_job(&PUBLISHED[..end]);
    }
    let _any = read_fio_job("[\u{fffd}]\n=\n=1\n[global]\n\u{1f4be}=8k");
}
