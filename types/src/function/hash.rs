//! `hashtext`, which programs use to make the number of an advisory lock from a name.
//!
//! Reference: `hash_bytes` and `hash_bytes_extended` in PostgreSQL 15's `hashfn.c`, which follow the function
//! lookup3.

use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::Result;
use crate::guest;
use crate::value::Value;

/// The bytes that one round takes.
const ROUND: usize = 12;

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    match arguments {
        [Value::Text(string)] => {
            guest::spend_for(string.len() / ROUND)?;
            let [_, _, hash] = state(string.as_bytes(), 0);
            Ok(Value::Integer(hash.cast_signed()))
        }
        [Value::Text(string), Value::BigInt(seed)] => {
            guest::spend_for(string.len() / ROUND)?;
            let [_, high, low] = state(string.as_bytes(), seed.cast_unsigned());
            Ok(Value::BigInt((u64::from(high) << 32 | u64::from(low)).cast_signed()))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

/// The three words after all bytes.
fn state(bytes: &[u8], seed: u64) -> [u32; 3] {
    let start = 0x9e37_79b9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let mut words = [start; 3];
    if seed != 0 {
        words[0] = words[0].wrapping_add((seed >> 32) as u32);
        words[1] = words[1].wrapping_add(seed as u32);
        mix(&mut words);
    }
    let mut rounds = bytes.chunks_exact(ROUND);
    for round in &mut rounds {
        add(&mut words, round);
        mix(&mut words);
    }
    // The lowest byte of the last word is left to the length.
    let rest = rounds.remainder();
    let (first, last) = rest.split_at(rest.len().min(8));
    add(&mut words, first);
    for (at, byte) in last.iter().enumerate() {
        words[2] = words[2].wrapping_add(u32::from(*byte) << (8 * (at + 1)));
    }
    finish(&mut words);
    words
}

/// Adds bytes to the words, the lowest first.
fn add(words: &mut [u32; 3], bytes: &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        words[at / 4] = words[at / 4].wrapping_add(u32::from(*byte) << (8 * (at % 4)));
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    for rotations in [[4, 6, 8], [16, 19, 4]] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(rotations[0]);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(rotations[1]);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(rotations[2]);
        *b = b.wrapping_add(*a);
    }
}

fn finish([a, b, c]: &mut [u32; 3]) {
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
}
