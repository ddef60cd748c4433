//! The twelve consistency conditions (clause 3.3.2), and a check that the secondary indexes agree with their
//! tables.
//!
//! Condition 11 of the specification holds for the initial population only: every delivery moves one order
//! out of NEW-ORDER. Here the deliveries that customers have counted are taken into account, so that the
//! condition holds at any time.
//!
//! Sums are computed here and not by the database: the contents of its tables are checked with little trust
//! in its aggregates.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use super::load::{LAST_NAMES, last_name};
use super::scale::Tpcc;
use crate::workload::{Connection, Violation, require};

/// Warehouse and district.
type District = (i64, i64);
/// Warehouse, district and number of a customer or an order.
type Key = (i64, i64, i64);

#[derive(Default)]
struct Order {
    customer: i64,
    is_delivered: bool,
    lines: i64,
    found_lines: i64,
    delivered_lines: i64,
    delivered_amount: i64,
    is_new: bool,
}

#[derive(Default)]
struct Customer {
    balance: i64,
    year_to_date: i64,
    delivered_amount: i64,
    paid: i64,
    deliveries: i64,
}

/// All data that the conditions refer to.
#[derive(Default)]
struct State {
    warehouses: HashMap<i64, i64>,
    /// Year-to-date amount and number of the next order.
    districts: HashMap<District, (i64, i64)>,
    customers: HashMap<Key, Customer>,
    orders: HashMap<Key, Order>,
    new_orders: HashMap<District, Vec<i64>>,
    /// Order lines without an order.
    orphans: u64,
    history_of_warehouse: HashMap<i64, i64>,
    history_of_district: HashMap<District, i64>,
}

pub(super) fn all(tpcc: &Tpcc, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
    let state = State::read(connection)?;
    let mut violations = Vec::new();
    state.check_districts(tpcc, &mut violations);
    state.check_orders(&mut violations);
    state.check_customers(&mut violations);
    state.check_history(&mut violations);
    check_indexes(connection, &state, &mut violations)?;
    Ok(violations)
}

impl State {
    fn read(connection: &mut dyn Connection) -> Result<State> {
        let mut state = State::default();
        for row in connection.numbers("SELECT w_id, w_ytd FROM warehouse")? {
            state.warehouses.insert(row[0], row[1]);
        }
        for row in connection.numbers("SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district")? {
            state.districts.insert((row[0], row[1]), (row[2], row[3]));
        }
        let customers = "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt FROM customer";
        for row in connection.numbers(customers)? {
            let customer =
                Customer { balance: row[3], year_to_date: row[4], deliveries: row[5], ..Customer::default() };
            state.customers.insert((row[0], row[1], row[2]), customer);
        }
        state.read_orders(connection)?;
        let history = "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount FROM history";
        for row in connection.numbers(history)? {
            if let Some(customer) = state.customers.get_mut(&(row[0], row[1], row[2])) {
                customer.paid += row[5];
            }
            *state.history_of_warehouse.entry(row[3]).or_default() += row[5];
            *state.history_of_district.entry((row[3], row[4])).or_default() += row[5];
        }
        Ok(state)
    }

    fn read_orders(&mut self, connection: &mut dyn Connection) -> Result<()> {
        let orders = "SELECT o_w_id, o_d_id, o_id, o_c_id, coalesce(o_carrier_id, 0), o_ol_cnt FROM orders";
        for row in connection.numbers(orders)? {
            let order =
                Order { customer: row[3], is_delivered: row[4] != 0, lines: row[5], ..Order::default() };
            self.orders.insert((row[0], row[1], row[2]), order);
        }
        for row in connection.numbers("SELECT no_w_id, no_d_id, no_o_id FROM new_order")? {
            self.new_orders.entry((row[0], row[1])).or_default().push(row[2]);
            if let Some(order) = self.orders.get_mut(&(row[0], row[1], row[2])) {
                order.is_new = true;
            }
        }
        let lines = "SELECT ol_w_id, ol_d_id, ol_o_id, CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END, ol_amount FROM order_line";
        for row in connection.numbers(lines)? {
            let Some(order) = self.orders.get_mut(&(row[0], row[1], row[2])) else {
                self.orphans += 1;
                continue;
            };
            order.found_lines += 1;
            order.delivered_lines += row[3];
            order.delivered_amount += row[3] * row[4];
        }
        for ((warehouse, district, _), order) in &self.orders {
            if let Some(customer) = self.customers.get_mut(&(*warehouse, *district, order.customer)) {
                customer.delivered_amount += order.delivered_amount;
            }
        }
        Ok(())
    }

    /// Conditions 1, 2, 3, 4 and 11.
    fn check_districts(&self, tpcc: &Tpcc, violations: &mut Vec<Violation>) {
        for (warehouse, year_to_date) in &self.warehouses {
            let of = self.districts.iter().filter(|((of, _), _)| of == warehouse);
            let sum: i64 = of.map(|(_, (year_to_date, _))| year_to_date).sum();
            require(violations, "1: w_ytd = sum(d_ytd)", *year_to_date == sum, || {
                format!("warehouse {warehouse}: {year_to_date} and {sum}")
            });
        }
        let mut orders: HashMap<District, (i64, i64, i64, i64)> = HashMap::new();
        for ((warehouse, district, number), order) in &self.orders {
            let (count, largest, expected, found) = orders.entry((*warehouse, *district)).or_default();
            *count += 1;
            *largest = number.max(largest).to_owned();
            *expected += order.lines;
            *found += order.found_lines;
        }
        let mut deliveries: HashMap<District, i64> = HashMap::new();
        for ((warehouse, district, _), customer) in &self.customers {
            *deliveries.entry((*warehouse, *district)).or_default() += customer.deliveries;
        }
        for (district, (_, next)) in &self.districts {
            let (count, largest, expected, found) = orders.get(district).copied().unwrap_or_default();
            let new = self.new_orders.get(district).map_or(&[][..], Vec::as_slice);
            let (first, last) = (new.iter().min().copied(), new.iter().max().copied());
            let is_next = next - 1 == largest && last.is_none_or(|last| next - 1 == last);
            require(violations, "2: d_next_o_id - 1 = max(o_id) = max(no_o_id)", is_next, || {
                format!("district {district:?}: {next}, {largest}, {last:?}")
            });
            let width = last.unwrap_or(0) - first.unwrap_or(1) + 1;
            require(
                violations,
                "3: max(no_o_id) - min(no_o_id) + 1 = rows",
                width == new.len() as i64,
                || format!("district {district:?}: {first:?} to {last:?}, {} rows", new.len()),
            );
            require(violations, "4: sum(o_ol_cnt) = rows of order_line", expected == found, || {
                format!("district {district:?}: {expected} and {found}")
            });
            let delivered = (tpcc.scale.customers - tpcc.scale.undelivered) as i64
                + deliveries.get(district).copied().unwrap_or(0);
            require(
                violations,
                "11: orders - new orders = delivered",
                count - new.len() as i64 == delivered,
                || format!("district {district:?}: {count} - {} and {delivered}", new.len()),
            );
        }
    }

    /// Conditions 5, 6 and 7.
    fn check_orders(&self, violations: &mut Vec<Violation>) {
        for (key, order) in &self.orders {
            require(violations, "5: no carrier iff in new_order", order.is_delivered != order.is_new, || {
                format!("order {key:?}")
            });
            require(violations, "6: o_ol_cnt = its lines", order.lines == order.found_lines, || {
                format!("order {key:?}: {} and {}", order.lines, order.found_lines)
            });
            let expected = if order.is_delivered { order.found_lines } else { 0 };
            require(
                violations,
                "7: lines delivered iff a carrier",
                order.delivered_lines == expected,
                || format!("order {key:?}: {} of {}", order.delivered_lines, order.found_lines),
            );
        }
        require(violations, "6: no line without an order", self.orphans == 0, || {
            format!("{} lines", self.orphans)
        });
    }

    /// Conditions 8 and 9.
    fn check_history(&self, violations: &mut Vec<Violation>) {
        for (warehouse, year_to_date) in &self.warehouses {
            let paid = self.history_of_warehouse.get(warehouse).copied().unwrap_or(0);
            require(violations, "8: w_ytd = sum(h_amount)", *year_to_date == paid, || {
                format!("warehouse {warehouse}: {year_to_date} and {paid}")
            });
        }
        for (district, (year_to_date, _)) in &self.districts {
            let paid = self.history_of_district.get(district).copied().unwrap_or(0);
            require(violations, "9: d_ytd = sum(h_amount)", *year_to_date == paid, || {
                format!("district {district:?}: {year_to_date} and {paid}")
            });
        }
    }

    /// Conditions 10 and 12.
    fn check_customers(&self, violations: &mut Vec<Violation>) {
        for (key, customer) in &self.customers {
            let owed = customer.delivered_amount - customer.paid;
            require(violations, "10: c_balance = delivered - paid", customer.balance == owed, || {
                format!("customer {key:?}: {} and {owed}", customer.balance)
            });
            let bought = customer.balance + customer.year_to_date;
            let is_bought = bought == customer.delivered_amount;
            require(violations, "12: c_balance + c_ytd_payment = delivered", is_bought, || {
                format!("customer {key:?}: {bought} and {}", customer.delivered_amount)
            });
        }
    }
}

/// Checks that the secondary indexes find what the tables hold. All columns but the last are given, so that
/// the index is the planner's best choice.
fn check_indexes(
    connection: &mut dyn Connection,
    state: &State,
    violations: &mut Vec<Violation>,
) -> Result<()> {
    let mut orders = HashSet::new();
    for (warehouse, district, customer) in state.customers.keys() {
        orders.extend(keys(connection, &orders_of(*warehouse, *district, *customer))?);
    }
    let is_whole =
        orders.len() == state.orders.len() && orders.iter().all(|key| state.orders.contains_key(key));
    require(violations, "orders_by_customer finds all orders", is_whole, || {
        format!("{} through the index, {} in the table", orders.len(), state.orders.len())
    });
    // The first customers have the names in order, and the others random ones of these.
    let highest = state.customers.keys().map(|(_, _, customer)| customer.unsigned_abs()).max();
    let names = highest.unwrap_or(0).min(LAST_NAMES);
    let mut customers = HashSet::new();
    for (warehouse, district) in state.districts.keys() {
        for number in 0..names {
            customers.extend(keys(connection, &customers_named(*warehouse, *district, &last_name(number)))?);
        }
    }
    let is_whole = customers.len() == state.customers.len()
        && customers.iter().all(|key| state.customers.contains_key(key));
    require(violations, "customer_by_name finds all customers", is_whole, || {
        format!("{} through the index, {} in the table", customers.len(), state.customers.len())
    });
    Ok(())
}

/// Reads through `orders_by_customer`.
pub fn orders_of(warehouse: i64, district: i64, customer: i64) -> String {
    format!(
        "SELECT o_w_id, o_d_id, o_id FROM orders \
         WHERE o_w_id = {warehouse} AND o_d_id = {district} AND o_c_id = {customer}"
    )
}

/// Reads through `customer_by_name`.
pub fn customers_named(warehouse: i64, district: i64, name: &str) -> String {
    format!(
        "SELECT c_w_id, c_d_id, c_id FROM customer \
         WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_last = '{name}'"
    )
}

fn keys(connection: &mut dyn Connection, sql: &str) -> Result<Vec<Key>> {
    Ok(connection.numbers(sql)?.into_iter().map(|row| (row[0], row[1], row[2])).collect())
}
