//! YCSB: rows of ten fields of 100 bytes, Zipf, some reads, some writes.
//!
//! Keys are drawn before the clock starts (a million for each worker, used in turn), so that drawing them is
//! not measured.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::Result;
use rand::RngExt;

use super::{Argument, Call, Calls, Connection, Parameter, Request, Violation, Workload, parts_of};
use crate::generator::{Random, Zipf, letters, random_for};

#[derive(Clone, Copy, Debug)]
pub struct Ycsb {
    pub rows: u64,
    pub accesses: u64,
    /// Share of accesses that only read, 0 to 1.
    pub read_share: f64,
    pub theta: f64,
}

/// The number of keys drawn for each worker.
const POOL: usize = 1 << 20;
const FIELDS: usize = 10;
const FIELD_BYTES: usize = 100;
const SEED_BYTES: usize = 10;

const CALLS: &[Call] = &[
    Call {
        name: "ycsb",
        sql: "CALL ycsb($1, $2)",
        parameters: &[Parameter::Integers, Parameter::Text],
        refusals: &[],
    },
    Call {
        name: "ycsb_2",
        sql: "CALL ycsb_2($1, $2, $3)",
        parameters: &[Parameter::Integer, Parameter::Integer, Parameter::Text],
        refusals: &[],
    },
];

impl Ycsb {
    /// Appends the accesses of one transaction: a positive key is read, a negative one written.
    pub fn draw(&self, zipf: &Zipf, random: &mut Random, into: &mut Vec<i32>) {
        let (first, accesses) = (into.len(), self.accesses as usize);
        while into.len() < first + accesses {
            let key = zipf.key(random) as i32 + 1;
            // The accesses of a transaction differ, as long as there are enough rows.
            let is_new =
                into[first..].iter().all(|other| other.abs() != key) || self.rows < self.accesses * 2;
            if is_new {
                into.push(if random.random_bool(self.read_share) { key } else { -key });
            }
        }
    }
}

struct Stream {
    /// Accesses: a positive key is read, a negative one written.
    pool: Vec<i32>,
    next: usize,
    accesses: usize,
    number: u64,
}

impl Workload for Ycsb {
    fn name(&self) -> &'static str {
        "ycsb"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![include_str!("../../workloads/ycsb.sql")]
    }

    fn parts(&self) -> u64 {
        parts_of(self.rows)
    }

    fn load(&self, part: u64, connection: &mut dyn Connection) -> Result<()> {
        super::copy_part(connection, "usertable", (part, self.rows), |row, line| {
            let mut random = random_for(&[1, row]);
            // Writing into a String cannot fail.
            let _ = write!(line, "{}", row + 1);
            for _ in 0..FIELDS {
                line.push('\t');
                letters(&mut random, FIELD_BYTES, line);
            }
        })
    }

    fn calls(&self) -> &'static [Call] {
        CALLS
    }

    fn stream(&self, worker: u64, _workers: u64, seed: u64) -> Box<dyn Calls> {
        let mut random = random_for(&[seed, worker]);
        let zipf = Arc::new(Zipf::new(self.rows, self.theta));
        let accesses = self.accesses as usize;
        let mut pool = Vec::with_capacity(POOL + accesses);
        while pool.len() < POOL {
            self.draw(&zipf, &mut random, &mut pool);
        }
        Box::new(Stream { pool, next: 0, accesses, number: worker << 48 })
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        let mut violations = Vec::new();
        super::require_rows(connection, &mut violations, "usertable", self.rows)?;
        Ok(violations)
    }

    fn describe(&self) -> String {
        format!(
            "{} rows, {} accesses, read share {}, theta {}",
            self.rows, self.accesses, self.read_share, self.theta
        )
    }
}

impl Calls for Stream {
    fn next(&mut self, request: &mut Request) {
        let accesses = &self.pool[self.next..self.next + self.accesses];
        self.next =
            if self.next + 2 * self.accesses > self.pool.len() { 0 } else { self.next + self.accesses };
        self.number += 1;
        request.is_read_only = accesses.iter().all(|key| *key > 0);
        request.arguments.clear();
        if let [first, second] = accesses {
            request.call = 1;
            request.arguments.extend([Argument::Integer(*first), Argument::Integer(*second)]);
        } else {
            request.call = 0;
            request.arguments.push(Argument::Integers(accesses.to_vec()));
        }
        request.arguments.push(Argument::Text(seed_text(self.number)));
    }
}

/// Ten characters that differ from transaction to transaction.
fn seed_text(number: u64) -> compact_str::CompactString {
    const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    let mut rest = number;
    (0..SEED_BYTES)
        .map(|_| {
            let digit = DIGITS[(rest & 63) as usize];
            rest >>= 6;
            char::from(digit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_accesses_write_and_a_quarter_of_the_calls_read_only() {
        let ycsb = Ycsb { rows: 1000, accesses: 2, read_share: 0.5, theta: 0.6 };
        let mut stream = ycsb.stream(0, 2, 1);
        let mut request = Request::default();
        let (mut writes, mut read_only) = (0, 0);
        for _ in 0..10_000 {
            stream.next(&mut request);
            let [Argument::Integer(a), Argument::Integer(b), Argument::Text(seed)] = &request.arguments[..]
            else {
                panic!("{request:?}");
            };
            assert!(a.abs() != b.abs() && (1..=1000).contains(&a.abs()) && seed.len() == 10);
            writes += u32::from(*a < 0) + u32::from(*b < 0);
            read_only += u32::from(request.is_read_only);
        }
        assert!(
            (9_500..10_500).contains(&writes) && (2_200..2_800).contains(&read_only),
            "{writes} {read_only}"
        );
    }

    #[test]
    fn many_accesses_come_as_an_array() {
        let ycsb = Ycsb { rows: 5000, accesses: 2000, read_share: 0.0, theta: 0.0 };
        let mut request = Request::default();
        ycsb.stream(0, 1, 1).next(&mut request);
        assert!(matches!(&request.arguments[0], Argument::Integers(keys) if keys.len() == 2000));
    }
}
