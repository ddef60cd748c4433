//! What a study is made of.

use std::time::Duration;

use hyades::{ControlKind, ProtocolKind};
use hyades_bench::device::DeviceKind;
use hyades_bench::instance::{Logging, Variant};
use hyades_bench::workload::Workload;
use hyades_bench::workload::tpcc::{Mix, Scale, Tpcc};
use hyades_bench::workload::ycsb::Ycsb;
use serde::{Deserialize, Serialize};

/// One figure of a paper, or one of our own.
pub struct Study {
    pub name: &'static str,
    pub title: &'static str,
    /// The paper and its figure, or that it is our own.
    pub source: &'static str,
    pub evidence: Evidence,
    /// How ours differs from what the paper measured, in sentences.
    pub note: &'static str,
    /// What the groups differ in.
    pub axis: &'static str,
    pub figures: &'static [Figure],
    pub claims: &'static [Claim],
    pub groups: fn(Size) -> Vec<Group>,
}

/// What kind of evidence a study gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// On this machine, with its processors and its devices.
    Measured,
    /// On this machine, with devices in memory whose bandwidth is that of the paper's, for each worker.
    ScaledDevice,
    /// Counted in the logs: it holds on any machine.
    Counted,
    /// Work divided by the longest chain: a bound of what any number of workers reaches.
    WorkAndSpan,
    /// By a model of discrete events (`events`), which some of the groups calibrate and the others judge.
    Simulated,
}

impl Evidence {
    pub fn sentence(self) -> &'static str {
        match self {
            Evidence::Measured => "measured on this machine",
            Evidence::ScaledDevice => {
                "measured on this machine, with devices in memory that have the bandwidth of the paper's for each worker"
            }
            Evidence::Counted => "counted in the logs, the same on any machine",
            Evidence::WorkAndSpan => "work / span: a bound for any number of workers",
            Evidence::Simulated => {
                "simulated, by a model calibrated with one worker, with its error on settings that it has not seen"
            }
        }
    }
}

/// How long is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// For figures.
    Full,
    /// For trying out.
    Quick,
}

impl Size {
    pub fn rounds(self) -> u64 {
        match self {
            Size::Full => 5,
            Size::Quick => 3,
        }
    }

    pub fn length(self) -> Duration {
        match self {
            Size::Full => Duration::from_secs(2),
            Size::Quick => Duration::from_millis(500),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Size::Full => "full",
            Size::Quick => "quick",
        }
    }
}

/// Rows of YCSB: a quarter of a gigabyte.
const YCSB_ROWS: u64 = 262_144;

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    Ycsb {
        rows: u64,
        accesses: u64,
        theta: f64,
    },
    /// Sixteen rows, of which one in twenty is written.
    MostlyRead {
        theta: f64,
    },
    Tpcc {
        mix: Mix,
        warehouses: u64,
    },
}

impl Load {
    /// The share of accesses that only read.
    pub const READ_SHARE: f64 = 0.5;

    /// Two rows, half of them only read.
    pub const YCSB: Load = Load::Ycsb { rows: YCSB_ROWS, accesses: 2, theta: 0.6 };

    pub fn tpcc(mix: Mix) -> Load {
        Load::Tpcc { mix, warehouses: 4 }
    }

    pub fn workload(self, size: Size) -> Box<dyn Workload> {
        match self.traffic(size) {
            Traffic::Ycsb(ycsb) => Box::new(ycsb),
            Traffic::Tpcc(tpcc) => Box::new(tpcc),
        }
    }

    /// For trying out, with less data.
    pub(crate) fn traffic(self, size: Size) -> Traffic {
        let is_quick = size == Size::Quick;
        let ycsb = |rows: u64, accesses, read_share, theta| {
            let rows = if is_quick { rows.min(20_000) } else { rows };
            Traffic::Ycsb(Ycsb { rows, accesses, read_share, theta })
        };
        match self {
            Load::Ycsb { rows, accesses, theta } => ycsb(rows, accesses, Load::READ_SHARE, theta),
            Load::MostlyRead { theta } => ycsb(YCSB_ROWS, 16, 0.95, theta),
            Load::Tpcc { mix, warehouses } => {
                let scale = if is_quick { Scale::SMALL } else { Scale::SPEC };
                Traffic::Tpcc(Tpcc { warehouses, scale, mix })
            }
        }
    }
}

/// The transactions of a load.
pub(crate) enum Traffic {
    Ycsb(Ycsb),
    Tpcc(Tpcc),
}

/// Variants that are measured in turns, under one setting.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its place on the axis.
    pub at: String,
    pub load: Load,
    pub device: DeviceKind,
    pub logs: usize,
    pub workers: u64,
    pub variants: Vec<Variant>,
    /// Whether it is found out how parallel a replay can be.
    pub orders: bool,
}

impl Group {
    /// On eight hard disks, with two workers.
    pub fn on_hard_disks(at: &str, load: Load, variants: Vec<Variant>) -> Group {
        Group {
            at: at.to_owned(),
            load,
            device: DeviceKind::Hdd,
            logs: 8,
            workers: 2,
            variants,
            orders: false,
        }
    }

    /// What tells it from others in the file of results. Groups of several studies with one key are measured
    /// once.
    pub fn key(&self, size: Size) -> String {
        let Group { load, device, logs, workers, variants, orders, .. } = self;
        let names = variants.iter().map(|variant| variant.name()).collect::<Vec<_>>().join(",");
        let (device, size) = (device.name(), size.name());
        format!("{load:?}, {device}, {logs} logs, {workers} workers, {names}, orders {orders}, {size}")
    }
}

/// A figure of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Durable acknowledgements per second.
    Rate,
    /// Transactions recovered per second.
    Recovery,
    /// The latency that 99 per cent stay below, in microseconds.
    Latency,
    /// Bytes of a log record.
    RecordBytes,
    /// Those of them that say what the transaction follows.
    DependencyBytes,
    /// Processor time of the workers for a transaction, in nanoseconds.
    WorkerTime,
    /// The same of the threads that write logs.
    LoggerTime,
    /// Durable writes for each transaction that writes.
    Writes,
    /// Bytes of these writes, with padding.
    WrittenBytes,
    /// Attempts that were begun again, of a thousand transactions.
    BegunAgain,
    /// How many times faster a replay can be that waits for positions.
    ByPositions,
    /// The same if it waits for the records that are named.
    ByNames,
    /// The same if it waits for the last writers of what is written.
    ByConflicts,
}

impl Figure {
    pub fn title(self) -> &'static str {
        match self {
            Figure::Rate => "Durable acknowledgements per second",
            Figure::Recovery => "Transactions recovered per second",
            Figure::Latency => "Latency in microseconds, 99 %",
            Figure::RecordBytes => "Bytes of a log record",
            Figure::DependencyBytes => "Bytes of a record that say what it follows",
            Figure::WorkerTime => "Processor time of workers for a transaction, ns",
            Figure::LoggerTime => "Processor time of loggers for a transaction, ns",
            Figure::Writes => "Durable writes of a transaction that writes",
            Figure::WrittenBytes => "Bytes written for a transaction that writes",
            Figure::BegunAgain => "Begun again, of 1,000 transactions",
            Figure::ByPositions => "Parallelism of a replay by positions",
            Figure::ByNames => "Parallelism of a replay by named records",
            Figure::ByConflicts => "Parallelism that the data allow",
        }
    }
}

/// Transactions of a worker that may wait for durability.
pub(crate) const IN_FLIGHT: usize = 32_768;

/// What a paper says, or what we set out to show.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub figure: Figure,
    /// The group, by its place on the axis.
    pub at: &'static str,
    /// The variant, by its name.
    pub of: &'static str,
    /// The figure is divided by that of this one. `None`: it stands for itself.
    pub over: Option<&'static str>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Where the paper has it, or what the number means.
    pub says: &'static str,
}

/// A claim of a paper about a ratio.
pub const fn ratio(
    figure: Figure,
    at: &'static str,
    (of, over): (&'static str, &'static str),
    paper: f64,
    says: &'static str,
) -> Claim {
    Claim { figure, at, of, over: Some(over), paper: Some(paper), says }
}

pub fn data(protocol: ProtocolKind) -> Variant {
    Variant::new(protocol, Logging::Data)
}

pub fn command(protocol: ProtocolKind) -> Variant {
    Variant::new(protocol, Logging::Command)
}

pub fn without_log() -> Variant {
    Variant::new(ProtocolKind::None, Logging::Auto)
}

pub fn under(control: ControlKind, variant: Variant) -> Variant {
    Variant { control, ..variant }
}

/// What the paper on LSN vectors compares at length.
pub fn taurus_beside_serial() -> Vec<Variant> {
    use ProtocolKind::{Serial, Taurus};
    vec![without_log(), data(Serial), command(Serial), data(Taurus), command(Taurus)]
}

/// Every variant that is durable, and none.
pub fn every() -> Vec<Variant> {
    [vec![without_log()], every_durable()].concat()
}

/// Every protocol that is durable, with each kind of logging that it has.
pub fn every_durable() -> Vec<Variant> {
    use ProtocolKind::{Plover, Serial, SiloR, Taurus, TaurusGraph};
    vec![
        data(Serial),
        command(Serial),
        data(Taurus),
        command(Taurus),
        data(TaurusGraph),
        command(TaurusGraph),
        data(SiloR),
        data(Plover),
    ]
}
