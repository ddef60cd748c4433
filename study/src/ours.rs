//! Figures of our own.

use hyades::ControlKind;
use hyades::ProtocolKind::{Taurus, TaurusGraph};
use hyades_bench::device::DeviceKind;
use hyades_bench::instance::Variant;

use crate::study::{Claim, Evidence, Figure, Group, Load, Size, Study, command, data, every, under};

fn protocols(_: Size) -> Vec<Group> {
    vec![Group::on_hard_disks("YCSB", Load::YCSB, every())]
}

fn orders(size: Size) -> Vec<Group> {
    let thetas: &[f64] = if size == Size::Quick { &[0.0, 0.9] } else { &[0.0, 0.6, 0.9, 1.1] };
    let group = |theta: &f64| {
        let load = Load::Ycsb { rows: 262_144, accesses: 2, theta: *theta };
        let all = [Taurus, TaurusGraph].into_iter().flat_map(|protocol| [data(protocol), command(protocol)]);
        let group = Group::on_hard_disks(&theta.to_string(), load, all.collect());
        Group { device: DeviceKind::Nvme, orders: true, ..group }
    };
    thetas.iter().map(group).collect()
}

fn controls(size: Size) -> Vec<Group> {
    let thetas: &[f64] = if size == Size::Quick { &[0.0, 0.9] } else { &[0.0, 0.6, 0.9] };
    let mut variants = ControlKind::ALL.map(|control| under(control, command(Taurus))).to_vec();
    let by_times = under(ControlKind::Optimistic, command(Taurus));
    variants.push(Variant { fails_beside_writers: true, ..by_times });
    let group = |at: &str, load| Group {
        device: DeviceKind::Ram,
        ..Group::on_hard_disks(at, load, variants.clone())
    };
    let half_written = thetas
        .iter()
        .map(|theta| group(&theta.to_string(), Load::Ycsb { rows: 262_144, accesses: 16, theta: *theta }));
    let mostly_read =
        thetas.iter().map(|theta| group(&format!("{theta}, 95 % read"), Load::MostlyRead { theta: *theta }));
    half_written.chain(mostly_read).collect()
}

const fn at_least(at: &'static str, of: &'static str) -> Claim {
    let over = Some("taurus:command");
    Claim { figure: Figure::Rate, at, of, over, paper: None, says: "our aim: at least .9 at theta 0" }
}

pub(crate) const STUDIES: &[Study] = &[
    Study {
        name: "protocols",
        title: "Every protocol beside the others",
        source: "our own",
        evidence: Evidence::ScaledDevice,
        note: "One table for all protocols: eight hard disks with two eightieths of their bandwidth, two workers.",
        axis: "workload",
        figures: &[
            Figure::Rate,
            Figure::Latency,
            Figure::RecordBytes,
            Figure::DependencyBytes,
            Figure::Recovery,
        ],
        claims: &[],
        groups: protocols,
    },
    Study {
        name: "replay-orders",
        title: "What a replay waits for",
        source: "our own",
        evidence: Evidence::WorkAndSpan,
        note: "Of the same kind of run, three orders: by positions of each log (LSN vectors, and what a list names made into \
               positions), by the records that are named, and by the last writers of the keys that are written. Calls do not \
               say which keys they write, so for them the last one is that by positions.",
        axis: "theta",
        figures: &[Figure::ByPositions, Figure::ByNames, Figure::ByConflicts],
        claims: &[],
        groups: orders,
    },
    Study {
        name: "controls",
        title: "How serializable transactions read",
        source: "our own",
        evidence: Evidence::Measured,
        note: "YCSB with sixteen accesses, logs in memory. Without locks a transaction copies what it reads and looks at it \
               again at its commit time. By the rule of Silo it fails if another one is writing that, or has changed it; \
               otherwise only one that has committed before counts. Silo writes when it commits, so another one is in the \
               way for a shorter time than here.",
        axis: "theta, half of the accesses write",
        figures: &[Figure::Rate, Figure::BegunAgain],
        claims: &[at_least("0", "taurus:command:occ"), at_least("0", "taurus:command:mvcc")],
        groups: controls,
    },
];
