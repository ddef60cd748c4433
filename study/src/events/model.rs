//! The model at work: calibrated with one worker whose logs are memory, compared with settings that were
//! measured and that it has not seen, and asked for as many workers as the paper has.
//!
//! A variant's curve is shown only if none of its errors on those settings exceeds [`LARGEST_ERROR`].

use std::sync::atomic::{AtomicUsize, Ordering};

use hyades::{Config, ProtocolKind};
use hyades_bench::device::DeviceKind;
use hyades_bench::generator::Zipf;
use hyades_bench::instance::{Variant, buffer_bytes};
use hyades_bench::spread::Spread;
use hyades_bench::workload::ycsb::Ycsb;

use super::{Costs, Rule, Setting, Simulated, Speed, simulate_with};
use crate::crossing::{self, Crossing};
use crate::results::{Outcome, Results};
use crate::study::{Figure, Group, IN_FLIGHT, Load, Size, Traffic, every};

/// A curve with a larger error on any setting that was measured is not shown.
pub const LARGEST_ERROR: f64 = 0.15;
/// Of the plots.
pub const WORKERS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 80];
/// Of the paper's machine (section 5.2), which has one for each worker and each logger.
const PROCESSORS: usize = 96;
/// Of the groups, and one for each drive of the paper's machine.
const LOGS: usize = 8;
/// Bounds of what a line costs, beside what is measured here: within a group of cores, and between sockets.
const LEAST_LINE_NS: u64 = 40;
const MOST_LINE_NS: u64 = 300;
/// How often the costs of a transaction are corrected by what a simulation of the calibration says.
const CORRECTIONS: usize = 4;
/// So long that simulation is.
const CALIBRATION_NS: u64 = 200_000_000;

/// What the page of a study shows of a model.
pub struct Modelled {
    pub inputs: Vec<(String, Costs)>,
    pub crossing: Crossing,
    pub held_out: Vec<HeldOut>,
    /// One for each cost of a line, with what it is.
    pub curves: Vec<(String, Vec<Curve>)>,
}

/// A setting that the model has not seen.
pub struct HeldOut {
    pub at: String,
    pub variant: String,
    /// What a line cost.
    pub line_ns: u64,
    pub measured: Spread,
    pub modelled: f64,
}

impl HeldOut {
    /// How far the model is off the median.
    pub fn error(&self) -> f64 {
        self.modelled / self.measured.median - 1.0
    }
}

/// A variant's rates with so many workers.
pub struct Curve {
    pub variant: String,
    pub rates: Vec<(u64, f64)>,
}

impl Modelled {
    /// The error of a variant that is furthest from 0.
    pub fn largest_error(&self, variant: &str) -> f64 {
        let errors = self.held_out.iter().filter(|one| one.variant == variant).map(HeldOut::error);
        errors.max_by(|one, other| one.abs().total_cmp(&other.abs())).unwrap_or(f64::INFINITY)
    }

    /// Whether its curve is shown.
    pub fn is_good_enough(&self, variant: &str) -> bool {
        self.largest_error(variant).abs() <= LARGEST_ERROR
    }
}

fn group(at: &str, workers: u64, device: DeviceKind) -> Group {
    Group { workers, device, logs: LOGS, ..Group::on_hard_disks(at, Load::YCSB, every()) }
}

/// In three parts: with short blocks, each of which takes a sector, logs in memory take several gigabytes,
/// and all databases of a group are open at the same time.
fn calibration() -> [Group; 3] {
    use hyades::ProtocolKind::{Plover, Serial, SiloR, Taurus, TaurusGraph};
    let part = |what: &str, protocols: &[ProtocolKind]| {
        let group = group(&format!("1 worker, memory: {what}"), 1, DeviceKind::Ram);
        let variants = every().into_iter().filter(|variant| protocols.contains(&variant.protocol));
        Group { variants: variants.collect(), ..group }
    };
    [
        part("none, serial, taurus", &[ProtocolKind::None, Serial, Taurus]),
        part("taurus_graph", &[TaurusGraph]),
        part("silor, plover", &[SiloR, Plover]),
    ]
}

fn held_out() -> [Group; 4] {
    [
        group("2 workers, memory", 2, DeviceKind::Ram),
        group("1 worker, NVMe", 1, DeviceKind::Nvme),
        group("2 workers, NVMe", 2, DeviceKind::Nvme),
        group("2 workers, hard disks", 2, DeviceKind::Hdd),
    ]
}

/// What has to be measured: the setting of the calibration, and those that are held out.
pub(crate) fn groups(_: Size) -> Vec<Group> {
    calibration().into_iter().chain(held_out()).collect()
}

/// Measures what processors cost each other, calibrates, compares, simulates. `None` as long as a group is
/// missing.
pub(crate) fn run(results: &Results, size: Size) -> Option<Modelled> {
    modelled(results, size, crossing::measure())
}

/// The same with these costs: a function of what was measured.
fn modelled(results: &Results, size: Size, crossing: Crossing) -> Option<Modelled> {
    let calibrated = calibration().map(|group| results.find(&group.key(size)));
    let calibrated = calibrated.into_iter().collect::<Option<Vec<&Outcome>>>()?;
    let Traffic::Ycsb(traffic) = Load::YCSB.traffic(size) else { return None };
    let zipf = Zipf::new(traffic.rows, traffic.theta);
    let inputs: Vec<(Variant, Costs)> = calibrate(&calibrated, &crossing, traffic, &zipf);
    let mut runs = Vec::new();
    for group in held_out() {
        let outcome = results.find(&group.key(size))?;
        for (variant, costs) in &inputs {
            // What a line cost at that time: the machine's processors may not always be the same.
            let line_ns = outcome.machine.line_ns.map_or(costs.line_ns, |line| line as u64);
            let setting = measured_setting(*variant, &group, outcome, traffic, size);
            runs.push((setting, Costs { line_ns, ..*costs }));
        }
    }
    let simulated = simulate_all(&runs, &zipf);
    let mut simulated = simulated.iter();
    let mut compared = Modelled { inputs: Vec::new(), crossing, held_out: Vec::new(), curves: Vec::new() };
    for group in held_out() {
        let outcome = results.find(&group.key(size))?;
        for ((variant, _), modelled) in inputs.iter().zip(simulated.by_ref()) {
            let measured = Spread::of(outcome.values(&variant.name(), Figure::Rate)?.iter().copied());
            let line_ns = outcome.machine.line_ns.unwrap_or(compared.crossing.line.median) as u64;
            let (at, variant, modelled) = (group.at.clone(), variant.name(), modelled.per_second);
            compared.held_out.push(HeldOut { at, variant, line_ns, measured, modelled });
        }
    }
    let good = inputs.iter().filter(|(variant, _)| compared.is_good_enough(&variant.name()));
    let good: Vec<(Variant, Costs)> = good.copied().collect();
    let lines = [
        ("least", LEAST_LINE_NS),
        ("measured here", compared.crossing.line.median as u64),
        ("most", MOST_LINE_NS),
    ];
    for (what, line_ns) in lines {
        let title = format!("A line of memory costs {line_ns} ns ({what})");
        compared.curves.push((title, curves(&good, line_ns, traffic, &zipf)));
    }
    compared.inputs = inputs.iter().map(|(variant, costs)| (variant.name(), *costs)).collect();
    Some(compared)
}

/// The costs of each variant, from one worker whose logs are memory. What is measured of a worker includes
/// waking loggers, which a setting with fewer wakes does not have: so what logging costs is corrected until a
/// simulation of the same setting gives what was measured.
fn calibrate(
    outcomes: &[&Outcome],
    crossing: &Crossing,
    traffic: Ycsb,
    zipf: &Zipf,
) -> Vec<(Variant, Costs)> {
    let median = |variant: &str, figure: Figure| {
        let values = outcomes.iter().find_map(|outcome| outcome.values(variant, figure));
        values.map(|values| Spread::of(values.iter().copied()).median)
    };
    // Where processor time is not counted, the worker has had its processor all the time.
    let worker_ns = |variant: &str| {
        let counted = median(variant, Figure::WorkerTime).filter(|time| *time > 0.0);
        counted.or_else(|| median(variant, Figure::Rate).map(|rate| 1e9 / rate))
    };
    let Some(transaction_ns) = worker_ns("none") else { return Vec::new() };
    let writing = 1.0 - read_only_share();
    let logger = |variant: &str| {
        let of = |figure| median(variant, figure).unwrap_or(0.0);
        // For each transaction that writes.
        (of(Figure::LoggerTime) / writing, of(Figure::Writes), of(Figure::WrittenBytes))
    };
    let byte_ns = byte_ns(logger("serial:data"), logger("serial:command"));
    let costs = |variant: &Variant| {
        let name = variant.name();
        let (time, writes, bytes) = logger(&name);
        let block_ns = if writes > 0.0 { (time - byte_ns * bytes).max(0.0) / writes } else { 0.0 };
        let logged_ns = ((worker_ns(&name)? - transaction_ns) / writing).max(0.0);
        let record_bytes = median(&name, Figure::RecordBytes).unwrap_or(0.0).round() as u64;
        let Crossing { line, wake_ns, unpark_ns } = *crossing;
        let line_ns = line.median as u64;
        let mut costs =
            Costs { transaction_ns, logged_ns, record_bytes, block_ns, byte_ns, line_ns, wake_ns, unpark_ns };
        let setting = Setting {
            processors: outcomes.first()?.machine.processors,
            length_ns: CALIBRATION_NS,
            drains: true,
            ..setting(*variant, 1, traffic)
        };
        for _ in 0..CORRECTIONS {
            let excess = simulate_with(&setting, &costs, zipf).worker_ns - worker_ns(&name)?;
            costs.logged_ns = (costs.logged_ns - excess / writing).max(0.0);
        }
        Some((*variant, costs))
    };
    every().iter().filter_map(costs).collect()
}

/// Of YCSB with two accesses, half of which write.
fn read_only_share() -> f64 {
    Load::READ_SHARE * Load::READ_SHARE
}

/// What a byte costs a logger: two kinds of records in one log, one longer than the other.
fn byte_ns(long: (f64, f64, f64), short: (f64, f64, f64)) -> f64 {
    let ((time, writes, bytes), (other_time, other_writes, other_bytes)) = (long, short);
    let determinant = bytes * other_writes - other_bytes * writes;
    if determinant == 0.0 {
        return 0.0;
    }
    ((time * other_writes - other_time * writes) / determinant).max(0.0)
}

fn setting(variant: Variant, workers: u64, traffic: Ycsb) -> Setting {
    let config = Config::new("");
    Setting {
        rule: Rule::of(variant.protocol),
        workers: workers as usize,
        processors: PROCESSORS,
        logs: LOGS,
        device: None,
        ring_bytes: config.log_buffer_bytes as u64,
        in_flight: IN_FLIGHT,
        traffic,
        epoch_ns: config.epoch.as_nanos() as u64,
        shared_block_bytes: config.shared_block_bytes,
        length_ns: 0,
        warm_up_ns: 0,
        drains: false,
        seed: 1,
    }
}

/// A setting as it was measured.
fn measured_setting(
    variant: Variant,
    group: &Group,
    outcome: &Outcome,
    traffic: Ycsb,
    size: Size,
) -> Setting {
    Setting {
        processors: outcome.machine.processors,
        device: Speed::of(group.device, Some(group.workers)),
        ring_bytes: buffer_bytes(group.device, group.workers) as u64,
        length_ns: size.length().as_nanos() as u64,
        drains: true,
        ..setting(variant, group.workers, traffic)
    }
}

/// On the paper's drives, one for each log, with as many processors as it had.
fn curves(variants: &[(Variant, Costs)], line_ns: u64, traffic: Ycsb, zipf: &Zipf) -> Vec<Curve> {
    // Whole epochs, at each of whose ends many answers leave at once.
    let epoch_ns = Config::new("").epoch.as_nanos() as u64;
    let (warm_up_ns, length_ns) = (2 * epoch_ns, 4 * epoch_ns);
    let mut runs = Vec::new();
    for (variant, costs) in variants {
        for workers in WORKERS {
            let device = Speed::of(DeviceKind::Nvme, None);
            let setting = Setting { device, warm_up_ns, length_ns, ..setting(*variant, workers, traffic) };
            runs.push((setting, Costs { line_ns, ..*costs }));
        }
    }
    let simulated = simulate_all(&runs, zipf);
    let rates = simulated.chunks(WORKERS.len());
    let curve = |((variant, _), rates): (&(Variant, Costs), &[Simulated])| Curve {
        variant: variant.name(),
        rates: WORKERS.into_iter().zip(rates.iter().map(|one| one.per_second)).collect(),
    };
    variants.iter().zip(rates).map(curve).collect()
}

/// Runs all of them, on all processors. The results are in the order of the runs.
fn simulate_all(runs: &[(Setting, Costs)], zipf: &Zipf) -> Vec<Simulated> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((setting, costs)) = runs.get(number) else { return done };
            done.push((number, simulate_with(setting, costs, zipf)));
        }
    };
    let mut all: Vec<(usize, Simulated)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // A thread that panicked leaves its runs out, and the model says nothing.
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, simulated)| simulated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_blocks_share_what_a_logger_costs() {
        // A block costs 1,000, a byte .5.
        let cost = |writes: f64, bytes: f64| (1_000.0 * writes + 0.5 * bytes, writes, bytes);
        assert!((byte_ns(cost(0.01, 200.0), cost(0.02, 70.0)) - 0.5).abs() < 1e-9);
        assert_eq!(byte_ns((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 0.0);
    }

    #[test]
    fn nothing_is_modelled_before_all_is_measured() {
        let results = Results::open(std::path::Path::new("there is no such folder")).expect("empty");
        let line = Spread { median: 1.0, min: 1.0, max: 1.0 };
        assert!(modelled(&results, Size::Quick, Crossing { line, wake_ns: 1, unpark_ns: 1 }).is_none());
    }

    #[test]
    fn only_a_model_that_agrees_is_shown() {
        let one = |variant: &str, modelled: f64| HeldOut {
            at: "a".to_owned(),
            variant: variant.to_owned(),
            line_ns: 1,
            measured: Spread { median: 100.0, min: 90.0, max: 110.0 },
            modelled,
        };
        let line = Spread { median: 1.0, min: 1.0, max: 1.0 };
        let crossing = Crossing { line, wake_ns: 1, unpark_ns: 1 };
        let held_out = vec![one("a", 114.0), one("a", 90.0), one("b", 84.0), one("b", 101.0)];
        let modelled = Modelled { inputs: Vec::new(), crossing, held_out, curves: Vec::new() };
        assert!((modelled.largest_error("a") - 0.14).abs() < 1e-9 && modelled.is_good_enough("a"));
        assert!((modelled.largest_error("b") + 0.16).abs() < 1e-9 && !modelled.is_good_enough("b"));
        assert!(!modelled.is_good_enough("c"), "it was not compared");
    }
}
