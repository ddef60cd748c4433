//! Settings with known answers.

use hyades_bench::generator::random_for;

use super::*;

const COSTS: Costs = Costs {
    transaction_ns: 3_000.0,
    logged_ns: 0.0,
    record_bytes: 100,
    block_ns: 0.0,
    byte_ns: 0.0,
    line_ns: 0,
    wake_ns: 0,
    unpark_ns: 0,
};

/// One worker that only writes, with a processor for each thread, and short epochs.
fn setting(rule: Rule) -> Setting {
    Setting {
        rule,
        workers: 1,
        processors: 64,
        logs: 4,
        device: None,
        ring_bytes: 16 << 20,
        in_flight: 32_768,
        traffic: Ycsb { rows: 100_000, accesses: 2, read_share: 0.0, theta: 0.0 },
        epoch_ns: 1_000_000,
        shared_block_bytes: 8 << 10,
        length_ns: 30_000_000,
        warm_up_ns: 0,
        drains: true,
        seed: 1,
    }
}

const EVERY_RULE: [Rule; 6] = [
    Rule::None,
    Rule::Position,
    Rule::Vector { shares: true },
    Rule::Vector { shares: false },
    Rule::Epoch,
    Rule::Sequence,
];

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not {expected}");
}

#[test]
fn a_worker_alone_takes_its_time_for_each_transaction() {
    let simulated = simulate(&setting(Rule::None), &COSTS);
    assert_near(simulated.per_second, 1e9 / 3_000.0, 0.001);
    assert_near(simulated.worker_ns, 3_000.0, 0.001);
    let costs = Costs { logged_ns: 1_000.0, ..COSTS };
    let half = Ycsb { read_share: 0.5, ..setting(Rule::None).traffic };
    for rule in EVERY_RULE.into_iter().skip(1) {
        let simulated = simulate(&Setting { traffic: half, drains: false, ..setting(rule) }, &costs);
        // Three quarters write. What is not durable at the end does not count.
        assert_near(simulated.worker_ns, 3_750.0, 0.1);
        let again = simulate(&Setting { traffic: half, drains: false, ..setting(rule) }, &costs);
        assert_eq!(simulated, again, "a run depends on its parameters only");
    }
}

#[test]
fn a_serial_log_has_the_bandwidth_of_its_device() {
    let speed = Speed {
        bytes_per_second: 4e6,
        latency_ns: 8_000_000,
        is_one_at_a_time: true,
        bucket_ns: 0,
        neglects_ns: 0,
    };
    let (length_ns, ring_bytes) = (4_000_000_000, 1 << 20);
    let setting =
        Setting { device: Some(speed), length_ns, ring_bytes, workers: 2, ..setting(Rule::Position) };
    let simulated = simulate(&setting, &COSTS);
    // A block of this ring takes some 200 ms, of which the latency is 8.
    assert_near(simulated.per_second, 4e6 / 100.0, 0.06);
}

#[test]
fn twice_as_many_disks_are_twice_as_fast() {
    let speed = Speed {
        bytes_per_second: 2e6,
        latency_ns: 100_000,
        is_one_at_a_time: false,
        bucket_ns: 0,
        neglects_ns: 0,
    };
    let rate = |rule, logs| {
        let setting = Setting { device: Some(speed), ring_bytes: 1 << 18, workers: 8, logs, ..setting(rule) };
        simulate(&Setting { length_ns: 1_000_000_000, ..setting }, &COSTS).per_second
    };
    for rule in [Rule::Vector { shares: false }, Rule::Epoch, Rule::Sequence] {
        // A transaction of Plover has two parts mostly; the device has room for 20,000 records a second.
        let (two, four) = (rate(rule, 2), rate(rule, 4));
        assert!(two < 45_000.0, "{rule:?}: {two}");
        let expected = if rule == Rule::Sequence { 1.75 } else { 2.0 };
        assert_near(four / two, expected, 0.1);
    }
}

#[test]
fn an_answer_waits_for_its_epoch() {
    let setting = Setting { length_ns: 1_000_000_000, epoch_ns: 40_000_000, ..setting(Rule::Epoch) };
    let simulated = simulate(&setting, &Costs { transaction_ns: 10_000.0, ..COSTS });
    // Half an epoch on average.
    assert_near(simulated.latency_us, 20_000.0, 0.1);
    let few = simulate(&Setting { in_flight: 100, ..setting }, &COSTS);
    assert_near(few.per_second, 100.0 / 0.040, 0.1);
}

#[test]
fn three_workers_on_one_row_reach_the_rate_of_two() {
    let traffic = Ycsb { rows: 1, accesses: 1, read_share: 0.0, theta: 0.0 };
    let costs = Costs { transaction_ns: 2_000.0, ..COSTS };
    for rule in EVERY_RULE {
        let one = simulate(&Setting { traffic, ..setting(rule) }, &costs).per_second;
        let two = simulate(&Setting { traffic, workers: 2, ..setting(rule) }, &costs).per_second;
        // Half of a transaction is outside of the lock.
        assert_near(two / one, 2.0, 0.25);
        let three = simulate(&Setting { traffic, workers: 3, ..setting(rule) }, &costs).per_second;
        assert_near(three / two, 1.0, 0.05);
    }
    let readers = Ycsb { read_share: 1.0, ..traffic };
    let two = simulate(&Setting { traffic: readers, workers: 2, ..setting(Rule::None) }, &costs);
    assert_near(two.per_second, 1e6, 0.01);
}

#[test]
fn transactions_in_a_circle_begin_again_and_end() {
    let traffic = Ycsb { rows: 8, accesses: 4, read_share: 0.0, theta: 0.0 };
    let simulated = simulate(&Setting { traffic, workers: 8, ..setting(Rule::None) }, &COSTS);
    assert!(simulated.begun_again > 30 && simulated.per_second > 100_000.0, "{simulated:?}");
}

#[test]
fn a_shared_line_bounds_all_workers() {
    let costs = Costs { line_ns: 100, ..COSTS };
    let setting = Setting { length_ns: 5_000_000, ..setting(Rule::None) };
    let rate = |workers| simulate(&Setting { workers, ..setting.clone() }, &costs).per_second;
    // Every commit moves the clock's line, 10 million a second at most.
    assert_near(rate(2), 2e9 / 3_100.0, 0.03);
    let all = rate(60);
    assert!((9e6..10.1e6).contains(&all), "{all}");
}

#[test]
fn few_processors_are_shared() {
    let two = |processors, costs| {
        let setting = Setting { workers: 2, processors, ..setting(Rule::Vector { shares: false }) };
        simulate(&Setting { length_ns: 200_000_000, ..setting }, &costs)
    };
    let costs = Costs { byte_ns: 10.0, ..COSTS };
    // A transaction costs a worker 3,000 ns, and a logger 1,000 and a little for anchors.
    let (shared, own) = (two(2, costs), two(8, costs));
    assert_near(own.per_second, 2e9 / 3_000.0, 0.01);
    assert_near(shared.per_second, 2e9 / 4_000.0, 0.03);
    assert_near(shared.logger_ns, 1_000.0, 0.03);
}

/// Writes come at random times to a device that takes the same time for each (M/D/1): they wait for load / (2
/// (1 - load)) of that time.
#[test]
fn a_device_is_a_queue() {
    let speed =
        Speed { bytes_per_second: 1e9, latency_ns: 0, is_one_at_a_time: false, bucket_ns: 0, neglects_ns: 0 };
    let (mut device, mut random) = (device::Device::new(speed), random_for(&[1]));
    let uniform = Zipf::new(1 << 20, 0.0);
    let (load, service, count) = (0.8, 1_000.0, 400_000);
    let (mut now, mut waited) = (0.0, 0.0);
    for _ in 0..count {
        let share = (uniform.rank(&mut random) as f64 + 0.5) / f64::from(1 << 20);
        now -= service / load * share.ln();
        waited += device.write(now as u64, 1_000) as f64 - now - service;
    }
    assert_near(waited / f64::from(count), service * load / (2.0 * (1.0 - load)), 0.05);
}
