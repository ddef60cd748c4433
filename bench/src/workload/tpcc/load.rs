//! The initial population (clause 4.3.3). Every row is derived from its own number, so that tables that must
//! agree can be written one after the other.

use std::fmt::Write;

use anyhow::Result;
use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::scale::{DISTRICTS, Tpcc};
use crate::generator::{letters, non_uniform, random_for, text};
use crate::workload::{Connection, copy_rows};

/// The number of different last names (clause 4.3.2.3).
pub(super) const LAST_NAMES: u64 = 1000;
/// The constant C of last names in the load (clause 2.1.6.1).
const C_LAST_LOAD: u64 = 157;
const LOADED_AT: &str = "2026-01-01 00:00:00";
const FIRST_PAYMENT: u64 = 1_000;

/// The first part of the seed of a row, so that each table has its own stream.
#[derive(Clone, Copy)]
enum Of {
    Warehouse = 1,
    District,
    Customer,
    History,
    Order,
    Line,
    Item,
    Stock,
}

fn random_of(of: Of, parts: &[u64]) -> SmallRng {
    let mut all = vec![of as u64];
    all.extend_from_slice(parts);
    random_for(&all)
}

/// Clause 4.3.2.3.
pub(super) fn last_name(number: u64) -> String {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

struct Address {
    text: String,
}

impl Address {
    /// Two streets, city, state and zip code, separated by tabs.
    fn new(random: &mut SmallRng) -> Address {
        let mut line = String::new();
        for _ in 0..3 {
            line.push_str(&text(random, 10, 20));
            line.push('\t');
        }
        letters(random, 2, &mut line);
        // Writing into a String cannot fail.
        let _ = write!(line, "\t{:04}11111", random.random_range(0..10_000));
        Address { text: line }
    }
}

/// Contains "ORIGINAL" in one of ten texts (clause 4.3.3.1).
fn data(random: &mut SmallRng) -> String {
    let mut data = text(random, 26, 50);
    if random.random_range(0..10) == 0 {
        let place = random.random_range(0..=data.len() - 8);
        data.replace_range(place..place + 8, "ORIGINAL");
    }
    data
}

/// First and last name of a customer, and the generator for the rest. Needed twice.
fn names(warehouse: u64, district: u64, customer: u64) -> (String, String, SmallRng) {
    let mut random = random_of(Of::Customer, &[warehouse, district, customer]);
    let number = match customer {
        1..=LAST_NAMES => customer - 1,
        _ => non_uniform(&mut random, 255, C_LAST_LOAD, 0, LAST_NAMES - 1),
    };
    (text(&mut random, 8, 16), last_name(number), random)
}

/// The number of lines of an order, and the generator for the rest. Needed twice.
fn order(warehouse: u64, district: u64, order: u64) -> (u64, SmallRng) {
    let mut random = random_of(Of::Order, &[warehouse, district, order]);
    (random.random_range(5..=15), random)
}

/// The customers of a district in the order of their orders.
fn customers_in_order(warehouse: u64, district: u64, customers: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (1..=customers).collect();
    all.shuffle(&mut random_of(Of::Order, &[warehouse, district]));
    all
}

/// Loads what belongs to a warehouse.
pub(super) fn warehouse(tpcc: &Tpcc, warehouse: u64, connection: &mut dyn Connection) -> Result<()> {
    head(tpcc, warehouse, connection)?;
    stock(tpcc, warehouse, connection)?;
    customers(tpcc, warehouse, connection)?;
    (1..=DISTRICTS).try_for_each(|district| orders(tpcc, warehouse, district, connection))
}

pub(super) fn items(tpcc: &Tpcc, connection: &mut dyn Connection) -> Result<()> {
    copy_rows(connection, "item", tpcc.scale.items, |row, line| {
        let mut random = random_of(Of::Item, &[row]);
        let (image, price) = (random.random_range(1..=10_000), random.random_range(100..=10_000));
        let (name, data) = (text(&mut random, 14, 24), data(&mut random));
        let _ = write!(line, "{}\t{image}\t{name}\t{price}\t{data}", row + 1);
    })
}

/// Loads the warehouse and its districts.
fn head(tpcc: &Tpcc, warehouse: u64, connection: &mut dyn Connection) -> Result<()> {
    let received = tpcc.scale.customers * FIRST_PAYMENT;
    copy_rows(connection, "warehouse", 1, |_, line| {
        let mut random = random_of(Of::Warehouse, &[warehouse]);
        let (name, address) = (text(&mut random, 6, 10), Address::new(&mut random).text);
        let tax = random.random_range(0..=2000);
        let _ = write!(line, "{warehouse}\t{name}\t{address}\t{tax}\t{}", received * DISTRICTS);
    })?;
    copy_rows(connection, "district", DISTRICTS, |row, line| {
        let district = row + 1;
        let mut random = random_of(Of::District, &[warehouse, district]);
        let (name, address) = (text(&mut random, 6, 10), Address::new(&mut random).text);
        let tax = random.random_range(0..=2000);
        let next = tpcc.scale.customers + 1;
        let _ = write!(line, "{warehouse}\t{district}\t{name}\t{address}\t{tax}\t{received}\t{next}");
    })
}

fn stock(tpcc: &Tpcc, warehouse: u64, connection: &mut dyn Connection) -> Result<()> {
    copy_rows(connection, "stock", tpcc.scale.items, |row, line| {
        let mut random = random_of(Of::Stock, &[warehouse, row]);
        let _ = write!(line, "{warehouse}\t{}\t{}", row + 1, random.random_range(10..=100));
        for _ in 0..DISTRICTS {
            line.push('\t');
            letters(&mut random, 24, line);
        }
        let _ = write!(line, "\t0\t0\t0\t{}", data(&mut random));
    })
}

/// Loads customers and the history of their first payment.
fn customers(tpcc: &Tpcc, warehouse: u64, connection: &mut dyn Connection) -> Result<()> {
    let customers = tpcc.scale.customers;
    let place = move |row: u64| (row / customers + 1, row % customers + 1);
    copy_rows(connection, "customer", DISTRICTS * customers, |row, line| {
        let (district, customer) = place(row);
        let (first, last, mut random) = names(warehouse, district, customer);
        let address = Address::new(&mut random).text;
        let phone: u64 = random.random_range(0..10_000_000_000_000_000);
        let credit = if random.random_range(0..10) == 0 { "BC" } else { "GC" };
        let discount = random.random_range(0..=5000);
        let data = text(&mut random, 300, 500);
        let _ = write!(
            line,
            "{warehouse}\t{district}\t{customer}\t{first}\tOE\t{last}\t{address}\t{phone:016}\t{LOADED_AT}\t{credit}\t5000000\t\
             {discount}\t-{FIRST_PAYMENT}\t{FIRST_PAYMENT}\t1\t0\t{data}"
        );
    })?;
    copy_rows(connection, "history", DISTRICTS * customers, |row, line| {
        let (district, customer) = place(row);
        let data = text(&mut random_of(Of::History, &[warehouse, row]), 12, 24);
        let _ = write!(
            line,
            "{warehouse}\t{district}\t{customer}\t1\t{district}\t{warehouse}\t{LOADED_AT}\t{FIRST_PAYMENT}\t{data}"
        );
    })
}

/// Loads the orders of a district with their lines. The last ones are not delivered.
fn orders(tpcc: &Tpcc, warehouse: u64, district: u64, connection: &mut dyn Connection) -> Result<()> {
    let count = tpcc.scale.customers;
    let delivered = count - tpcc.scale.undelivered;
    let by = customers_in_order(warehouse, district, count);
    copy_rows(connection, "orders", count, |row, line| {
        let number = row + 1;
        let (lines, mut random) = order(warehouse, district, number);
        let _ = write!(line, "{warehouse}\t{district}\t{number}\t{}\t{LOADED_AT}\t", by[row as usize]);
        let _ = match number <= delivered {
            true => write!(line, "{}", random.random_range(1..=10)),
            false => write!(line, "\\N"),
        };
        let _ = write!(line, "\t{lines}\t1");
    })?;
    copy_rows(connection, "new_order", tpcc.scale.undelivered, |row, line| {
        let _ = write!(line, "{warehouse}\t{district}\t{}", delivered + row + 1);
    })?;
    let lines_of = |number| order(warehouse, district, number).0;
    let all: Vec<(u64, u64)> =
        (1..=count).flat_map(|number| (1..=lines_of(number)).map(move |place| (number, place))).collect();
    copy_rows(connection, "order_line", all.len() as u64, |row, line| {
        let (number, place) = all[row as usize];
        let mut random = random_of(Of::Line, &[warehouse, district, number, place]);
        let item = random.random_range(1..=tpcc.scale.items);
        let (date, amount) = match number <= delivered {
            true => (LOADED_AT, 0),
            false => ("\\N", random.random_range(1..=999_999)),
        };
        let _ = write!(
            line,
            "{warehouse}\t{district}\t{number}\t{place}\t{item}\t{warehouse}\t{date}\t5\t{amount}\t"
        );
        letters(&mut random, 24, line);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    #[test]
    fn rows_come_out_the_same_each_time() {
        assert_eq!(names(1, 2, 3).0, names(1, 2, 3).0);
        assert_ne!(names(1, 2, 3).0, names(1, 2, 4).0);
        assert_eq!(order(1, 2, 3).0, order(1, 2, 3).0);
        let mut by = customers_in_order(1, 1, 50);
        by.sort_unstable();
        assert_eq!(by, (1..=50).collect::<Vec<u64>>());
    }
}
