//! Sequences: numbers that are given out once.
//!
//! A [`Sequence`] is a definition and a counter. Drawing takes the counter's mutex for a few instructions and
//! nothing else: no lock of a transaction, no snapshot. So a number is gone when it is drawn, whatever
//! becomes of the transaction, and nobody waits for anybody.
//!
//! What a log must know is only how far the counter has come at least: [`SequenceState`]s are ordered, and
//! replay takes the latest of each sequence, in whatever order it meets them. Whatever makes numbers come
//! again (setval, RESTART, a turn of the direction, a new cycle) begins a new *epoch*, given out once, so
//! that a draw from before it is behind it wherever it was logged.
//!
//! A transaction that restarts a sequence draws from a *private* counter until it commits; then the counter
//! that all use is raised to it. Its draws belong to the change and are not told one by one.
//!
//! [`SessionSequences`] is what a session's functions see: where names lead to, what was drawn since the log
//! was last told, and what `currval` and `lastval` answer. A statement that is begun again unseen, after a
//! conflict, draws once more what it drew before: nobody has been told of it.
//!
//! Invariants:
//! 1. In one epoch no number is given out twice.
//! 2. What [`SessionSequences::take_draws`] gives is at least as late as every number drawn from a counter
//!    that is not private.
//!
//! Reference: PostgreSQL's sequence.c.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::definition::{SequenceDefinition, SequenceId, SequenceState, TableName};
use crate::error::{Abort, Error, Result, sqlstate};
use crate::search_path::SearchPath;
use crate::text::LONGEST_NAME;

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
    /// The latest that a log record holds.
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
        if state.is_behind(states.now, increment) {
            states.now = state;
        }
        if state.is_behind(states.logged, increment) {
            states.logged = state;
        }
    }
}

/// A sequence as the catalog, or a transaction that has changed it, has it. See the module head.
pub struct Sequence {
    pub id: SequenceId,
    pub definition: SequenceDefinition,
    counter: Arc<Counter>,
    /// The counter that this one's private counter will raise.
    public: Option<Arc<Counter>>,
    is_private: bool,
    /// For the engine: what whoever draws depends on. Empty if that is nothing.
    pub mark: Box<[AtomicU64]>,
}

impl Sequence {
    /// A new one, of which nothing was drawn.
    pub fn new(id: SequenceId, definition: SequenceDefinition) -> Sequence {
        let counter = Counter::at(SequenceState::first(definition.start), Arc::default());
        Sequence { id, definition, counter, public: None, is_private: false, mark: Box::default() }
    }

    /// The same for the transaction that creates it.
    #[must_use]
    pub fn into_private(self) -> Sequence {
        Sequence { is_private: true, ..self }
    }

    /// What ALTER makes of it for its transaction.
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
        Sequence { id: self.id, definition, counter, public, is_private, mark: Box::default() }
    }

    /// What becomes of it when the transaction that has made it commits; `mark` is what draws depend on.
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
        Sequence { id, definition, counter, public: None, is_private: false, mark }
    }

    /// Whether nobody but the transaction that has made it sees its counter.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// How far it has come.
    pub fn state(&self) -> SequenceState {
        self.counter.states.lock().now
    }

    /// Where it goes on from `value`, ahead of everything drawn so far.
    pub fn restarted(&self, value: i64, is_called: bool) -> SequenceState {
        SequenceState { epoch: self.counter.new_epoch(), value, is_called }
    }

    /// It has come at least so far: a log record says so.
    pub fn raise(&self, state: SequenceState) {
        self.counter.raise(state, self.definition.increment);
    }

    /// A log record with this state has been appended.
    pub fn note_logged(&self, state: SequenceState) {
        let mut states = self.counter.states.lock();
        if state.is_behind(states.logged, self.definition.increment) {
            states.logged = state;
        }
    }

    /// The state that no log record holds, if it has come further than they say.
    pub fn unlogged(&self) -> Option<SequenceState> {
        let States { now, logged } = *self.counter.states.lock();
        (now != logged).then_some(now)
    }

    /// Draws the next number.
    ///
    /// # Errors
    /// 2200H behind the last one.
    pub fn draw(&self) -> Result<SequenceState> {
        let SequenceDefinition { increment, least, greatest, cycles, .. } = self.definition;
        let mut states = self.counter.states.lock();
        let mut next = SequenceState { is_called: true, ..states.now };
        if states.now.is_called {
            match next.value.checked_add(increment) {
                Some(value) if (least..=greatest).contains(&value) => next.value = value,
                // ALTER may have left it outside of its range, on the side that it comes from.
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

    /// Goes on from this number.
    ///
    /// # Errors
    /// 22003 outside of the range.
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
        // Under the mutex: epochs must follow each other as the counter's states do.
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

/// What a name may lead a function of sequences to.
#[derive(Clone, Debug)]
pub enum Relation {
    Sequence(Arc<Sequence>),
    Table,
}

/// Where sequences are found: the committed catalog.
pub trait SequenceCatalog: Send + Sync + fmt::Debug {
    fn sequence(&self, id: SequenceId) -> Option<Arc<Sequence>>;
    fn relation(&self, name: &TableName) -> Option<Relation>;
    fn has_schema(&self, name: &str) -> bool;
}

/// A sequence that was drawn from, and how far it has come at least.
#[derive(Clone, Debug)]
pub struct Draw {
    pub sequence: Arc<Sequence>,
    pub state: SequenceState,
}

/// Adds a draw to others, of which there is one for each sequence.
pub fn note_draw(draws: &mut Vec<Draw>, draw: Draw) {
    match draws.iter_mut().find(|known| known.sequence.id == draw.sequence.id) {
        Some(known) if draw.state.is_behind(known.state, draw.sequence.definition.increment) => *known = draw,
        Some(_) => {}
        None => draws.push(draw),
    }
}

/// What a transaction has done to a sequence, for itself.
#[derive(Clone, Debug)]
pub enum OwnSequence {
    Changed(Arc<Sequence>),
    Dropped(SequenceId, TableName),
    /// A table has come, or gone, under this name.
    Table(TableName, bool),
    /// There is a schema of this name.
    Schema(String),
}

/// Numbers that one statement drew one after the other.
#[derive(Clone, Debug)]
struct Run {
    sequence: Arc<Sequence>,
    first: SequenceState,
    count: i64,
}

/// Of a statement more runs are not remembered: should it be begun again, they are lost.
const MOST_RUNS: usize = 1024;

impl Run {
    /// The state that was drawn when `place` others had been.
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

/// What a session's functions see of sequences, and what they have drawn.
#[derive(Clone, Debug, Default)]
pub struct SessionSequences {
    /// The committed ones.
    pub catalog: Option<Arc<dyn SequenceCatalog>>,
    /// What the open transaction has made of them, the latest last.
    pub own: Vec<OwnSequence>,
    /// Where names lead.
    pub path: Arc<SearchPath>,
    /// The transaction may draw and set nothing.
    is_read_only: bool,
    draws: Vec<Draw>,
    /// What the statement has drawn,
    drawn: Vec<Run>,
    /// and what it drew before it was begun again, to be drawn first.
    again: Vec<Run>,
    /// What `currval` answers.
    current: HashMap<SequenceId, i64>,
    /// The sequence that was drawn from last.
    last: Option<SequenceId>,
    /// What both were before the statement, where it has changed them.
    current_before: Vec<(SequenceId, Option<i64>)>,
    last_before: Option<SequenceId>,
}

impl SessionSequences {
    /// What was drawn and set since the last call, for the log.
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

    /// The statement is undone, and begins again.
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

    /// The next number of a sequence that the statement drew before it was begun again.
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

    /// Forgets what `currval` and `lastval` answer.
    pub fn forget(&mut self) {
        self.current.clear();
        self.current_before.clear();
        (self.last, self.last_before) = (None, None);
    }

    /// The sequence with this number; that there is none is news to who has compiled the statement.
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

    /// The sequence of this name, as a text has it.
    ///
    /// # Errors
    /// 42602, 42P01, 42809.
    pub fn by_name(&self, text: &str) -> Result<Arc<Sequence>> {
        let name = relation_name(text, &self.path, |name| self.relation(name).is_some())?;
        match self.relation(&name) {
            Some(Relation::Sequence(sequence)) => Ok(sequence),
            Some(Relation::Table) => Err(not_a_sequence(&name.name)),
            None => Err(no_relation(text, |schema| self.has_schema(schema))),
        }
    }

    fn has_schema(&self, name: &str) -> bool {
        let is_made = |own: &OwnSequence| matches!(own, OwnSequence::Schema(own) if own == name);
        self.own.iter().any(is_made) || self.catalog.as_ref().is_some_and(|catalog| catalog.has_schema(name))
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

    /// `lastval`.
    ///
    /// # Errors
    /// 55000 if this session has drawn nothing, or the sequence is gone.
    pub fn last(&self) -> Result<i64> {
        let known = self.last.filter(|last| self.find(*last).is_some());
        known.and_then(|last| self.current.get(&last).copied()).ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }
}

/// `"t" is not a sequence`.
pub fn not_a_sequence(name: &str) -> Error {
    Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))
}

/// `relation "t" does not exist`, of a name as a text has it; or its schema does not.
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

/// The relation that a text names: `name`, `schema.name`, `"Name"`. Without a schema, the first that
/// `is_there` along the path.
///
/// # Errors
/// 42602 for what is no name, 0A000 for one of another database.
pub fn relation_name(
    text: &str,
    path: &SearchPath,
    is_there: impl FnMut(&TableName) -> bool,
) -> Result<TableName> {
    let parts = written_name(text)?;
    Ok(path.find(parts.0.as_deref(), &parts.1, is_there))
}

/// The schema, if one is named, and the name in a text.
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

/// The same of a text that may say the database too, which must be this one.
///
/// # Errors
/// As [`relation_name`].
pub fn written_name_in(text: &str, database: &str) -> Result<(Option<String>, String)> {
    match name_parts(text)?.as_slice() {
        [first, schema, name] if first == database => Ok((Some(schema.clone()), name.clone())),
        _ => written_name(text),
    }
}

/// As PostgreSQL's `SplitIdentifierString`, with dots between.
fn name_parts(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::input(sqlstate::INVALID_NAME, "invalid name syntax");
    let mut rest = text.trim();
    let mut parts = Vec::new();
    loop {
        let part;
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            loop {
                let (before, behind) = quoted.split_once('"').ok_or_else(invalid)?;
                name.push_str(before);
                match behind.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        quoted = more;
                    }
                    None => {
                        rest = behind.trim_start();
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
