//! Replays a logged call: its routine's procedure runs again, through the same interpreter, on the rows as
//! they were at its time. What it does besides writing is left out (`procedure::analysis`).
//!
//! The routine is the one that the record names by id. Schema changes are barriers and are ordered with every
//! logged call. So when it is the record's turn, the catalog is as it was when the call ran, and the
//! routine's source compiles to the same procedure. What the call saw of its surroundings comes from the
//! record (pitfall 26).
//!
//! A replay that fails, must wait, or writes anything other than the call did has *diverged*: the state would
//! be wrong from here on, so recovery stops and names routine, log and position.
//!
//! A worker keeps the routines it has met, with their procedures and frames. They are valid for one version
//! of the catalog: no schema change is replayed at the same time as a call. So a typical call looks nothing
//! up, and allocates only what its own expressions need.

use std::sync::Arc;

use hyades_types::definition::RoutineId;
use hyades_types::environment::Environment;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::foundations::{Foundations, difference};
use hyades_types::random::Random;
use hyades_types::value::Value;
use jiff::tz::TimeZone;

use super::schedule::RecordPlace;
use crate::config::Slicing;
use crate::log::record::command::{Captured, HashForm};
use crate::log::record::{Command, value_meant};
use crate::mutant::{self, Mutant};
use crate::procedure::analysis::Slices;
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::procedure::frame::{Frame, RowSink};
use crate::procedure::interpret;
use crate::procedure::ir::Procedure;
use crate::procedure::tape::Tape;
use crate::storage::catalog::{Catalog, CatalogView};
use crate::storage::databases::Databases;
use crate::storage::stored_routine::Routine;
use crate::txn::replay_access::ReplayAccess;
use crate::txn::replay_versions::VersionWriter;
use crate::txn::{Access, Interrupt};

/// What one worker keeps between calls.
#[derive(Default)]
pub(super) struct CommandReplay {
    row_numbers: Vec<u64>,
    environment: Environment,
    /// Roughly most recent first.
    known: Vec<Known>,
}

/// A routine that was called before.
struct Known {
    id: RoutineId,
    routine: Arc<Routine>,
    /// What is left of its procedure for a replay.
    program: Arc<Procedure>,
    /// The same cut into slices, each with its frame.
    slices: Vec<(Arc<Procedure>, Frame)>,
    /// The catalog of its database, and the version of that for which all this was found.
    catalog: Arc<Catalog>,
    catalog_version: u64,
    frame: Frame,
}

/// Beyond this many, unused ones are dropped.
const KNOWN_ROUTINES: usize = 32;

/// What calls are replayed with.
#[derive(Clone, Copy)]
pub(super) struct Program<'p> {
    pub(super) compiler: Option<&'p dyn RoutineCompiler>,
    /// What they ran with.
    pub(super) written_with: &'p Foundations,
    /// Calls are replayed slice by slice.
    pub(super) slicing: Option<Slicing>,
}

/// The place of a record, for messages.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) log: usize,
    pub(super) end: u64,
}

/// A replayed call has no client that receives its rows.
struct Nobody;

impl RowSink for Nobody {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
}

impl CommandReplay {
    pub(super) fn replay(
        &mut self,
        databases: &Databases,
        program: Program<'_>,
        command: &Command<'_>,
        (place, writer): (Place, &mut VersionWriter),
    ) -> Result<()> {
        let mut known = self.take_known(databases, program, command, place)?;
        let replayed = self.run(&mut known, command, place, writer);
        self.known.push(known);
        let last = self.known.len() - 1;
        self.known.swap(0, last);
        replayed
    }

    /// Takes the called routine out of the list.
    fn take_known(
        &mut self,
        databases: &Databases,
        program: Program<'_>,
        command: &Command<'_>,
        place: Place,
    ) -> Result<Known> {
        let found = self.known.iter().position(|known| known.id == command.routine);
        let found = found.map(|found| self.known.swap_remove(found));
        if let Some(known) = found
            && known.catalog_version == known.catalog.version()
            && known.routine.version_hash() == command.version_hash
        {
            return Ok(known);
        }
        self.known.truncate(KNOWN_ROUTINES - 1);
        let (catalog, routine) = find(databases, command, program.written_with, place)?;
        let catalog_version = catalog.version();
        let procedure = compile(&routine, &catalog, program.compiler, place)?;
        let left = Procedure::replay_program(&procedure);
        let frame = Frame::new(Arc::clone(&left));
        let slices = program.slicing.map(|slicing| Slices::of_call(&left, slicing).slices);
        let slices = slices.unwrap_or_default().into_iter().map(|slice| {
            let frame = Frame::new(Arc::clone(&slice.program));
            (slice.program, frame)
        });
        let slices = slices.collect();
        Ok(Known { id: routine.id, routine, program: left, slices, catalog, catalog_version, frame })
    }

    fn run(
        &mut self,
        known: &mut Known,
        command: &Command<'_>,
        place: Place,
        writer: &mut VersionWriter,
    ) -> Result<()> {
        let Known { routine, program, slices, frame, .. } = known;
        let malformed = |malformed: crate::log::record::Malformed| place.corrupt(malformed.reason);
        command.row_numbers_into(&mut self.row_numbers).map_err(malformed)?;
        let mut row_numbers = std::mem::take(&mut self.row_numbers);
        let mut access = ReplayAccess::new(writer, &row_numbers, command.hash_form);
        // The writes of slices add up in no other form.
        if slices.is_empty() || command.hash_form != HashForm::ByTable {
            self.run_program(routine, (program, frame), command, (place, &mut access), &mut Vec::new())?;
        } else {
            let mut tapes = Vec::new();
            tapes.resize_with(slices.first().map_or(0, |(slice, _)| usize::from(slice.tapes)), Tape::default);
            for (slice, frame) in slices {
                self.run_program(routine, (slice, frame), command, (place, &mut access), &mut tapes)?;
            }
        }
        if access.write_set()? != command.write_set_hash || !access.has_used_row_numbers() {
            return Err(place.diverged(routine, "it writes something else than it did when it ran"));
        }
        row_numbers.clear();
        self.row_numbers = row_numbers;
        Ok(())
    }

    /// Runs the program of a call, or one of its slices.
    fn run_program(
        &mut self,
        routine: &Routine,
        (program, frame): (&Arc<Procedure>, &mut Frame),
        command: &Command<'_>,
        (place, access): (Place, &mut ReplayAccess<'_>),
        tapes: &mut Vec<Tape>,
    ) -> Result<()> {
        let malformed = |malformed: crate::log::record::Malformed| place.corrupt(malformed.reason);
        self.restore(&command.captured, place)?;
        frame.switch(program);
        if command.argument_count() > frame.registers.len() {
            return Err(place.diverged(routine, "it has more arguments than the routine takes"));
        }
        command.arguments_to(&mut frame.registers).map_err(malformed)?;
        for (register, parameter) in frame.registers.iter_mut().zip(&program.parameters) {
            if parameter.has_definition() {
                *register = value_meant(register, *parameter)
                    .ok_or_else(|| place.diverged(routine, "an argument is no label of its enum"))?;
            }
        }
        let undo: interpret::Undo<'_, ReplayAccess<'_>> =
            &mut |access, savepoint, _| access.rollback_to(savepoint);
        std::mem::swap(&mut frame.tapes, tapes);
        let outcome = interpret::run(access, frame, &mut self.environment, &mut Nobody, undo);
        std::mem::swap(&mut frame.tapes, tapes);
        if tapes.iter_mut().fold(false, |partly, tape| tape.rewind() | partly) && outcome.is_ok() {
            return Err(place.diverged(routine, "a slice takes less than another has put"));
        }
        match outcome {
            Ok(()) => Ok(()),
            Err(Interrupt::Wait(_)) => Err(place.diverged(routine, "it waits")),
            Err(Interrupt::Failed(error)) => {
                Err(place.diverged(routine, &format!("it fails with \"{error}\"")))
            }
        }
    }

    fn restore(&mut self, captured: &Captured<'_>, place: Place) -> Result<()> {
        if mutant::is_active(Mutant::NothingCaptured) {
            return Ok(());
        }
        if let Some(clock) = captured.clock {
            self.environment.transaction_time = clock.transaction_time;
            self.environment.statement_time = clock.statement_time;
        }
        if let Some(seed) = captured.random_seed {
            self.environment.random.replace(Random::seeded(seed));
        }
        if let Some(identity) = captured.identity {
            if self.environment.user != identity.user {
                self.environment.user = identity.user.to_owned();
            }
            if self.environment.session_user != identity.user {
                self.environment.session_user = identity.user.to_owned();
            }
            if self.environment.database != identity.database {
                self.environment.database = identity.database.to_owned();
            }
            if self.environment.time_zone.iana_name() != Some(identity.time_zone) {
                self.environment.time_zone = TimeZone::get(identity.time_zone).map_err(|_| {
                    place.corrupt(&format!("there is no time zone \"{}\" here", identity.time_zone))
                })?;
            }
        }
        Ok(())
    }
}

/// The routine that ran, in the version that ran, and the catalog that it is in.
fn find(
    databases: &Databases,
    command: &Command<'_>,
    written_with: &Foundations,
    place: Place,
) -> Result<(Arc<Catalog>, Arc<Routine>)> {
    let catalog = databases.catalog_of_routine(command.routine);
    let found = catalog.and_then(|catalog| {
        let routine = catalog.routine(command.routine)?;
        Some((catalog, routine))
    });
    let Some((catalog, routine)) = found else {
        let number = command.routine.0;
        return Err(place.corrupt(&match databases.former_routine(command.routine) {
            Some(name) => {
                format!("it calls {name} (routine {number}), which has been dropped or replaced before")
            }
            None => format!("it calls routine {number}, which does not exist"),
        }));
    };
    if routine.version_hash() != command.version_hash {
        let definition = &routine.definition;
        let ran = match difference(written_with) {
            Some(difference) => format!("ran with {difference}"),
            None => "ran under another version of this program or of its source".to_owned(),
        };
        let message = format!(
            "the log holds a call of {} {} that {ran}; it cannot be \
             replayed ({place}). To keep the data, open the directory with the program that wrote it and copy the tables out",
            definition.kind.word(),
            definition.signature()
        );
        return Err(Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    Ok((catalog, routine))
}

fn compile(
    routine: &Routine,
    catalog: &Catalog,
    compiler: Option<&dyn RoutineCompiler>,
    place: Place,
) -> Result<Arc<Procedure>> {
    if compiler.is_none() {
        let (kind, signature) = (routine.definition.kind.word(), routine.definition.signature());
        let message = format!(
            "the log holds a call of {kind} {signature}, and this program has no compiler for routines to replay it with \
             ({place})"
        );
        return Err(Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    routine
        .procedure(compiler, catalog)
        .map_err(|error| place.diverged(routine, &format!("it does not compile: {error}")))
}

impl Place {
    pub(super) fn of(RecordPlace { log, end, .. }: RecordPlace) -> Place {
        Place { log, end }
    }

    pub(super) fn corrupt(self, reason: &str) -> Error {
        Error::corrupt(format!(
            "log {} is damaged: {reason} (in the record that ends at position {})",
            self.log, self.end
        ))
    }

    fn diverged(self, routine: &Routine, how: &str) -> Error {
        let (kind, signature) = (routine.definition.kind.word(), routine.definition.signature());
        Error::corrupt(format!("the replay of {kind} {signature} has diverged: {how} ({self})"))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "log {}, in the record that ends at position {}", self.log, self.end)
    }
}
