//! What `cargo xtask` and the harness share: places, and running programs.

pub mod tools;
