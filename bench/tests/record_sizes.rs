//! The sizes of the log records of TPC-C's calls, and a check that they are replayed to the original state.
//!
//! The items have all the numbers of the specification, because they make up most of the record of a
//! New-Order. The rest of the population is small.

use std::path::PathBuf;
use std::time::Duration;

use hyades::ProtocolKind;
use hyades_bench::device::DeviceKind;
use hyades_bench::instance::{Instance, Logging, Recovered, Replay, Setting, Variant};
use hyades_bench::workload::tpcc::{Mix, Scale, Tpcc};

fn run(mix: Mix, logging: Logging) -> Recovered {
    let workload =
        Tpcc { warehouses: 2, scale: Scale { items: 100_000, customers: 100, undelivered: 30 }, mix };
    let setting = Setting {
        workers: 2,
        logs: 2,
        device: DeviceKind::Ram,
        in_flight: 256,
        seed: 1,
        directory: PathBuf::from("/nowhere"),
        recovery_workers: 2,
        replay: Replay::Keys,
        recoveries: 1,
        orders: false,
    };
    let variant = Variant::new(ProtocolKind::Taurus, logging);
    let mut instance = Instance::create(variant, &setting, &workload).expect("it loads");
    let figures = instance.measure(&workload, Duration::from_millis(700), &mut |_, _| {}).expect("it runs");
    assert!(figures.acknowledged > 100, "{figures:?}");
    let recovered = instance.crash_and_recover(&workload).expect("it recovers");
    assert!(recovered.state_matches && recovered.violations.is_empty(), "{recovered:?}");
    println!(
        "{mix:?} {logging:?}: {:.1} bytes a record, {:.2} of them its LSN vector",
        recovered.records.record_bytes, recovered.records.vector_bytes
    );
    recovered
}

#[test]
fn calls_of_new_order_and_payment_fit_in_120_bytes_and_their_vectors_in_16() {
    let commands = run(Mix::Half, Logging::Command).records;
    assert!(commands.record_bytes <= 120.0 && commands.vector_bytes <= 16.0, "{commands:?}");
}
