//! Procedures: the IR (`ir`), the state of a run (`frame`), what a procedure may do to data (`access`), the interpreter.
pub mod access;
pub mod frame;
pub mod ir;
