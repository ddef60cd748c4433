//! TPC-C, revision 5.11: all five transactions (`bench/workloads/tpcc_*.sql`), the population ([`load`]), the
//! terminals' input ([`input`]) and the twelve consistency conditions ([`checks`]).
//!
//! Left out: terminals and their keying and think times. So rates are no tpmC and must not be called so.

pub mod checks;
pub mod input;
pub mod load;

use anyhow::Result;

use super::{Argument, Call, Calls, Connection, Parameter, Trace, Violation, Workload};

/// How much there is of everything; [`Scale::SPEC`] is clause 1.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub items: u64,
    /// For each district; as many orders to begin with.
    pub customers: u64,
    /// Orders for each district that are not delivered to begin with.
    pub undelivered: u64,
}

impl Scale {
    pub const SPEC: Scale = Scale { items: 100_000, customers: 3_000, undelivered: 900 };
    /// For tests: a hundredth.
    pub const SMALL: Scale = Scale { items: 1_000, customers: 30, undelivered: 9 };
}

/// Which transactions are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mix {
    /// 45 % New-Order, 43 % Payment, 4 % each of Order-Status, Delivery and Stock-Level (clause 5.2.3).
    Full,
    /// Half New-Order, half Payment: what the Taurus paper and its code measure.
    Half,
    NewOrder,
    Payment,
}

impl Mix {
    /// Shares of the calls, in per cent.
    fn shares(self) -> [u32; 5] {
        match self {
            Mix::Full => [45, 43, 4, 4, 4],
            Mix::Half => [50, 50, 0, 0, 0],
            Mix::NewOrder => [100, 0, 0, 0, 0],
            Mix::Payment => [0, 100, 0, 0, 0],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Mix::Full => "full mix",
            Mix::Half => "New-Order and Payment half each",
            Mix::NewOrder => "New-Order only",
            Mix::Payment => "Payment only",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    pub warehouses: u64,
    pub scale: Scale,
    pub mix: Mix,
}

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;

const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;
const STOCK_LEVEL: usize = 4;

const CALLS: &[Call] = &[
    Call {
        name: "new_order",
        sql: "CALL tpcc_new_order($1, $2, $3, $4, $5, $6, NULL)",
        parameters: &[
            Parameter::Integer,
            Parameter::Integer,
            Parameter::Integer,
            Parameter::Integers,
            Parameter::SmallInts,
            Parameter::SmallInts,
        ],
        // An unused item, one order in a hundred.
        refusals: &["P0002"],
    },
    Call {
        name: "payment",
        sql: "CALL tpcc_payment($1, $2, $3, $4, $5, $6, $7, NULL)",
        parameters: &[
            Parameter::Integer,
            Parameter::Integer,
            Parameter::Integer,
            Parameter::Integer,
            Parameter::Text,
            Parameter::BigInt,
            Parameter::Integer,
        ],
        refusals: &[],
    },
    Call {
        name: "order_status",
        sql: "CALL tpcc_order_status($1, $2, $3, $4, NULL, NULL, NULL, NULL)",
        parameters: &[Parameter::Integer, Parameter::Integer, Parameter::Text, Parameter::Integer],
        refusals: &[],
    },
    Call {
        name: "delivery",
        sql: "CALL tpcc_delivery($1, $2, NULL)",
        parameters: &[Parameter::Integer, Parameter::Integer],
        refusals: &[],
    },
    Call {
        name: "stock_level",
        sql: "CALL tpcc_stock_level($1, $2, $3, NULL)",
        parameters: &[Parameter::Integer, Parameter::Integer, Parameter::Integer],
        refusals: &[],
    },
];

/// An order and a payment leave a row each; a delivery does not.
const TRACES: &[Trace] = &[
    Trace {
        call: NEW_ORDER,
        found: "SELECT o_w_id, o_d_id, o_c_id, o_ol_cnt FROM orders",
        expected: |arguments| {
            let lines = match &arguments[3] {
                Argument::Integers(items) => items.len() as i64,
                _ => 0,
            };
            vec![whole(&arguments[0]), whole(&arguments[1]), whole(&arguments[2]), lines]
        },
    },
    Trace {
        call: PAYMENT,
        found: "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_amount FROM history",
        expected: |arguments| [0, 1, 2, 3, 5].iter().map(|place: &usize| whole(&arguments[*place])).collect(),
    },
];

fn whole(argument: &Argument) -> i64 {
    match argument {
        Argument::Integer(number) => i64::from(*number),
        Argument::BigInt(number) => *number,
        _ => 0,
    }
}

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![
            include_str!("../../workloads/tpcc_schema.sql"),
            include_str!("../../workloads/tpcc_procedures.sql"),
        ]
    }

    fn load(&self, connection: &mut dyn Connection) -> Result<()> {
        load::all(self, connection)
    }

    fn calls(&self) -> &'static [Call] {
        CALLS
    }

    fn stream(&self, worker: u64, workers: u64, seed: u64) -> Box<dyn Calls> {
        Box::new(input::Terminals::new(self, worker, workers, seed))
    }

    fn traces(&self) -> &'static [Trace] {
        TRACES
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        checks::all(self, connection)
    }

    fn describe(&self) -> String {
        let scale = if self.scale == Scale::SPEC { "" } else { ", a small population" };
        format!("{} warehouses, {}{scale}", self.warehouses, self.mix.name())
    }
}
