//! Makes calls for a profiler: `cost NAME CALLS [WARM_UP [ARGUMENTS [LOGGED [replay]]]]`, with LOGGED as
//! `none`, `serial:data` or `taurus:command:8`. Prints nanoseconds for each call. `replay` also replays them.
//!
//! `cargo xtask cost` runs it twice under callgrind, with different numbers of calls: the difference is the
//! cost of the calls. Both runs make arguments for the same number of calls.

use std::time::Instant;

use anyhow::{Context, Result};
use hyades_bench::cost::{Calls, Logged};
use hyades_types::memory::Counted;

#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: usize| -> Result<usize> {
        arguments.get(at).map_or(Ok(or), |text| text.parse().context("a number of calls"))
    };
    let name = arguments.first().context("cost NAME CALLS [WARM_UP [ARGUMENTS]]")?;
    let (count, warm_up) = (number(1, 1000)?, number(2, 200)?);
    let logged = Logged::parse(arguments.get(4).map_or("none", String::as_str))?;
    let mut calls = Calls::new(name, logged, number(3, count + warm_up)?)?;
    calls.make(warm_up)?;
    let start = Instant::now();
    let refused = calls.make(count)?;
    let nanoseconds = start.elapsed().as_nanos() / count.max(1) as u128;
    println!("{name}: {nanoseconds} ns for each of {count} calls, {refused} refused");
    if arguments.get(5).is_some_and(|word| word == "replay") {
        println!("{} transactions replayed", calls.replay()?);
    }
    Ok(())
}
