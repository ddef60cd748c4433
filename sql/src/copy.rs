//! COPY: the statement, from data to rows, and from rows to data.
//!
//! Files:
//! * `statement` compiles COPY to a `copy_plan`;
//! * `row_source` reads the rows of COPY FROM, with the help of `incoming` (data that has arrived and is not
//!   consumed yet), `row_ends` (where rows end), `lines` (data into rows of text), `fields` (a row of text
//!   into its fields) and `binary_rows`;
//! * `pieces` divides long data into pieces for helpers, and `piece` is what becomes of one;
//! * `intake` puts one row after another into the frame of the procedure that inserts it;
//! * `writer` turns the rows of COPY TO into data.

mod binary_rows;
pub(crate) mod copy_plan;
mod fields;
mod incoming;
pub(crate) mod intake;
mod lines;
mod piece;
pub(crate) mod pieces;
mod row_ends;
mod row_source;
mod statement;
pub(crate) mod writer;
