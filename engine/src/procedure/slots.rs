//! The numbers of a procedure's slots and other parts.

/// A register number.
pub type Register = u16;
/// A row slot number.
pub type RowSlot = u16;
/// A cursor number.
pub type CursorSlot = u16;
/// An index into [`Procedure::tables`](super::ir::Procedure::tables).
pub type TableIndex = u16;
/// An index into [`Procedure::code`](super::ir::Procedure::code).
pub type Label = u32;
/// A spool number.
pub type SpoolSlot = u16;
/// A join table number.
pub type JoinSlot = u16;
/// An index into [`Procedure::stages`](super::ir::Procedure::stages).
pub type StageIndex = u16;
/// A tape number.
pub type TapeSlot = u16;
/// An index into [`Procedure::callees`](super::ir::Procedure::callees).
pub type CalleeIndex = u16;
