//! Functions and operators of network addresses.
//!
//! Reference: `network.c`, `mac.c` and `mac8.c` of PostgreSQL 15.

use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::network::Network;
use crate::value::Value;

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match arguments {
        [Value::Network(network)] => of_one(function, *network),
        [Value::Network(one), Value::Network(other)] => of_two(function, *one, *other),
        [Value::Network(network), Value::Integer(bits)] => with_mask(*network, *bits).map(Value::Network),
        [Value::Network(network), Value::BigInt(number)] if function == Function::NetworkMinus => {
            moved(*network, -i128::from(*number))
        }
        [Value::Network(network), Value::BigInt(number)]
        | [Value::BigInt(number), Value::Network(network)] => moved(*network, i128::from(*number)),
        [Value::MacAddr(bytes)] => Ok(Value::MacAddr(of_mac(function, *bytes))),
        [Value::MacAddr8(bytes)] => Ok(Value::MacAddr8(of_mac(function, *bytes))),
        [Value::MacAddr(one), Value::MacAddr(other)] => Ok(Value::MacAddr(of_macs(function, *one, other))),
        [Value::MacAddr8(one), Value::MacAddr8(other)] => Ok(Value::MacAddr8(of_macs(function, *one, other))),
        _ => Err(mismatch(function, arguments)),
    }
}

fn of_one(function: Function, network: Network) -> Result<Value> {
    let whole = |number: u128| network.to_inet().with_number(number).with_bits(network.width());
    Ok(match function {
        Function::NetworkHost => Value::text(network.host()),
        Function::NetworkAbbreviated if network.is_cidr() => Value::text(network.abbreviated()),
        Function::NetworkAbbreviated => Value::text(network.shown()),
        Function::NetworkFamily => Value::Integer(i32::from(network.family())),
        Function::NetworkMaskLength => Value::Integer(i32::from(network.bits())),
        Function::NetworkBroadcast => {
            Value::Network(network.to_inet().with_number(network.number() | network.host_mask()))
        }
        Function::NetworkOf => Value::Network(network.to_cidr()),
        Function::NetworkMask => Value::Network(whole(network.all_bits() & !network.host_mask())),
        Function::NetworkHostMask => Value::Network(whole(network.host_mask())),
        Function::NetworkNot => Value::Network(network.with_number(!network.number())),
        _ => return Err(mismatch(function, &[Value::Network(network)])),
    })
}

fn of_two(function: Function, one: Network, other: Network) -> Result<Value> {
    let is_same = one.family() == other.family();
    let longer = one.bits().max(other.bits());
    let of_number = |number: u128| Value::Network(one.with_number(number).with_bits(longer));
    let is_refused = |what: &str| {
        let message = format!("cannot {what} inet values of different sizes");
        Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
    };
    Ok(match function {
        Function::NetworkIsWithin => Value::Boolean(one.overlaps(other) && one.bits() > other.bits()),
        Function::NetworkIsWithinOrEqual => Value::Boolean(one.overlaps(other) && one.bits() >= other.bits()),
        Function::NetworkContains => Value::Boolean(one.overlaps(other) && one.bits() < other.bits()),
        Function::NetworkContainsOrEqual => Value::Boolean(one.overlaps(other) && one.bits() <= other.bits()),
        Function::NetworkOverlaps => Value::Boolean(one.overlaps(other)),
        Function::NetworkIsSameFamily => Value::Boolean(is_same),
        Function::NetworkMerge if is_same => Value::Network(merged(one, other)),
        Function::NetworkMerge => {
            let message = "cannot merge addresses from different families";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        Function::NetworkAnd if is_same => of_number(one.number() & other.number()),
        Function::NetworkAnd => return is_refused("AND"),
        Function::NetworkOr if is_same => of_number(one.number() | other.number()),
        Function::NetworkOr => return is_refused("OR"),
        Function::NetworkMinus if is_same => Value::BigInt(distance(one, other)?),
        Function::NetworkMinus => return is_refused("subtract"),
        _ => return Err(mismatch(function, &[Value::Network(one), Value::Network(other)])),
    })
}

/// The smallest network that contains both, which are of one family.
fn merged(one: Network, other: Network) -> Network {
    let differing = (one.number() ^ other.number()).leading_zeros() - (128 - u32::from(one.width()));
    let common = differing.min(u32::from(one.bits().min(other.bits())));
    one.with_bits(common as u8).to_cidr()
}

fn out_of_range() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

fn distance(one: Network, other: Network) -> Result<i64> {
    let (one, other) = (one.number(), other.number());
    let distance = i64::try_from(one.abs_diff(other)).ok();
    match distance {
        Some(distance) => Ok(if one < other { -distance } else { distance }),
        // The smallest number is further from zero than the largest.
        None if one < other && other - one == 1 << 63 => Ok(i64::MIN),
        None => Err(out_of_range()),
    }
}

fn moved(network: Network, by: i128) -> Result<Value> {
    let number = network.number().checked_add_signed(by).filter(|number| *number <= network.all_bits());
    Ok(Value::Network(network.to_inet().with_number(number.ok_or_else(out_of_range)?)))
}

/// The same address with a mask of this length; -1 stands for all bits.
fn with_mask(network: Network, bits: i32) -> Result<Network> {
    let bits = match bits {
        -1 => network.width(),
        bits => u8::try_from(bits).ok().filter(|bits| *bits <= network.width()).ok_or_else(|| {
            let message = format!("invalid mask length: {bits}");
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        })?,
    };
    let masked = network.with_bits(bits);
    Ok(if network.is_cidr() { masked.to_cidr() } else { masked })
}

fn of_mac<const LENGTH: usize>(function: Function, mut bytes: [u8; LENGTH]) -> [u8; LENGTH] {
    match function {
        // The manufacturer's part.
        Function::MacTruncated => bytes[3..].fill(0),
        Function::MacWithSeventhBit => bytes[0] |= 0x02,
        _ => bytes.iter_mut().for_each(|byte| *byte = !*byte),
    }
    bytes
}

fn of_macs<const LENGTH: usize>(
    function: Function,
    mut bytes: [u8; LENGTH],
    other: &[u8; LENGTH],
) -> [u8; LENGTH] {
    for (byte, other) in bytes.iter_mut().zip(other) {
        *byte = if function == Function::NetworkAnd { *byte & other } else { *byte | other };
    }
    bytes
}
