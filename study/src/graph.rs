//! Figures of Yu, Zhu, Kaashoek, Pavlo, Devadas: "Taurus: A Parallel Transaction Recovery Method Based on
//! Fine-Granularity Dependency Tracking", 2016, section 6.

use hyades::ProtocolKind::{Serial, Taurus, TaurusGraph};
use hyades_bench::device::DeviceKind;
use hyades_bench::instance::Variant;
use hyades_bench::workload::tpcc::Mix;

use crate::study::{Claim, Evidence, Figure, Group, Load, Size, Study, command, data, ratio, without_log};

/// Of a machine with 32 cores and four flash drives.
const ON_FLASH: &str = "The paper had 64 threads, three flash drives and an array of disks, together 2 GB/s, and a serial log \
     on one of them. Here two workers have four drives of as much bandwidth for each worker.";

fn variants() -> Vec<Variant> {
    vec![without_log(), data(Serial), command(Serial), data(TaurusGraph), command(TaurusGraph)]
}

fn on_flash(at: &str, load: Load) -> Group {
    let group = Group::on_hard_disks(at, load, variants());
    Group { device: DeviceKind::Sata, logs: 4, ..group }
}

fn ycsb(_: Size) -> Vec<Group> {
    vec![on_flash("YCSB", Load::Ycsb { rows: 262_144, accesses: 4, theta: 0.0 })]
}

fn tpcc(_: Size) -> Vec<Group> {
    vec![on_flash("TPC-C", Load::tpcc(Mix::Half))]
}

fn both(size: Size) -> Vec<Group> {
    ycsb(size).into_iter().chain(tpcc(size)).collect()
}

fn loggers(_: Size) -> Vec<Group> {
    let of_logs = |logs: usize| {
        let group = on_flash(&logs.to_string(), Load::Ycsb { rows: 262_144, accesses: 4, theta: 0.0 });
        Group { logs, ..group }
    };
    vec![of_logs(1), of_logs(2), of_logs(4)]
}

/// The exact lists of the paper beside the vectors of the later one.
fn bytes(_: Size) -> Vec<Group> {
    let of = |at: &str, load: Load| {
        let mut variants = variants();
        variants.extend([data(Taurus), command(Taurus)]);
        Group { device: DeviceKind::Sata, logs: 4, variants, ..Group::on_hard_disks(at, load, Vec::new()) }
    };
    let ycsb = Load::Ycsb { rows: 262_144, accesses: 4, theta: 0.0 };
    vec![of("YCSB", ycsb), of("TPC-C", Load::tpcc(Mix::Half))]
}

const fn bytes_of(at: &'static str, of: &'static str, paper: f64) -> Claim {
    Claim { figure: Figure::DependencyBytes, at, of, over: None, paper: Some(paper), says: "table 1" }
}

pub(crate) const STUDIES: &[Study] = &[
    Study {
        name: "graph-5",
        title: "Logging YCSB on four flash drives",
        source: "Taurus with a dependency graph, 2016, figure 5",
        evidence: Evidence::ScaledDevice,
        note: ON_FLASH,
        axis: "workload",
        figures: &[Figure::Rate, Figure::Latency],
        claims: &[],
        groups: ycsb,
    },
    Study {
        name: "graph-6",
        title: "Logging TPC-C on four flash drives",
        source: "Taurus with a dependency graph, 2016, figure 6",
        evidence: Evidence::ScaledDevice,
        note: ON_FLASH,
        axis: "workload",
        figures: &[Figure::Rate, Figure::Latency],
        claims: &[
            ratio(
                Figure::Rate,
                "TPC-C",
                ("taurus_graph:data", "serial:data"),
                3.8,
                "section 1, .29 M/s to 1.09 M/s",
            ),
            ratio(Figure::Rate, "TPC-C", ("taurus_graph:command", "serial:command"), 2.67, "section 1"),
        ],
        groups: tpcc,
    },
    Study {
        name: "graph-8",
        title: "Recovery from four flash drives",
        source: "Taurus with a dependency graph, 2016, figure 8",
        evidence: Evidence::ScaledDevice,
        note: ON_FLASH,
        axis: "workload",
        figures: &[Figure::Recovery],
        claims: &[
            ratio(Figure::Recovery, "TPC-C", ("taurus_graph:data", "serial:data"), 4.9, "section 1"),
            ratio(Figure::Recovery, "TPC-C", ("taurus_graph:command", "serial:command"), 9.8, "section 1"),
        ],
        groups: both,
    },
    Study {
        name: "graph-9",
        title: "Number of loggers",
        source: "Taurus with a dependency graph, 2016, figure 9",
        evidence: Evidence::ScaledDevice,
        note: ON_FLASH,
        axis: "logs",
        figures: &[Figure::Rate],
        claims: &[],
        groups: loggers,
    },
    Study {
        name: "table-1",
        title: "Bytes of dependency information",
        source: "Taurus with a dependency graph, 2016, table 1",
        evidence: Evidence::Counted,
        note: "The paper's lists have ids of eight bytes and counts. Here ids are differences, what is settled is left out, \
               and a call's commit time is a part of every record's header. How much is left out depends on how fast the \
               device is: what is settled sooner need not be named.",
        axis: "workload",
        figures: &[Figure::DependencyBytes, Figure::RecordBytes],
        claims: &[
            bytes_of("YCSB", "taurus_graph:data", 20.5),
            bytes_of("YCSB", "taurus_graph:command", 30.6),
            bytes_of("TPC-C", "taurus_graph:data", 68.5),
            bytes_of("TPC-C", "taurus_graph:command", 77.8),
        ],
        groups: bytes,
    },
];
