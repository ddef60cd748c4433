//! Figures of Xia, Yu, Pavlo, Devadas: "Taurus: Lightweight Parallel Logging for In-Memory Database
//! Management Systems", VLDB 2020, section 5.

use hyades::ProtocolKind::Taurus;
use hyades_bench::device::DeviceKind;
use hyades_bench::workload::tpcc::Mix;

use crate::events::model;
use crate::study::{
    Evidence, Figure, Group, Load, Size, Study, command, every, ratio, taurus_beside_serial, without_log,
};

/// Of a machine with 80 hardware threads and eight hard disks.
const ON_HARD_DISKS: &str = "The paper had 80 threads, tables of 10 GB and eight disks of 160 MB/s. Here two workers have two \
     eightieths of that bandwidth, so what a disk takes for each second of a processor is the same; tables fit the machine. \
     What many threads do to shared cache lines is not shown.";
const ON_NVME: &str = "The paper had 80 threads and eight NVMe drives. Here one and two workers have drives of as much \
     bandwidth for each worker. With so few workers there is nothing that a single log would be contended for: the paper's \
     differences begin where these curves end.";

const SIMULATED: &str = "As many processors as the paper's machine had (96), each as fast as one of this machine, all of them \
     equally far apart; two-phase locking; eight drives of 2 GB/s with a log on each, and one for a serial log. The model \
     knows this engine, not the paper's: what a transaction costs, which lines of memory it writes. It does not know that \
     processors share the bandwidth of memory.";

fn hard_disks(_: Size) -> Vec<Group> {
    [("YCSB", Load::YCSB), ("Payment", Load::tpcc(Mix::Payment)), ("New-Order", Load::tpcc(Mix::NewOrder))]
        .map(|(at, load)| Group::on_hard_disks(at, load, every()))
        .to_vec()
}

fn nvme(_: Size) -> Vec<Group> {
    let group = |workers: u64| Group {
        workers,
        device: DeviceKind::Nvme,
        ..Group::on_hard_disks(&workers.to_string(), Load::YCSB, every())
    };
    vec![group(1), group(2)]
}

fn memory(_: Size) -> Vec<Group> {
    vec![Group { device: DeviceKind::Ram, ..Group::on_hard_disks("YCSB", Load::YCSB, every()) }]
}

fn full_mix(_: Size) -> Vec<Group> {
    vec![Group {
        device: DeviceKind::Nvme,
        ..Group::on_hard_disks("TPC-C", Load::tpcc(Mix::Full), taurus_beside_serial())
    }]
}

fn contention(size: Size) -> Vec<Group> {
    let thetas: &[f64] = if size == Size::Quick { &[0.0, 0.9] } else { &[0.0, 0.3, 0.6, 0.9, 1.1] };
    let group = |theta: &f64| {
        let load = Load::Ycsb { rows: 262_144, accesses: 2, theta: *theta };
        Group {
            device: DeviceKind::Nvme,
            ..Group::on_hard_disks(&theta.to_string(), load, taurus_beside_serial())
        }
    };
    thetas.iter().map(group).collect()
}

fn length(size: Size) -> Vec<Group> {
    let lengths: &[u64] = if size == Size::Quick { &[2, 20] } else { &[2, 20, 200, 2000] };
    let group = |accesses: &u64| {
        let load = Load::Ycsb { rows: 262_144, accesses: *accesses, theta: 0.0 };
        Group {
            device: DeviceKind::Nvme,
            ..Group::on_hard_disks(&accesses.to_string(), load, taurus_beside_serial())
        }
    };
    lengths.iter().map(group).collect()
}

fn logs(size: Size) -> Vec<Group> {
    let counts: &[usize] = if size == Size::Quick { &[1, 16] } else { &[1, 4, 16, 64] };
    let group = |logs: &usize| Group {
        logs: *logs,
        device: DeviceKind::Ram,
        ..Group::on_hard_disks(&logs.to_string(), Load::YCSB, vec![without_log(), command(Taurus)])
    };
    counts.iter().map(group).collect()
}

pub(crate) const STUDIES: &[Study] = &[
    Study {
        name: "taurus-5",
        title: "Logging on NVMe drives",
        source: "Taurus, VLDB 2020, figures 5 and 6",
        evidence: Evidence::ScaledDevice,
        note: ON_NVME,
        axis: "workers",
        figures: &[Figure::Rate],
        claims: &[],
        groups: nvme,
    },
    Study {
        name: "taurus-5-simulated",
        title: "Logging on NVMe drives with up to 80 workers",
        source: "Taurus, VLDB 2020, figures 5 and 6",
        evidence: Evidence::Simulated,
        note: SIMULATED,
        axis: "setting",
        figures: &[Figure::Rate, Figure::WorkerTime, Figure::LoggerTime, Figure::Writes, Figure::RecordBytes],
        claims: &[],
        groups: model::groups,
    },
    Study {
        name: "taurus-7",
        title: "Recovery from NVMe drives",
        source: "Taurus, VLDB 2020, figures 7 and 8",
        evidence: Evidence::ScaledDevice,
        note: ON_NVME,
        axis: "workers",
        figures: &[Figure::Recovery],
        claims: &[],
        groups: nvme,
    },
    Study {
        name: "taurus-9",
        title: "Logging on eight hard disks",
        source: "Taurus, VLDB 2020, figure 9",
        evidence: Evidence::ScaledDevice,
        note: ON_HARD_DISKS,
        axis: "workload",
        figures: &[Figure::Rate, Figure::RecordBytes],
        claims: &[
            ratio(Figure::Rate, "YCSB", ("taurus:data", "serial:data"), 7.1, "figure 9a"),
            ratio(Figure::Rate, "YCSB", ("taurus:command", "silor:data"), 9.2, "figure 9d"),
            ratio(Figure::Rate, "YCSB", ("taurus:command", "plover:data"), 9.2, "figure 9d"),
            ratio(Figure::Rate, "Payment", ("taurus:command", "silor:data"), 5.2, "figure 9e"),
        ],
        groups: hard_disks,
    },
    Study {
        name: "taurus-10",
        title: "Recovery from eight hard disks",
        source: "Taurus, VLDB 2020, figure 10",
        evidence: Evidence::ScaledDevice,
        note: ON_HARD_DISKS,
        axis: "workload",
        figures: &[Figure::Recovery],
        claims: &[
            ratio(Figure::Recovery, "YCSB", ("taurus:data", "serial:data"), 5.5, "section 5.3"),
            ratio(Figure::Recovery, "YCSB", ("taurus:command", "serial:command"), 11.3, "section 5.3"),
            ratio(Figure::Recovery, "YCSB", ("taurus:command", "silor:data"), 6.3, "section 5.3"),
            ratio(Figure::Recovery, "Payment", ("taurus:command", "serial:command"), 7.1, "figure 10e"),
            ratio(Figure::Recovery, "New-Order", ("taurus:command", "serial:command"), 17.5, "section 5.3"),
            ratio(Figure::Recovery, "New-Order", ("taurus:data", "serial:data"), 6.7, "section 5.3"),
            ratio(Figure::Recovery, "New-Order", ("taurus:command", "taurus:data"), 7.7, "section 5.3"),
        ],
        groups: hard_disks,
    },
    Study {
        name: "taurus-11",
        title: "Logs in memory",
        source: "Taurus, VLDB 2020, figure 11",
        evidence: Evidence::Measured,
        note: "The paper had a file system in DRAM and 80 threads. Here the logs are memory of the process.",
        axis: "workload",
        figures: &[Figure::Rate, Figure::Recovery],
        claims: &[],
        groups: memory,
    },
    Study {
        name: "taurus-12",
        title: "All of TPC-C",
        source: "Taurus, VLDB 2020, figure 12",
        evidence: Evidence::ScaledDevice,
        note: ON_NVME,
        axis: "workload",
        figures: &[Figure::Rate, Figure::Recovery],
        claims: &[
            ratio(
                Figure::Rate,
                "TPC-C",
                ("taurus:command", "none"),
                0.883,
                "an overhead of 11.7 %, section 5.5",
            ),
            ratio(Figure::Recovery, "TPC-C", ("taurus:command", "serial:command"), 12.8, "section 5.5"),
        ],
        groups: full_mix,
    },
    Study {
        name: "taurus-13",
        title: "Contention",
        source: "Taurus, VLDB 2020, figure 13",
        evidence: Evidence::ScaledDevice,
        note: "The paper had 56 workers, so that a theta of .9 already makes most of them wait. Here two.",
        axis: "theta",
        figures: &[Figure::Rate, Figure::Recovery],
        claims: &[],
        groups: contention,
    },
    Study {
        name: "taurus-14",
        title: "Length of transactions",
        source: "Taurus, VLDB 2020, figure 14",
        evidence: Evidence::ScaledDevice,
        note: ON_NVME,
        axis: "rows of a transaction",
        figures: &[Figure::Rate],
        claims: &[],
        groups: length,
    },
    Study {
        name: "taurus-16",
        title: "Number of logs",
        source: "Taurus, VLDB 2020, figure 16",
        evidence: Evidence::Measured,
        note: "The paper plots nanoseconds of vector work with and without vector instructions. Here is what the number of \
               logs costs a whole call; docs/benchmarks.md has the instructions of the vector work.",
        axis: "logs",
        figures: &[Figure::Rate, Figure::DependencyBytes],
        claims: &[],
        groups: logs,
    },
];
