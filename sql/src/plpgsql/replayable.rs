//! Whether a call may be logged as a command: the same arguments, captured values and state must give the
//! same run.
//!
//! A serializable run is a function of its arguments, of what it captured, and of the rows it
//! read. What remains is the order in which an unordered scan returns rows, which matters for a table
//! without a primary key, or with one in a hash index. A procedure that reads such a table otherwise than
//! by key is logged as data, whatever it does with the rows.

use std::borrow::Cow;

use hyades_engine::procedure::effects::TableUse;
use hyades_engine::procedure::ir::{Condition, Instruction, Procedure, Replayability};
use hyades_types::definition::IndexKind;
use hyades_types::function::LooksAt;

/// Whether a handler catches an error that comes from outside, at a moment that no log records.
fn catches_cancel(condition: &Condition) -> bool {
    matches!(condition, Condition::State(state) if state.0.starts_with("57"))
}

/// Why an instruction keeps the procedure from being logged as a command.
fn objection(procedure: &Procedure, instruction: &Instruction) -> Option<&'static str> {
    if instruction.looks_at().clock {
        return Some("it asks for the time of day while it runs");
    }
    if instruction.looks_at().entropy {
        return Some("it draws random numbers from the operating system");
    }
    match instruction {
        Instruction::Dynamic(_) => return Some("it runs statements that are known only then (EXECUTE)"),
        Instruction::Cursor(_) => return Some("it uses cursors that the session keeps"),
        Instruction::EndTransaction { .. } => return Some("it ends transactions itself"),
        _ => {}
    }
    if instruction.looks_at().sessions {
        return Some("it acts on other sessions");
    }
    if instruction.looks_at().sequences {
        return Some("it draws numbers from sequences");
    }
    if matches!(instruction, Instruction::Defer { .. }) {
        return Some("it changes rows with constraints that can be deferred");
    }
    if instruction.looks_at().catalog {
        return Some("it looks at the system catalog");
    }
    if let Some((table, _)) = instruction.effects().table
        && procedure.tables[usize::from(table)].table.id().is_temporary()
    {
        return Some("it uses a temporary table");
    }
    if let Some((table, TableUse::Scan(_))) = instruction.effects().table {
        match &procedure.tables[usize::from(table)].definition.primary_key {
            None => return Some("it scans a table without a primary key, whose rows are in no order"),
            Some(key) if key.index == IndexKind::Hash => {
                return Some("it scans a table with a hash index, whose rows are in no order");
            }
            Some(_) => {}
        }
    }
    if let Instruction::ReadPoint { intent, .. } | Instruction::OpenScan { intent, .. } = instruction
        && intent.impatience.is_some()
    {
        return Some("what it reads depends on which rows are locked");
    }
    if let Instruction::MatchError { conditions, .. } = instruction
        && conditions.iter().any(catches_cancel)
    {
        return Some("it catches that it is cancelled, and goes on");
    }
    None
}

/// Judges a procedure whose code is complete.
pub(super) fn judge(procedure: &Procedure) -> Replayability {
    if let Some(why) = procedure.code.iter().find_map(|instruction| objection(procedure, instruction)) {
        return Replayability::Unknown(Cow::Borrowed(why));
    }
    let seen =
        procedure.code.iter().fold(LooksAt::NOTHING, |seen, instruction| seen.and(instruction.looks_at()));
    let own = Replayability::Deterministic {
        uses_clock: seen.times,
        uses_random: seen.chance,
        uses_identity: seen.identity,
    };
    procedure.called().fold(own, |replay, called| replay.and(&called.procedure.replay))
}
