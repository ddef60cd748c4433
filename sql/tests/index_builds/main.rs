//! CREATE INDEX and DROP INDEX CONCURRENTLY beside writing sessions, with every protocol, and with power
//! cuts at many points; see `work`.

use hyades::engine::config::ProtocolKind;

mod work;

#[test]
fn indexes_are_built_beside_writers() {
    for (protocol, logging) in [
        (ProtocolKind::Taurus, "data"),
        (ProtocolKind::Taurus, "command"),
        (ProtocolKind::Taurus, "auto"),
        (ProtocolKind::Serial, "command"),
    ] {
        if let Err(wrong) = work::lose_power(protocol, logging, 1, None) {
            panic!("{protocol:?}, {logging}: {wrong}");
        }
    }
}

#[test]
fn indexes_survive_power_cuts_at_many_points() {
    let step = if std::env::var("HYADES_CRASH_POINTS").is_ok_and(|points| points == "all") { 7 } else { 61 };
    for operation in (0..400).step_by(step) {
        let logging = ["data", "command"][operation as usize / step % 2];
        if let Err(wrong) = work::lose_power(ProtocolKind::Taurus, logging, operation + 2, Some(operation)) {
            panic!("at operation {operation}, {logging}: {wrong}");
        }
    }
}
