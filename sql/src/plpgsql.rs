//! PL/pgSQL: from the text of a routine to a procedure.
//!
//! `parse` makes a tree (`tree`) of the body and leaves the SQL in it as text. `routine_body` compiles the
//! tree. Each piece of SQL goes through the same binder and compiler as a client's statement, with the
//! routine's variables (`bind::visible_variables`) as additional names. Its code becomes part of the
//! routine's own code. So a routine is one procedure, and its variables are registers.
//!
//! Files:
//! * text to tree: `parse`, with `parse_cursor`, `parse_dynamic` and `parse_raise` for statements with much
//!   grammar of their own; `tree`: the result;
//! * tree to procedure: `routine_body` (the whole routine, blocks, variables), `assignment`, `control` (IF,
//!   CASE, loops), `elements` (arrays of a type with a length), `restrictions` (NOT NULL, domains), `query`
//!   (SQL in a body), `dynamic` (EXECUTE, COMMIT and ROLLBACK), `raise` (also ASSERT), `exception` (blocks
//!   with handlers, GET DIAGNOSTICS);
//! * cursors: `cursor` (within the routine), `shared_cursor` (kept by the session);
//! * `sql_body`: functions in the language SQL; `trigger_function`: what triggers run, and `fired_trigger`
//!   (the trigger); `aggregate_fold`: what computes an aggregate of a user;
//! * `replayable`: whether a call may be logged as a command.

mod aggregate_fold;
mod assignment;
mod control;
mod cursor;
pub(crate) mod dynamic;
mod elements;
mod exception;
mod fired_trigger;
mod parse;
mod parse_cursor;
mod parse_dynamic;
mod parse_raise;
mod query;
mod raise;
mod replayable;
mod restrictions;
pub(crate) mod routine_body;
mod shared_cursor;
mod sql_body;
pub(crate) mod tree;
mod trigger_function;

/// A RAISE format split at its placeholders; `%%` is a percent sign.
pub(crate) fn raise_parts(format: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '%' if characters.peek() == Some(&'%') => {
                characters.next();
                if let Some(part) = parts.last_mut() {
                    part.push('%');
                }
            }
            '%' => parts.push(String::new()),
            other => {
                if let Some(part) = parts.last_mut() {
                    part.push(other);
                }
            }
        }
    }
    parts
}
