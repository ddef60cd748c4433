//! What instructions do, one function for each.
//!
//! Files:
//! * `values`: registers; `rows`: rows of tables; `joins`: rows of join tables;
//! * `results`: where rows go; `cursors`: spools that become cursors of the session, and back;
//! * `calls`: calls and returns; `errors`: errors, and the blocks that handle them.

mod calls;
mod cursors;
mod errors;
mod joins;
mod results;
mod rows;
mod values;
