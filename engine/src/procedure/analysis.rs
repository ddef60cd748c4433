//! What the code of a procedure needs of itself, so that less than all of it can be run.
//!
//! Files:
//! * `places`: what an instruction uses and sets;
//! * `flow`: the ways through the code, which instruction decides about which, and where what is used was
//!   set;
//! * `inline`, `renumber`: the code of what it calls in place of the calls;
//! * `programs`: what is left of a procedure when a logged call of it is replayed;
//! * `dependences`: what each instruction of that needs of which others, value by value;
//! * `groups`: which of them stay together in one slice;
//! * `slices`: each as a program of its own, and what they pass to each other;
//! * `blocks`: groups of tables between which the slices of all programs flow in one direction;
//! * `assemble`: code out of some instructions of other code.
//!
//! Reference: Wu, Guo, Chan, Tan, "Fast Failure Recovery for Main-Memory DBMSs on Multicores" (PACMAN),
//! SIGMOD 2017, section 4.1.

mod assemble;
mod blocks;
mod dependences;
mod flow;
mod groups;
mod inline;
mod places;
mod programs;
mod renumber;
mod slices;
#[cfg(all(test, not(loom)))]
mod tests;

pub use blocks::{Block, Blocks, Cause, Join};
pub use groups::{GroupOf, Merge, Reason};
pub use slices::{Slice, Slices, TapeUse};
