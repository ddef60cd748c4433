//! Every workload on a small scale: loaded, run, checked, crashed, recovered, under every protocol and
//! logging. The checks of TPC-C are tested with violations that they must find.

use std::path::PathBuf;
use std::time::Duration;

use hyades::{Config, Database, ProtocolKind};
use hyades_bench::device::DeviceKind;
use hyades_bench::instance::{Instance, Logging, Replay, Setting, Variant};
use hyades_bench::target::Connection;
use hyades_bench::target::embedded::EmbeddedConnection;
use hyades_bench::workload::Workload;
use hyades_bench::workload::bank::Bank;
use hyades_bench::workload::smallbank::SmallBank;
use hyades_bench::workload::tpcc::{Mix, Scale, Tpcc, checks};
use hyades_bench::workload::transfer::Transfer;
use hyades_bench::workload::ycsb::Ycsb;

const TPCC: Tpcc = Tpcc { warehouses: 1, scale: Scale::SMALL, mix: Mix::Full };

fn setting() -> Setting {
    Setting {
        workers: 2,
        logs: 2,
        device: DeviceKind::Ram,
        in_flight: 64,
        seed: 7,
        // Nothing is written there: files are in memory.
        directory: PathBuf::from("/bench"),
        recovery_workers: 2,
        replay: Replay::Keys,
        recoveries: 2,
        orders: false,
    }
}

fn try_out(workload: &dyn Workload, protocol: ProtocolKind, logging: Logging) {
    let variant = Variant::new(protocol, logging);
    let name = format!("{} {}", workload.name(), variant.name());
    let mut instance = Instance::create(variant, &setting(), workload).expect(&name);
    let figures = instance.measure(workload, Duration::from_millis(60), &mut |_, _| {}).expect(&name);
    assert!(figures.acknowledged > 0 && figures.latency_us[0] > 0, "{name}: {figures:?}");
    assert_eq!(instance.check(workload).expect(&name), Vec::new(), "{name}");
    if !variant.is_durable() {
        assert_eq!(figures.written_bytes, 0, "{name}");
        return;
    }
    let recovered = instance.crash_and_recover(workload).expect(&name);
    assert!(recovered.state_matches, "{name}: {recovered:?}");
    assert_eq!(recovered.violations, Vec::<String>::new(), "{name}");
    // A delivery may find nothing to deliver.
    let is_exact = workload.name() != "tpcc";
    let written = figures.acknowledged - figures.read_only;
    assert!(
        recovered.transactions == written || !is_exact && recovered.transactions < written,
        "{name}: what wrote is in the log: {recovered:?}, {figures:?}"
    );
    assert_eq!(recovered.records.transactions, recovered.transactions, "{name}");
    assert_eq!(recovered.rates.len(), 2, "{name}");
    // It can also continue from there.
    instance.measure(workload, Duration::from_millis(20), &mut |_, _| {}).expect(&name);
    assert_eq!(instance.check(workload).expect(&name), Vec::new(), "{name}");
}

#[test]
fn every_workload_survives_a_crash() {
    let ycsb = |accesses| Ycsb { rows: 500, accesses, read_share: 0.5, theta: 0.6 };
    let workloads: [&dyn Workload; 7] = [
        &ycsb(2),
        &ycsb(20),
        &SmallBank { customers: 100, theta: 0.6 },
        &Transfer { accounts: 100, theta: 0.0, is_native: false },
        &Transfer { accounts: 100, theta: 0.9, is_native: true },
        &Bank { customers: 100, theta: 0.6 },
        &TPCC,
    ];
    for workload in workloads {
        try_out(workload, ProtocolKind::Taurus, Logging::Mixed);
        try_out(workload, ProtocolKind::Serial, Logging::Command);
    }
    try_out(&ycsb(2), ProtocolKind::Taurus, Logging::Auto);
    try_out(&ycsb(2), ProtocolKind::Serial, Logging::Data);
    try_out(&ycsb(2), ProtocolKind::None, Logging::Auto);
}

/// Commands are smaller than the patches of the rows they write, and the acknowledgement waits for
/// the device.
#[test]
fn commands_take_less_of_a_slow_device_than_data() {
    let ycsb = Ycsb { rows: 500, accesses: 2, read_share: 0.0, theta: 0.0 };
    let bytes = [Logging::Command, Logging::Data].map(|logging| {
        let setting = Setting { device: DeviceKind::Nvme, ..setting() };
        let variant = Variant::new(ProtocolKind::Taurus, logging);
        let mut instance = Instance::create(variant, &setting, &ycsb).expect("it is created");
        let length = Duration::from_millis(150);
        let figures = instance.measure(&ycsb, length, &mut |_, _| {}).expect("it runs");
        assert!(figures.syncs_per_transaction > 0.0);
        figures.bytes_per_transaction
    });
    assert!(bytes[0] * 2.0 < bytes[1], "{bytes:?}");
}

/// Statements that break a condition, and the condition.
const DAMAGE: &[(&str, &str)] = &[
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", "1:"),
    ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", "2:"),
    ("DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 25", "3:"),
    ("DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 7 AND ol_number = 1", "4:"),
    ("UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 4 AND o_id = 5", "5:"),
    ("UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 5", "6:"),
    ("UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 5 AND ol_o_id = 3", "7:"),
    ("UPDATE warehouse SET w_ytd = w_ytd - 1", "8:"),
    ("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 6", "9:"),
    ("UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 7 AND c_id = 7", "10:"),
    ("UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 8 AND c_id = 8", "11:"),
    ("UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 9 AND c_id = 9", "12:"),
];

#[test]
fn every_condition_of_tpcc_finds_its_damage() {
    let mut config = Config::new("/unused");
    config.protocol = ProtocolKind::None;
    config.disk = std::sync::Arc::new(hyades::engine::disk::MemoryDisk::default());
    let database = Database::open(config).expect("memory only");
    let mut connection = EmbeddedConnection::new(&database).expect("it is open");
    for script in TPCC.schema() {
        connection.script(script).expect("it compiles");
    }
    (0..TPCC.parts()).for_each(|part| TPCC.load(part, &mut connection).expect("it is empty"));
    assert_eq!(TPCC.check(&mut connection).expect("it can be read"), Vec::new(), "the population itself");
    for (damage, condition) in DAMAGE {
        connection.script("BEGIN").expect("no transaction is open");
        connection.script(damage).expect(damage);
        let violations = TPCC.check(&mut connection).expect("it can be read");
        let is_found = violations.iter().any(|violation| violation.condition.starts_with(condition));
        assert!(is_found, "{damage}: {violations:?}");
        connection.script("ROLLBACK").expect(damage);
    }
    assert_eq!(TPCC.check(&mut connection).expect("it can be read"), Vec::new(), "all undone");
}

/// Otherwise the check that the indexes agree with the tables would compare the tables with themselves.
#[test]
fn the_checks_of_indexes_read_through_them() {
    let mut config = Config::new("/unused");
    config.protocol = ProtocolKind::None;
    config.disk = std::sync::Arc::new(hyades::engine::disk::MemoryDisk::default());
    let database = Database::open(config).expect("memory only");
    let mut connection = EmbeddedConnection::new(&database).expect("it is open");
    for script in TPCC.schema() {
        connection.script(script).expect("it compiles");
    }
    for (index, sql) in [
        ("orders_by_customer", checks::orders_of(1, 2, 3)),
        ("customer_by_name", checks::customers_named(1, 2, "BARBARBAR")),
    ] {
        // A plan is not a number, and the error quotes it.
        let plan = connection.numbers(&format!("EXPLAIN {sql}")).expect_err("a plan is text").to_string();
        assert!(plan.contains(&format!("Index Scan using {index}")), "{plan}");
    }
}
