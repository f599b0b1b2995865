//! One row: jobs released together, counters read at the borders of windows, what was steady added up.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::error::BaselineError;
use super::job::{Job, JobError, JobPlan};
use super::link::can_poll;
use super::matrix::Matrix;
use super::pattern::Pattern;
use super::row::Measurement;
use super::steady::steady_from;
use super::stream::Stream;
use super::target::Target;
use super::window::Window;
use crate::backend::BackendFacts;
use crate::counters::{DiskCounters, MachineCpu, disk_counters, machine_cpu, process_cpu_ns};

/// The windows into which the time measured is cut.
const WINDOW_COUNT: u32 = 20;

/// The shortest window. Ticks of the processor counters are 10 ms.
const WINDOW_NS_MIN: u64 = 20_000_000;

/// What the counters showed at one moment.
#[derive(Clone, Debug)]
struct Sample {
    at_ns: u64,
    machine_cpu: MachineCpu,
    own_cpu_ns: u64,
    disk: Option<DiskCounters>,
}

/// Measures one pattern on the target.
pub(super) fn run(
    path: &Path,
    target: &Target,
    matrix: &Matrix,
    pattern: &Pattern,
) -> Result<(BackendFacts, Measurement), BaselineError> {
    let runtime_ns = u64::try_from(matrix.runtime.as_nanos()).unwrap_or(u64::MAX);
    let window_ns = (runtime_ns / u64::from(WINDOW_COUNT)).max(WINDOW_NS_MIN);
    let ramp_ns = u64::try_from(matrix.ramp.as_nanos()).unwrap_or(u64::MAX);
    let window_count = WINDOW_COUNT as usize;
    let device = target.facts.counted_device.as_deref();
    let plan_of = |job_index: u32| {
        let size_bytes = target.facts.size_bytes;
        let stream = Stream::new(pattern, job_index, size_bytes, matrix.seed).ok_or_else(|| {
            let (transfer_bytes, jobs) = (pattern.transfer_bytes, pattern.jobs);
            BaselineError::TooSmall { path: path.to_path_buf(), size_bytes, transfer_bytes, jobs }
        })?;
        Ok(JobPlan {
            file: target.file.clone(),
            stream,
            transfer_bytes: pattern.transfer_bytes as usize,
            outstanding: pattern.outstanding as usize,
            writes: pattern.writes(),
            choice: matrix.backend,
            poll: matrix.poll && target.facts.cache.is_direct() && device.is_some_and(can_poll),
            ramp_ns,
            window_ns,
            window_count,
            transfers_max: u64::MAX,
        })
    };
    let plans = (0..pattern.jobs).map(plan_of).collect::<Result<Vec<_>, BaselineError>>()?;
    let (facts, windows, samples) = run_jobs(path, plans, matrix.seed, device)?;
    let measured = add_up(&windows, &samples, ramp_ns, window_ns, target.facts.cache.is_direct());
    Ok((facts, measured))
}

type JobReport = (u32, Result<JobState, JobError>);

enum JobState {
    Ready(BackendFacts),
    Done(Vec<Window>),
}

/// Runs all jobs, and reads the counters at the borders of their windows.
fn run_jobs(
    path: &Path,
    plans: Vec<JobPlan>,
    seed: u64,
    device: Option<&str>,
) -> Result<(BackendFacts, Vec<Window>, Vec<Sample>), BaselineError> {
    let &JobPlan { ramp_ns, window_ns, window_count, .. } = &plans[0];
    let job_count = plans.len();
    let error_of = |error: JobError| match error {
        JobError::Backend(source) => BaselineError::Backend(source),
        JobError::Queue(source) => BaselineError::Queue { source },
        JobError::Transfer { operation, offset_bytes, source } => {
            BaselineError::Transfer { operation, path: path.to_path_buf(), offset_bytes, source }
        }
    };
    thread::scope(|scope| {
        // Everybody waits for this moment; a sender that is dropped instead ends the wait too.
        let mut releases = Vec::new();
        let (report, reports) = channel::<JobReport>();
        for (job_index, plan) in (0..).zip(plans) {
            let (release, released) = channel::<Instant>();
            let report = report.clone();
            let builder = thread::Builder::new().name(format!("io-job-{job_index}"));
            let work =
                move || run_job(plan, seed.wrapping_add(job_index.into()), job_index, &report, released);
            builder.spawn_scoped(scope, work).map_err(|source| BaselineError::Job { job_index, source })?;
            releases.push(release);
        }
        drop(report);
        let mut facts = None;
        for _ in 0..job_count {
            if let Ok((_, state)) = reports.recv() {
                match state.map_err(error_of)? {
                    JobState::Ready(ready) => facts = Some(ready),
                    JobState::Done(_) => {}
                }
            }
        }
        let start = Instant::now();
        for release in &releases {
            release.send(start).expect("a job that is ready waits for its release");
        }
        let samples =
            sample_at_borders(start + Duration::from_nanos(ramp_ns), window_ns, window_count, device);
        let mut sums: Vec<Window> = (0..window_count).map(|_| Window::new()).collect();
        for (_, state) in reports {
            if let JobState::Done(windows) = state.map_err(error_of)? {
                sums.iter_mut().zip(&windows).for_each(|(sum, window)| sum.merge(window));
            }
        }
        Ok((facts.expect("each job said what its queue is"), sums, samples))
    })
}

/// The life of one job's thread: gets ready, waits for the release, works.
fn run_job(
    plan: JobPlan,
    seed: u64,
    job_index: u32,
    report: &std::sync::mpsc::Sender<JobReport>,
    released: Receiver<Instant>,
) {
    // Nobody listens any more when another job has failed.
    let tell = |state: Result<JobState, JobError>| drop(report.send((job_index, state)));
    let job = match Job::new(plan, seed) {
        Ok(job) => job,
        Err(error) => return tell(Err(error)),
    };
    tell(Ok(JobState::Ready(job.facts())));
    if let Ok(start) = released.recv() {
        tell(job.run(start).map(JobState::Done));
    }
}

fn sample_at_borders(
    start: Instant,
    window_ns: u64,
    window_count: usize,
    device: Option<&str>,
) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(window_count + 1);
    for border in 0..=window_count as u64 {
        let due = start + Duration::from_nanos(border * window_ns);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        samples.push(Sample {
            at_ns: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            machine_cpu: machine_cpu().unwrap_or_default(),
            own_cpu_ns: process_cpu_ns(),
            disk: device.and_then(|device| disk_counters(device).ok()),
        });
    }
    samples
}

fn add_up(
    windows: &[Window],
    samples: &[Sample],
    ramp_ns: u64,
    window_ns: u64,
    is_direct: bool,
) -> Measurement {
    let counts: Vec<u64> = windows.iter().map(|window| window.latencies.count).collect();
    let (first, steadiness) = steady_from(&counts);
    let mut sum = Window::new();
    windows[first..].iter().for_each(|window| sum.merge(window));
    let (before, after) = (&samples[first], &samples[windows.len()]);
    let watched_ns = after.at_ns.saturating_sub(before.at_ns);
    let device = match (&before.disk, &after.disk) {
        (Some(before), Some(after)) => after.since(before, watched_ns).ok(),
        _ => None,
    };
    Measurement {
        transferred_bytes: sum.transferred_bytes,
        latencies: sum.latencies,
        short: sum.short,
        measured_ns: (windows.len() - first) as u64 * window_ns,
        warm_up_ns: ramp_ns + first as u64 * window_ns,
        steadiness,
        device: device
            .map(|activity| (activity.difference.read_bytes, activity.difference.write_bytes, watched_ns)),
        machine_cpu: after.machine_cpu.since(&before.machine_cpu),
        own_cpu_ns: after.own_cpu_ns.saturating_sub(before.own_cpu_ns),
        cpu_watched_ns: watched_ns,
        is_direct,
    }
}
