//! The five calls, and what two of them leave behind.

use crate::workload::{Argument, Call, Parameter, Trace};

pub(super) const NEW_ORDER: usize = 0;
pub(super) const PAYMENT: usize = 1;
pub(super) const ORDER_STATUS: usize = 2;
pub(super) const DELIVERY: usize = 3;
pub(super) const STOCK_LEVEL: usize = 4;

pub(super) const CALLS: &[Call] = &[
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

/// An order and a payment leave a row each. A delivery does not.
pub(super) const TRACES: &[Trace] = &[
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
