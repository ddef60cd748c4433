//! What an instruction uses and sets, apart from tables: registers and slots, and what belongs to the run as
//! a whole.
//!
//! The match has no wildcard arm: the places of a new instruction must be given here before it compiles.

use smallvec::SmallVec;

use crate::procedure::effects::Registers;
use crate::procedure::ir::{
    Callee, CalleeIndex, CursorSlot, Expr, Instruction, JoinSlot, JoinStep, Procedure, Register,
    Replayability, RowSlot, SpoolSlot, StageIndex,
};

/// Something that one instruction sets and another uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Register(Register),
    Row(RowSlot),
    Cursor(CursorSlot),
    Spool(SpoolSlot),
    Stage(StageIndex),
    Join(JoinSlot),
    /// How many rows the statement has affected.
    Count,
    /// The generator of random numbers: who draws the next number changes all later ones.
    Chance,
    /// The errors being handled.
    Errors,
}

/// The places of one instruction.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) uses: SmallVec<[Place; 8]>,
    pub(super) uses_all_registers: bool,
    /// Set on every way out: what was there before does not matter.
    pub(super) sets: SmallVec<[Place; 4]>,
    /// Set on some ways out, or in part.
    pub(super) changes: SmallVec<[Place; 4]>,
}

impl Places {
    fn using(&mut self, place: Place) {
        self.uses.push(place);
    }

    fn setting(&mut self, place: Place) {
        self.sets.push(place);
    }

    fn changing(&mut self, place: Place) {
        self.uses.push(place);
        self.changes.push(place);
    }

    /// As far as the effects and the expressions of the instruction say.
    fn of_effects(instruction: &Instruction) -> Places {
        let (mut places, effects) = (Places::default(), instruction.effects());
        match effects.reads {
            Registers::All => places.uses_all_registers = true,
            Registers::These(registers) => places.uses.extend(registers.into_iter().map(Place::Register)),
        }
        instruction.for_each_expr(&mut |expr| places.use_all_in(expr));
        if instruction.looks_at().chance {
            places.changing(Place::Chance);
        }
        let set = effects.sets.iter().copied().map(Place::Register);
        if effects.sets_always {
            places.sets.extend(set)
        } else {
            places.changes.extend(set)
        }
        places.uses.extend(effects.row_read.map(Place::Row));
        places.changes.extend(effects.row_changed.map(Place::Row));
        if let Some(row) = effects.row_filled.map(Place::Row) {
            // Where it jumps, it may not have filled it.
            let mut jumps = false;
            instruction.for_each_label(&mut |_| jumps = true);
            if jumps { places.changes.push(row) } else { places.sets.push(row) }
        }
        places
    }

    fn use_all_in(&mut self, expr: &Expr) {
        match expr {
            Expr::Register(register) => self.using(Place::Register(*register)),
            Expr::Column { row, .. } => self.using(Place::Row(*row)),
            _ => {}
        }
        expr.for_each_part(&mut |part| self.use_all_in(part));
    }

    fn of_join(&mut self, join: JoinSlot, step: &JoinStep) {
        let place = Place::Join(join);
        match step {
            JoinStep::Open => self.setting(place),
            JoinStep::Keep { .. } | JoinStep::KeepNew { .. } | JoinStep::Note { .. } | JoinStep::Forget => {
                self.changing(place);
            }
            JoinStep::Probe { .. } | JoinStep::ProbeOnly { .. } | JoinStep::NextUnjoined { .. } => {
                self.using(place);
            }
        }
    }

    /// Of the registers it uses only those that its beginning looks at.
    fn of_stage(&mut self, procedure: &Procedure, stage: StageIndex) {
        let registers = procedure.stages.get(usize::from(stage)).map(|stage| stage.registers());
        self.uses = registers.unwrap_or_default().into_iter().map(Place::Register).collect();
        self.uses_all_registers = false;
        self.setting(Place::Stage(stage));
    }

    fn of_call<'s>(
        &mut self,
        procedure: &Procedure,
        callee: CalleeIndex,
        spools: impl Iterator<Item = &'s SpoolSlot>,
    ) {
        spools.for_each(|spool| self.changing(Place::Spool(*spool)));
        if draws(procedure, usize::from(callee)) {
            self.changing(Place::Chance);
        }
    }

    /// The places of an instruction of this procedure.
    pub(super) fn of(procedure: &Procedure, instruction: &Instruction) -> Places {
        let mut places = Places::of_effects(instruction);
        match instruction {
            Instruction::OpenScan { cursor, .. } => places.setting(Place::Cursor(*cursor)),
            Instruction::NextRow { cursor, .. } => places.changing(Place::Cursor(*cursor)),
            Instruction::LockRow { cursor: Some(cursor), .. } => places.changing(Place::Cursor(*cursor)),
            Instruction::OpenSpool { spool } => places.setting(Place::Spool(*spool)),
            Instruction::Spool { spool, .. }
            | Instruction::NextSpooled { spool, .. }
            | Instruction::EmitSpooled { spool, .. }
            | Instruction::NoteWritten { spool, .. }
            | Instruction::ReadCatalog { spool, .. } => places.changing(Place::Spool(*spool)),
            Instruction::ReadSpool { spool, .. }
            | Instruction::RefuseWritten { spool, .. }
            | Instruction::SkipWritten { spool, .. } => places.using(Place::Spool(*spool)),
            Instruction::Join { join, step } => places.of_join(*join, step),
            Instruction::OpenStage { stage } => places.of_stage(procedure, *stage),
            Instruction::FeedStage { stage, .. } => places.changing(Place::Stage(*stage)),
            Instruction::FinishStage { stage, spool } => {
                places.changing(Place::Stage(*stage));
                places.changing(Place::Spool(*spool));
            }
            Instruction::Call { callee, rows, lent, .. } => {
                places.of_call(procedure, *callee, rows.iter().chain(lent));
            }
            other => places.of_run(other),
        }
        places
    }

    /// What belongs to the run as a whole.
    fn of_run(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::ResetCount => self.setting(Place::Count),
            Instruction::CountRow => self.changing(Place::Count),
            Instruction::TakeCount { .. } => self.using(Place::Count),
            Instruction::MatchError { .. } | Instruction::ErrorField { .. } | Instruction::Rethrow => {
                self.using(Place::Errors);
            }
            Instruction::ForgetError => self.changing(Place::Errors),
            // Procedures with these are not replayed, and nothing is asked about them.
            Instruction::Dynamic(_) | Instruction::Cursor(_) | Instruction::EndTransaction { .. } => {}
            // Of these the function above knows.
            Instruction::OpenScan { .. }
            | Instruction::NextRow { .. }
            | Instruction::OpenSpool { .. }
            | Instruction::Spool { .. }
            | Instruction::NextSpooled { .. }
            | Instruction::EmitSpooled { .. }
            | Instruction::NoteWritten { .. }
            | Instruction::ReadCatalog { .. }
            | Instruction::ReadSpool { .. }
            | Instruction::RefuseWritten { .. }
            | Instruction::SkipWritten { .. }
            | Instruction::Join { .. }
            | Instruction::OpenStage { .. }
            | Instruction::FeedStage { .. }
            | Instruction::FinishStage { .. }
            | Instruction::Call { .. } => {}
            // What the effects say is all.
            Instruction::Evaluate { .. }
            | Instruction::Jump { .. }
            | Instruction::JumpUnless { .. }
            | Instruction::ReadPoint { .. }
            | Instruction::RowKey { .. }
            | Instruction::ReadKey { .. }
            | Instruction::LookAhead { .. }
            | Instruction::LockRow { .. }
            | Instruction::LockAgain { .. }
            | Instruction::BeginStatement
            | Instruction::MakeRow { .. }
            | Instruction::Insert { .. }
            | Instruction::InsertBlind { .. }
            | Instruction::InsertOr { .. }
            | Instruction::Update { .. }
            | Instruction::Delete { .. }
            | Instruction::Emit { .. }
            | Instruction::Raise { .. }
            | Instruction::Defer { .. }
            | Instruction::SkipUnlessTwin { .. }
            | Instruction::RefuseTwin { .. }
            | Instruction::RaiseViolation(_)
            | Instruction::RefuseRow { .. }
            | Instruction::Report(_)
            | Instruction::AbsentRow { .. }
            | Instruction::EnterBlock { .. }
            | Instruction::LeaveBlock
            | Instruction::ForNext { .. }
            | Instruction::ForStep { .. }
            | Instruction::SetElement { .. }
            | Instruction::Trap { .. }
            | Instruction::Put { .. }
            | Instruction::Take { .. }
            | Instruction::Return => {}
        }
    }
}

/// Whether what is called may draw random numbers.
fn draws(procedure: &Procedure, callee: usize) -> bool {
    match procedure.callees.get(callee) {
        Some(Callee::Procedure(called)) => {
            !matches!(called.procedure.replay, Replayability::Deterministic { uses_random: false, .. })
        }
        Some(Callee::Member { .. }) | None => true,
    }
}
