//! What instructions do, one function for each: `values` (registers), `rows`, `joins`, `results` (where rows
//! go), `calls`, `cursors`, `errors`.

mod calls;
mod cursors;
mod errors;
mod joins;
mod results;
mod rows;
mod values;
