//! What terminals enter (clauses 2.4.1 to 2.8.1), and the deck from which the kind of a transaction is drawn
//! (clause 5.2.4.2).
//!
//! A worker stands for all terminals of its home warehouses: those whose number, divided by the number of
//! workers, leaves the worker's own as remainder. With more workers than warehouses, several share one.

use compact_str::CompactString;
use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::calls::{CALLS, DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use super::load::{LAST_NAMES, last_name};
use super::scale::{DISTRICTS, Scale, Tpcc};
use crate::generator::{non_uniform, random_for};
use crate::workload::{Argument, Calls, Request};

/// The constants C of clause 2.1.6.1. That of last names differs from the load's by 66.
const C_LAST: u64 = 223;
const C_CUSTOMER: u64 = 259;
const C_ITEM: u64 = 4321;

pub(super) struct Terminals {
    random: SmallRng,
    homes: Vec<u64>,
    warehouses: u64,
    scale: Scale,
    deck: Vec<usize>,
    next: usize,
}

impl Terminals {
    pub(super) fn new(tpcc: &Tpcc, worker: u64, workers: u64, seed: u64) -> Terminals {
        let own: Vec<u64> =
            (1..=tpcc.warehouses).filter(|warehouse| warehouse % workers == worker % workers).collect();
        let homes = if own.is_empty() { vec![worker % tpcc.warehouses + 1] } else { own };
        let shares = tpcc.mix.shares().into_iter().enumerate();
        let deck = shares.flat_map(|(call, share)| std::iter::repeat_n(call, share as usize)).collect();
        Terminals {
            random: random_for(&[seed, worker]),
            homes,
            warehouses: tpcc.warehouses,
            scale: tpcc.scale,
            deck,
            next: 0,
        }
    }

    fn number(&mut self, low: u64, high: u64) -> u64 {
        self.random.random_range(low..=high)
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.random.random_range(0..count) == 0
    }

    fn home(&mut self) -> u64 {
        let place = self.random.random_range(0..self.homes.len());
        self.homes[place]
    }

    /// Another warehouse than this one, if there is one.
    fn elsewhere(&mut self, home: u64) -> u64 {
        if self.warehouses == 1 {
            return home;
        }
        let other = self.number(1, self.warehouses - 1);
        if other >= home { other + 1 } else { other }
    }

    fn customer(&mut self) -> u64 {
        non_uniform(&mut self.random, 1023, C_CUSTOMER, 1, self.scale.customers)
    }

    fn item(&mut self) -> u64 {
        non_uniform(&mut self.random, 8191, C_ITEM, 1, self.scale.items)
    }

    /// Last name or number: in 60 of 100 cases the name.
    fn customer_or_name(&mut self) -> (Argument, Argument) {
        if self.number(1, 100) <= 60 {
            let last = self.scale.customers.min(LAST_NAMES) - 1;
            let number = non_uniform(&mut self.random, 255, C_LAST, 0, last);
            (Argument::Text(CompactString::from(last_name(number))), Argument::Null)
        } else {
            (Argument::Null, integer(self.customer()))
        }
    }

    fn new_order(&mut self, arguments: &mut Vec<Argument>) {
        let (home, district) = (self.home(), self.number(1, DISTRICTS));
        let lines = self.number(5, 15) as usize;
        let mut items: Vec<i32> = (0..lines).map(|_| self.item() as i32).collect();
        if self.one_in(100)
            && let Some(last) = items.last_mut()
        {
            // No item has this number.
            *last = self.scale.items as i32 + 1;
        }
        let suppliers = (0..lines).map(|_| {
            let supplier = if self.one_in(100) { self.elsewhere(home) } else { home };
            supplier as i16
        });
        let suppliers = suppliers.collect();
        let quantities = (0..lines).map(|_| self.number(1, 10) as i16).collect();
        let customer = self.customer();
        arguments.extend([integer(home), integer(district), integer(customer)]);
        arguments.push(Argument::Integers(items));
        arguments.push(Argument::SmallInts(suppliers));
        arguments.push(Argument::SmallInts(quantities));
    }

    fn payment(&mut self, arguments: &mut Vec<Argument>) {
        let (home, district) = (self.home(), self.number(1, DISTRICTS));
        let is_remote = self.number(1, 100) <= 15;
        let (customer_home, customer_district) =
            if is_remote { (self.elsewhere(home), self.number(1, DISTRICTS)) } else { (home, district) };
        let (name, customer) = self.customer_or_name();
        let amount = Argument::BigInt(self.number(100, 500_000) as i64);
        arguments.extend([home, district, customer_home, customer_district].map(integer));
        arguments.extend([name, amount, customer]);
    }
}

fn integer(number: u64) -> Argument {
    Argument::Integer(number as i32)
}

impl Calls for Terminals {
    fn next(&mut self, request: &mut Request) {
        if self.next == 0 {
            self.deck.shuffle(&mut self.random);
        }
        request.call = self.deck[self.next];
        self.next = (self.next + 1) % self.deck.len();
        request.is_read_only = matches!(request.call, ORDER_STATUS | STOCK_LEVEL);
        let mut arguments = std::mem::take(&mut request.arguments);
        arguments.clear();
        match request.call {
            NEW_ORDER => self.new_order(&mut arguments),
            PAYMENT => self.payment(&mut arguments),
            ORDER_STATUS => {
                let (home, district) = (self.home(), self.number(1, DISTRICTS));
                let (name, customer) = self.customer_or_name();
                arguments.extend([integer(home), integer(district), name, customer]);
            }
            DELIVERY => {
                let home = self.home();
                arguments.extend([integer(home), integer(self.number(1, 10))]);
            }
            _ => {
                let (home, district) = (self.home(), self.number(1, DISTRICTS));
                arguments.extend([integer(home), integer(district), integer(self.number(10, 20))]);
            }
        }
        debug_assert_eq!(arguments.len(), CALLS[request.call].parameters.len());
        request.arguments = arguments;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mix;
    use super::*;

    #[test]
    fn the_deck_keeps_the_mix_and_one_order_in_a_hundred_is_rolled_back() {
        let tpcc = Tpcc { warehouses: 4, scale: Scale::SPEC, mix: Mix::Full };
        let mut terminals = Terminals::new(&tpcc, 1, 2, 7);
        assert_eq!(terminals.homes, [1, 3]);
        let (mut counts, mut unused, mut request) = ([0_u32; 5], 0, Request::default());
        for _ in 0..100_000 {
            terminals.next(&mut request);
            counts[request.call] += 1;
            if request.call == NEW_ORDER
                && let Argument::Integers(items) = &request.arguments[3]
            {
                unused += u32::from(items.contains(&100_001));
                assert!((5..=15).contains(&items.len()));
            }
        }
        assert_eq!(counts, [45_000, 43_000, 4_000, 4_000, 4_000]);
        assert!((350..550).contains(&unused), "{unused}");
    }

    #[test]
    fn workers_share_few_warehouses() {
        let tpcc = Tpcc { warehouses: 1, scale: Scale::SMALL, mix: Mix::Half };
        let mut terminals = Terminals::new(&tpcc, 3, 4, 7);
        assert_eq!(terminals.homes, [1]);
        assert_eq!(terminals.elsewhere(1), 1);
    }
}
