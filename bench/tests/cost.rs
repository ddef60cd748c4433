//! Allocations of a call, counted: the same calls always allocate the same, so a ceiling can be enforced.
//!
//! The ceilings are the present values, and a change that allocates less lowers them. Of the sixteen of a
//! New-Order, twelve are the rows that it inserts, and two the entry of `orders_by_customer`. Of the nine of
//! a Payment, most are the array of customers with the same last name.

// An allocator cannot be written otherwise.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hyades_bench::cost::{Calls, Logged};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Counts what this thread allocates.
struct Counting;

fn count() {
    // In a thread that is ending there is nothing left to count.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: all calls are passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as this function's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as this function's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as this function's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls before counting begins, while buffers grow and plans are compiled.
const WARM_UP: usize = 500;
const COUNTED: usize = 1000;

/// Allocations of one call, on average.
fn allocations(name: &str) -> f64 {
    let mut calls = Calls::new(name, Logged::NOT, WARM_UP + COUNTED).expect("a loaded database");
    calls.make(WARM_UP).expect("calls that work");
    let before = COUNT.get();
    calls.make(COUNTED).expect("calls that work");
    (COUNT.get() - before) as f64 / COUNTED as f64
}

#[test]
fn calls_allocate_no_more_than_they_did() {
    let mut wrong = Vec::new();
    for (name, ceiling) in [("ycsb", 1.5), ("payment", 9.5), ("new_order", 16.5)] {
        let found = allocations(name);
        println!("{name}: {found:.2} allocations for each call, at most {ceiling}");
        if found > ceiling {
            wrong.push(format!("{name}: {found:.2} allocations for each call, at most {ceiling} allowed"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("; "));
}
