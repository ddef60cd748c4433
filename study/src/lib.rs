//! Studies: figures of the papers beside what this machine measures, and figures of our own.
//!
//! ```text
//!   list: studies --groups--> run --measured in turns--> results.jsonl --> a page for each study, an index
//!                                 (what is there is not measured again)
//! ```
//!
//! A *group* is what one run measures in turns: several variants under one setting. Studies that show
//! different figures of one group share it. A study says which figures it shows, which ratios the paper
//! reports, and what kind of evidence ours are: a ratio of two workers on scaled devices is not what eighty
//! workers measured, and is not called so.
//!
//! Files, in reading order:
//! * [`study`]: what a study, a group, a figure and a claim are; `list`: all studies, with those of the two
//!   papers on Taurus in `taurus` and `graph`, and our own in `ours`;
//! * [`crossing`]: what processors cost each other;
//! * [`results`]: what has been measured, in a file; [`run`]: measures what is missing;
//! * [`events`]: a model of logging, for more workers than there are processors;
//! * `page`: a page with plots and tables; `figures`: the table in a document.

pub mod crossing;
pub mod events;
mod figures;
mod graph;
pub mod list;
mod ours;
mod page;
pub mod results;
pub mod run;
pub mod study;
mod taurus;
