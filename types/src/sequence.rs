//! Sequences: numbers that are given out once.
//!
//! A [`Sequence`] is a definition and a counter. Drawing takes the counter's mutex for a few instructions and
//! nothing else: no transactional lock, no snapshot. So a number is used up when it is drawn, whether or not
//! the transaction commits, and no transaction waits for another.
//!
//! A log need only hold a lower bound for the counter: [`SequenceState`]s are ordered, and replay takes the
//! latest of each sequence, in whatever order it meets them. An operation that makes numbers recur (setval,
//! RESTART, a turn of the direction, a new cycle) begins a new *epoch*, whose number is given out once, so
//! that earlier draws are ordered before it, wherever they were logged.
//!
//! A transaction that restarts a sequence draws from a *private* counter until it commits; then the public
//! counter is raised to it. Its draws belong to the change and are not logged one by one.
//!
//! [`SessionSequences`] is what a session's functions see: the sequences that names refer to, the draws since
//! the last log record, and the results of `currval` and `lastval`. A statement that starts over after a
//! conflict, with no result seen by the client, draws the same numbers again.
//!
//! Invariants:
//! 1. In one epoch no number is given out twice.
//! 2. The states that [`SessionSequences::take_draws`] returns are at least as late as every number drawn
//!    from a counter that is not private.
//!
//! Reference: PostgreSQL's sequence.c.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::access::{Caller, ObjectKind, Privileges, denied};
use crate::definition::{SchemaId, SequenceDefinition, SequenceId, SequenceState, TableName};
use crate::error::{Abort, Error, Result, sqlstate};
use crate::memory::{Charge, Keeper};
use crate::search_path::SearchPath;
use crate::text::LONGEST_NAME;

/// What a sequence takes in addition to its definition: its counters, and its names in the catalog.
const SEQUENCE_BYTES: usize = 1 << 10;

/// The numbers of one sequence.
#[derive(Debug)]
struct Counter {
    states: Mutex<States>,
    /// The next epoch; shared with the private counters of the sequence.
    epochs: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug)]
struct States {
    now: SequenceState,
    /// The latest state in a log record.
    logged: SequenceState,
}

impl Counter {
    fn at(state: SequenceState, epochs: Arc<AtomicU64>) -> Arc<Counter> {
        epochs.fetch_max(state.epoch + 1, Ordering::Relaxed);
        Arc::new(Counter { states: Mutex::new(States { now: state, logged: state }), epochs })
    }

    fn new_epoch(&self) -> u64 {
        self.epochs.fetch_add(1, Ordering::Relaxed)
    }

    fn raise(&self, state: SequenceState, increment: i64) {
        self.epochs.fetch_max(state.epoch + 1, Ordering::Relaxed);
        let mut states = self.states.lock();
        if state.is_after(states.now, increment) {
            states.now = state;
        }
        if state.is_after(states.logged, increment) {
            states.logged = state;
        }
    }
}

/// A sequence as seen by the catalog, or by a transaction that has changed it. See the module head.
pub struct Sequence {
    pub id: SequenceId,
    pub definition: SequenceDefinition,
    counter: Arc<Counter>,
    /// The counter that this one's private counter will raise.
    public: Option<Arc<Counter>>,
    is_private: bool,
    /// The session's, for a sequence of its own.
    charge: Option<Arc<Charge>>,
    /// For the engine: the dependencies that a draw takes over. Empty if there are none.
    pub mark: Box<[AtomicU64]>,
}

impl Sequence {
    /// A new sequence, from which nothing was drawn.
    pub fn new(id: SequenceId, definition: SequenceDefinition) -> Sequence {
        let counter = Counter::at(SequenceState::first(definition.start), Arc::default());
        Sequence {
            id,
            definition,
            counter,
            public: None,
            is_private: false,
            charge: None,
            mark: Box::default(),
        }
    }

    /// The same sequence for the transaction that creates it.
    #[must_use]
    pub fn into_private(self) -> Sequence {
        Sequence { is_private: true, ..self }
    }

    /// The same sequence at the keeper's expense: a temporary one.
    #[must_use]
    pub fn charged_to(self, keeper: Option<&Keeper>) -> Sequence {
        let charge = |keeper: &Keeper| Arc::new(Charge::for_value(keeper, &self.definition, SEQUENCE_BYTES));
        Sequence { charge: keeper.map(charge), ..self }
    }

    /// The altered sequence, for the transaction that alters it.
    #[must_use]
    pub fn altered(&self, definition: SequenceDefinition, restart: Option<SequenceState>) -> Sequence {
        let (counter, public, is_private) = match restart {
            None => (Arc::clone(&self.counter), self.public.clone(), self.is_private),
            Some(state) => {
                let private = Counter::at(state, Arc::clone(&self.counter.epochs));
                let public = match (&self.public, self.is_private) {
                    (Some(public), _) => Some(Arc::clone(public)),
                    (None, true) => None,
                    (None, false) => Some(Arc::clone(&self.counter)),
                };
                (private, public, true)
            }
        };
        let charge = self.charge.clone();
        Sequence { id: self.id, definition, counter, public, is_private, charge, mark: Box::default() }
    }

    /// The sequence after the commit of the transaction that has created or altered it; `mark` holds the
    /// dependencies of draws.
    #[must_use]
    pub fn published(&self, mark: Box<[AtomicU64]>) -> Sequence {
        let counter = match &self.public {
            Some(public) => {
                public.raise(self.state(), self.definition.increment);
                Arc::clone(public)
            }
            None => Arc::clone(&self.counter),
        };
        let (id, definition) = (self.id, self.definition.clone());
        let charge = self.charge.clone();
        Sequence { id, definition, counter, public: None, is_private: false, charge, mark }
    }

    /// Whether its counter is visible only to the transaction that has created or altered it.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// Its current state.
    pub fn state(&self) -> SequenceState {
        self.counter.states.lock().now
    }

    /// The state from which it continues at `value`, later than everything drawn so far.
    pub fn restarted(&self, value: i64, is_called: bool) -> SequenceState {
        SequenceState { epoch: self.counter.new_epoch(), value, is_called }
    }

    /// A log record says that it has reached at least this state.
    pub fn raise(&self, state: SequenceState) {
        self.counter.raise(state, self.definition.increment);
    }

    /// A log record with this state has been appended.
    pub fn note_logged(&self, state: SequenceState) {
        let mut states = self.counter.states.lock();
        if state.is_after(states.logged, self.definition.increment) {
            states.logged = state;
        }
    }

    /// The current state, if it is later than every logged one.
    pub fn unlogged(&self) -> Option<SequenceState> {
        let States { now, logged } = *self.counter.states.lock();
        (now != logged).then_some(now)
    }

    /// Draws the next number.
    ///
    /// # Errors
    /// 2200H after the last number.
    pub fn draw(&self) -> Result<SequenceState> {
        let SequenceDefinition { increment, least, greatest, cycles, .. } = self.definition;
        let mut states = self.counter.states.lock();
        let mut next = SequenceState { is_called: true, ..states.now };
        if states.now.is_called {
            match next.value.checked_add(increment) {
                Some(value) if (least..=greatest).contains(&value) => next.value = value,
                // ALTER may have left it outside of its range, on the side from which it approaches.
                Some(value) if (increment > 0 && value < least) || (increment < 0 && value > greatest) => {
                    next.value = value;
                }
                _ if cycles => {
                    next.value = if increment > 0 { least } else { greatest };
                    next.epoch = self.counter.new_epoch();
                }
                _ => return Err(self.exhausted()),
            }
        }
        states.now = next;
        Ok(next)
    }

    fn exhausted(&self) -> Error {
        let SequenceDefinition { increment, least, greatest, ref name, .. } = self.definition;
        let (end, limit) = if increment > 0 { ("maximum", greatest) } else { ("minimum", least) };
        let message = format!("nextval: reached {end} value of sequence \"{}\" ({limit})", name.name);
        Error::input(sqlstate::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message)
    }

    /// Continues from this number.
    ///
    /// # Errors
    /// 22003 outside the range.
    pub fn set(&self, value: i64, is_called: bool) -> Result<SequenceState> {
        let SequenceDefinition { least, greatest, ref name, .. } = self.definition;
        if !(least..=greatest).contains(&value) {
            let message = format!(
                "setval: value {value} is out of bounds for sequence \"{}\" ({least}..{greatest})",
                name.name
            );
            return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let mut states = self.counter.states.lock();
        // Under the mutex: epochs must be in the same order as the counter's states.
        states.now = self.restarted(value, is_called);
        Ok(states.now)
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence")
            .field("id", &self.id)
            .field("definition", &self.definition)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

/// The object that a name given to a sequence function refers to.
#[derive(Clone, Debug)]
pub enum Relation {
    Sequence(Arc<Sequence>),
    Table,
}

/// The source of sequences: the committed catalog.
pub trait SequenceCatalog: Send + Sync + fmt::Debug {
    fn sequence(&self, id: SequenceId) -> Option<Arc<Sequence>>;
    fn relation(&self, name: &TableName) -> Option<Relation>;
    fn schema(&self, name: &str) -> Option<SchemaId>;
}

/// A sequence that was drawn from, and a lower bound for its state.
#[derive(Clone, Debug)]
pub struct Draw {
    pub sequence: Arc<Sequence>,
    pub state: SequenceState,
}

/// Adds a draw to others, of which there is at most one per sequence.
pub fn note_draw(draws: &mut Vec<Draw>, draw: Draw) {
    match draws.iter_mut().find(|known| known.sequence.id == draw.sequence.id) {
        Some(known) if draw.state.is_after(known.state, draw.sequence.definition.increment) => *known = draw,
        Some(_) => {}
        None => draws.push(draw),
    }
}

/// A change that a transaction has made to sequences, private to it.
#[derive(Clone, Debug)]
pub enum OwnSequence {
    Changed(Arc<Sequence>),
    Dropped(SequenceId, TableName),
    /// A table has been created or dropped under this name.
    Table(TableName, bool),
    /// A schema of this name exists.
    Schema(String),
}

/// Consecutive numbers that one statement drew.
#[derive(Clone, Debug)]
struct Run {
    sequence: Arc<Sequence>,
    first: SequenceState,
    count: i64,
}

/// A statement remembers at most this many runs: if it starts over, further ones are lost.
const MOST_RUNS: usize = 1024;

impl Run {
    /// The state that was drawn after `place` others.
    fn at(&self, place: i64) -> Option<SequenceState> {
        let value = place.checked_mul(self.sequence.definition.increment)?.checked_add(self.first.value)?;
        Some(SequenceState { value, ..self.first })
    }

    fn takes(&self, sequence: &Sequence, state: SequenceState) -> bool {
        Arc::ptr_eq(&self.sequence.counter, &sequence.counter)
            && self.sequence.definition.increment == sequence.definition.increment
            && self.at(self.count) == Some(state)
    }
}

/// A session's view of sequences, and its draws.
#[derive(Clone, Debug, Default)]
pub struct SessionSequences {
    /// The committed sequences.
    pub catalog: Option<Arc<dyn SequenceCatalog>>,
    /// What the open transaction has changed, the latest last.
    pub own: Vec<OwnSequence>,
    /// Where names are looked up.
    pub path: Arc<SearchPath>,
    /// The transaction must not draw or set anything.
    is_read_only: bool,
    draws: Vec<Draw>,
    /// The draws of the statement.
    drawn: Vec<Run>,
    /// The draws of its previous attempt, which are repeated first.
    again: Vec<Run>,
    /// The results of `currval`.
    current: HashMap<SequenceId, i64>,
    /// The sequence that was drawn from last.
    last: Option<SequenceId>,
    /// The values of both before the statement, where it has changed them.
    current_before: Vec<(SequenceId, Option<i64>)>,
    last_before: Option<SequenceId>,
}

impl SessionSequences {
    /// The results of `nextval` and `setval` since the last call, for the log.
    pub fn take_draws(&mut self) -> Vec<Draw> {
        std::mem::take(&mut self.draws)
    }

    pub fn has_draws(&self) -> bool {
        !self.draws.is_empty()
    }

    /// Another statement begins.
    pub fn begin_statement(&mut self, is_read_only: bool) {
        self.is_read_only = is_read_only;
        self.drawn.clear();
        self.again.clear();
        self.current_before.clear();
        self.last_before = self.last;
    }

    /// The statement is undone, and starts over.
    pub fn repeat_statement(&mut self) {
        let drawn = std::mem::take(&mut self.drawn);
        self.again.splice(0..0, drawn);
        for (id, before) in self.current_before.drain(..) {
            match before {
                Some(value) => self.current.insert(id, value),
                None => self.current.remove(&id),
            };
        }
        self.last = self.last_before;
    }

    /// The next number of a sequence that the previous attempt of the statement drew.
    fn drawn_before(&mut self, sequence: &Sequence) -> Option<SequenceState> {
        let is_same = |run: &Run| Arc::ptr_eq(&run.sequence.counter, &sequence.counter);
        let at = self.again.iter().position(is_same)?;
        let run = &mut self.again[at];
        let state = run.first;
        match run.at(1).filter(|_| run.count > 1) {
            Some(next) => (run.first, run.count) = (next, run.count - 1),
            None => drop(self.again.remove(at)),
        }
        Some(state)
    }

    fn set_current(&mut self, id: SequenceId, value: i64) {
        let before = self.current.insert(id, value);
        if !self.current_before.iter().any(|(known, _)| *known == id) {
            self.current_before.push((id, before));
        }
    }

    fn remember(&mut self, sequence: &Arc<Sequence>, state: SequenceState) {
        let runs = self.drawn.len();
        match self.drawn.last_mut() {
            Some(run) if run.takes(sequence, state) => run.count += 1,
            _ if runs < MOST_RUNS => {
                self.drawn.push(Run { sequence: Arc::clone(sequence), first: state, count: 1 });
            }
            _ => {}
        }
    }

    /// Forgets the results of `currval` and `lastval`.
    pub fn forget(&mut self) {
        self.current.clear();
        self.current_before.clear();
        (self.last, self.last_before) = (None, None);
    }

    /// The sequence with this number. If it does not exist, the statement was compiled with an older catalog.
    ///
    /// # Errors
    /// A stale plan.
    pub fn by_id(&self, id: SequenceId) -> Result<Arc<Sequence>> {
        self.find(id).ok_or(Error::Abort(Abort::StalePlan))
    }

    fn find(&self, id: SequenceId) -> Option<Arc<Sequence>> {
        for own in self.own.iter().rev() {
            match own {
                OwnSequence::Changed(sequence) if sequence.id == id => return Some(Arc::clone(sequence)),
                OwnSequence::Dropped(dropped, _) if *dropped == id => return None,
                _ => {}
            }
        }
        self.catalog.as_ref()?.sequence(id)
    }

    /// The sequence whose name is in this text, for a caller who must be allowed to use the schema.
    ///
    /// # Errors
    /// 42602, 42P01, 42809, 42501.
    pub fn by_name(&self, text: &str, caller: Option<&Caller>) -> Result<Arc<Sequence>> {
        if let (Some(caller), (Some(schema), _)) = (caller, written_name(text)?)
            && let Some(id) =
                self.catalog.as_ref().and_then(|catalog| catalog.schema(self.path.schema(&schema)))
        {
            let held = caller.access.privileges(caller.role, id.0, ObjectKind::Schema);
            if !held.contains(Privileges::USAGE) {
                return Err(denied("schema", &schema));
            }
        }
        let name = relation_name(text, &self.path, |name| self.relation(name).is_some())?;
        match self.relation(&name) {
            Some(Relation::Sequence(sequence)) => Ok(sequence),
            Some(Relation::Table) => Err(not_a_sequence(&name.name)),
            None => Err(no_relation(text, |schema| self.has_schema(schema))),
        }
    }

    fn has_schema(&self, name: &str) -> bool {
        let is_made = |own: &OwnSequence| matches!(own, OwnSequence::Schema(own) if own == name);
        self.own.iter().any(is_made)
            || self.catalog.as_ref().is_some_and(|catalog| catalog.schema(name).is_some())
    }

    fn relation(&self, name: &TableName) -> Option<Relation> {
        for own in self.own.iter().rev() {
            match own {
                OwnSequence::Changed(sequence) if sequence.definition.name == *name => {
                    return Some(Relation::Sequence(Arc::clone(sequence)));
                }
                OwnSequence::Dropped(_, dropped) if dropped == name => return None,
                OwnSequence::Table(table, is_there) if table == name => {
                    return is_there.then_some(Relation::Table);
                }
                _ => {}
            }
        }
        let found = self.catalog.as_ref()?.relation(name);
        let is_renamed = |sequence: &Arc<Sequence>| {
            let changed =
                |own: &OwnSequence| matches!(own, OwnSequence::Changed(now) if now.id == sequence.id);
            self.own.iter().any(changed)
        };
        found.filter(|found| !matches!(found, Relation::Sequence(sequence) if is_renamed(sequence)))
    }

    fn check_writable(&self, function: &str) -> Result<()> {
        if self.is_read_only {
            let message = format!("cannot execute {function}() in a read-only transaction");
            return Err(Error::input(sqlstate::READ_ONLY_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    fn note(&mut self, sequence: Arc<Sequence>, state: SequenceState) {
        if !sequence.is_private() {
            note_draw(&mut self.draws, Draw { sequence, state });
        }
    }

    /// `nextval`.
    ///
    /// # Errors
    /// 2200H, 25006.
    pub fn draw(&mut self, sequence: Arc<Sequence>) -> Result<i64> {
        self.check_writable("nextval")?;
        let state = match self.drawn_before(&sequence) {
            Some(state) => state,
            None => sequence.draw()?,
        };
        self.remember(&sequence, state);
        self.set_current(sequence.id, state.value);
        self.last = Some(sequence.id);
        self.note(sequence, state);
        Ok(state.value)
    }

    /// `setval`.
    ///
    /// # Errors
    /// 22003, 25006.
    pub fn set(&mut self, sequence: Arc<Sequence>, value: i64, is_called: bool) -> Result<i64> {
        self.check_writable("setval")?;
        self.again.retain(|run| run.sequence.id != sequence.id);
        let state = sequence.set(value, is_called)?;
        if is_called {
            self.set_current(sequence.id, value);
        }
        self.note(sequence, state);
        Ok(value)
    }

    /// `currval`.
    ///
    /// # Errors
    /// 55000 if this session has drawn nothing from it.
    pub fn current(&self, sequence: &Sequence) -> Result<i64> {
        self.current.get(&sequence.id).copied().ok_or_else(|| {
            let name = &sequence.definition.name.name;
            let message = format!("currval of sequence \"{name}\" is not yet defined in this session");
            Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// `lastval`, and the sequence that it comes from.
    ///
    /// # Errors
    /// 55000 if this session has drawn nothing, or the sequence is gone.
    pub fn last(&self) -> Result<(Arc<Sequence>, i64)> {
        let known = self.last.and_then(|last| Some((self.find(last)?, *self.current.get(&last)?)));
        known.ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }
}

/// `"t" is not a sequence`.
pub fn not_a_sequence(name: &str) -> Error {
    Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))
}

/// `relation "t" does not exist`, for a name in a text, or the same of its schema.
pub fn no_relation(text: &str, has_schema: impl Fn(&str) -> bool) -> Error {
    let parts = name_parts(text).unwrap_or_else(|_| vec![text.to_owned()]);
    if let [schema, _] = parts.as_slice()
        && !has_schema(schema)
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Error::input(sqlstate::INVALID_SCHEMA_NAME, message);
    }
    let shown = parts.join(".");
    Error::input(sqlstate::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist"))
}

/// The relation that a text names: `name`, `schema.name`, `"Name"`. Without a schema, the first along the
/// path for which `is_there` holds.
///
/// # Errors
/// 42602 if it is not a name, 0A000 for a name in another database.
pub fn relation_name(
    text: &str,
    path: &SearchPath,
    is_there: impl FnMut(&TableName) -> bool,
) -> Result<TableName> {
    let parts = written_name(text)?;
    Ok(path.find(parts.0.as_deref(), &parts.1, is_there))
}

/// The schema, if there is one, and the name in a text.
///
/// # Errors
/// As [`relation_name`].
pub fn written_name(text: &str) -> Result<(Option<String>, String)> {
    let parts = name_parts(text)?;
    match parts.as_slice() {
        [name] => Ok((None, name.clone())),
        [schema, name] => Ok((Some(schema.clone()), name.clone())),
        [_, _, _] => {
            let message = format!("cross-database references are not implemented: \"{}\"", parts.join("."));
            Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
        }
        _ => {
            let message = format!("improper relation name (too many dotted names): {}", parts.join("."));
            Err(Error::input(sqlstate::SYNTAX_ERROR, message))
        }
    }
}

/// The same for a text that may also contain the database, which must be this one.
///
/// # Errors
/// As [`relation_name`].
pub fn written_name_in(text: &str, database: &str) -> Result<(Option<String>, String)> {
    match name_parts(text)?.as_slice() {
        [first, schema, name] if first == database => Ok((Some(schema.clone()), name.clone())),
        _ => written_name(text),
    }
}

/// As PostgreSQL's `SplitIdentifierString`, with dots as separators.
fn name_parts(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::input(sqlstate::INVALID_NAME, "invalid name syntax");
    let mut rest = text.trim();
    let mut parts = Vec::new();
    loop {
        let part;
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            loop {
                let (before, after) = quoted.split_once('"').ok_or_else(invalid)?;
                name.push_str(before);
                match after.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        quoted = more;
                    }
                    None => {
                        rest = after.trim_start();
                        break;
                    }
                }
            }
            part = name;
        } else {
            let end = rest.find(|next: char| next == '.' || next.is_whitespace()).unwrap_or(rest.len());
            part = rest[..end].to_ascii_lowercase();
            rest = rest[end..].trim_start();
        }
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part[..part.floor_char_boundary(LONGEST_NAME)].to_owned());
        if rest.is_empty() {
            return Ok(parts);
        }
        rest = rest.strip_prefix('.').ok_or_else(invalid)?.trim_start();
    }
}

#[cfg(test)]
mod tests;
