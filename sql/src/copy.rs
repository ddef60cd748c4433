//! COPY: the statement, from data to rows, and from rows to data.
//!
//! Files:
//! * `statement` compiles COPY to a `copy_plan`;
//! * `intake` takes the data of COPY FROM and puts one row after another into the frame of the procedure that
//!   inserts it, with the help of `incoming` (data that has arrived and is not consumed yet), `lines` (data
//!   into rows of text), `fields` (a row of text into its fields) and `binary_rows`;
//! * `writer` turns the rows of COPY TO into data.

mod binary_rows;
pub(crate) mod copy_plan;
mod fields;
mod incoming;
pub(crate) mod intake;
mod lines;
mod statement;
pub(crate) mod writer;
