//! Orders and masks; texts are compared with PostgreSQL's by the script `network_addresses`.

use super::*;
use crate::key;
use crate::value::{SqlType, Value};

fn inet(text: &str) -> Network {
    parse(text, false).unwrap()
}

/// The orders of all pairs, by the key of an index and by comparison, are the same.
#[test]
fn keys_are_in_the_order_of_the_values() {
    let texts = [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.0.0.0/9",
        "10.0.0.0",
        "10.0.0.1/8",
        "10.0.0.1/24",
        "10.1.2.3/8",
        "10.128.0.0/9",
        "255.255.255.255",
        "255.255.255.255/0",
        "::/0",
        "::",
        "::1",
        "::1/64",
        "::1.2.3.4",
        "ffff::/16",
        "ffff::1/16",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ];
    for left in texts.map(inet) {
        for right in texts.map(inet) {
            let keys = [left, right].map(|network| {
                let mut encoded = Vec::new();
                key::encode(&Value::Network(network), SqlType::Inet, &mut encoded);
                assert_eq!(key::encoded_length(SqlType::Inet, &encoded, 0), Some(encoded.len()));
                encoded
            });
            assert_eq!(keys[0].cmp(&keys[1]), left.order(right), "{left:?} {right:?}");
        }
    }
}

#[test]
fn a_network_has_no_bits_right_of_its_mask() {
    assert!(Network::new(IpAddr::from([10, 0, 0, 1]), 8, true).is_none());
    assert!(Network::new(IpAddr::from([10, 0, 0, 0]), 33, false).is_none());
    assert_eq!(inet("10.1.2.3/8").to_cidr(), parse("10", true).unwrap());
    assert_eq!(inet("::1/0").host_mask(), u128::MAX);
    assert_eq!(inet("::1").host_mask(), 0);
    assert_eq!(inet("1.2.3.4").host_mask(), 0);
}
