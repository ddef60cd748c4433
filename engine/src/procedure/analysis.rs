//! What the code of a procedure needs of itself, so that less than all of it can be run.
//!
//! Files:
//! * `places`: what an instruction uses and sets;
//! * `flow`: the ways through the code, which instruction decides about which, and where what is used was
//!   set;
//! * `programs`: what is left of a procedure when a logged call of it is replayed.
//!
//! Reference: Wu, Guo, Chan, Tan, "Fast Failure Recovery for Main-Memory DBMSs on Multicores" (PACMAN),
//! SIGMOD 2017, section 4.1.

mod flow;
mod places;
mod programs;
#[cfg(all(test, not(loom)))]
mod tests;
