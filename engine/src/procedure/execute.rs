//! What instructions do, one function for each: `values` (registers), `rows`, `results` (where rows go),
//! `calls`, `errors`.

mod calls;
mod errors;
mod results;
mod rows;
mod values;
