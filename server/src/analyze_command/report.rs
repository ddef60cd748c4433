//! What the analysis of procedures finds, for people: names of tables, lines of sources, sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hyades_engine::procedure::analysis::{Blocks, Cause, Join, Merge, Reason, Slice, Slices, TapeUse};
use hyades_engine::procedure::ir::{Expr, Instruction, Procedure, Replayability};
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{RoutineKind, TableId, TableName};

use crate::serve::Sentence;

/// What is found.
pub struct Report {
    pub routines: Vec<RoutineReport>,
    pub blocks: Vec<BlockReport>,
    /// Why there are not more blocks.
    pub joins: Vec<Note>,
}

/// One routine.
pub struct RoutineReport {
    /// With its parameters, as errors name it.
    pub signature: String,
    /// In one word: procedure or function.
    pub kind: &'static str,
    pub verdict: Verdict,
    pub source: Vec<SourceLine>,
}

/// What becomes of its calls.
pub enum Verdict {
    /// They are logged as the rows that they write, for this reason.
    Data(String),
    /// It writes nothing, so nothing is logged.
    ReadsOnly,
    Calls(Replayed),
}

/// What a replay of a call does.
pub struct Replayed {
    /// The instructions that are left, of those of the routine and what it calls.
    pub kept: usize,
    pub of: usize,
    pub slices: Vec<SliceReport>,
    pub passed: Vec<Passed>,
    /// Why there are not more slices.
    pub merges: Vec<Note>,
}

/// One slice.
pub struct SliceReport {
    pub block: usize,
    pub tables: Vec<String>,
}

/// Something that one slice needs of another.
pub struct Passed {
    pub from: usize,
    pub to: BTreeSet<usize>,
    /// Values, as expressions of the source.
    pub what: String,
    pub line: Option<u32>,
}

/// Why something is not divided, and what can be done about it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub sentence: String,
    pub hint: &'static str,
}

/// One line of a routine's body.
pub struct SourceLine {
    pub text: String,
    /// A statement begins here.
    pub has_statement: bool,
    /// The slices that read or write rows for it.
    pub slices: BTreeSet<usize>,
    /// Whether any slice executes something of it.
    pub is_kept: bool,
}

pub struct BlockReport {
    pub tables: Vec<String>,
    /// The blocks before it, each with the routines because of which it is.
    pub after: BTreeMap<usize, BTreeSet<String>>,
}

/// Whether a table, or a routine, is meant by this name, with or without its schema.
pub fn is_named(name: &TableName, given: &str) -> bool {
    given == name.name || given == format!("{}.{}", name.schema, name.name)
}

/// A routine whose calls are logged, and its replay program.
struct Logged {
    routine: Arc<Routine>,
    procedure: Arc<Procedure>,
    program: Arc<Procedure>,
}

impl Report {
    /// The report about these routines; none: all procedures. `data`: the tables that data records write.
    ///
    /// # Errors
    /// There is no such routine, or it does not compile.
    pub fn of(databases: &Databases, names: &[String], data: &BTreeSet<TableId>) -> Result<Report, Sentence> {
        let tables = databases.tables();
        let tables = tables.iter().map(|table| (table.id(), table_name(&table.definition().name))).collect();
        let mut routines = Vec::new();
        let mut logged = Vec::new();
        for routine in chosen(databases, names)? {
            let definition = &routine.definition;
            let catalog = databases.catalog_of_routine(routine.id);
            let catalog = catalog.ok_or_else(|| format!("{} has been dropped", definition.signature()))?;
            let procedure = routine
                .procedure(Some(&*hyades::routine_compiler()), &*catalog)
                .map_err(|error| format!("{} does not compile: {error}", definition.signature()))?;
            let verdict = match &procedure.replay {
                _ if procedure.only_looks() => Some(Verdict::ReadsOnly),
                Replayability::Unknown(why) => Some(Verdict::Data(why.to_string())),
                Replayability::Deterministic { .. } => None,
            };
            match verdict {
                Some(verdict) => routines.push((routine, verdict, Vec::new())),
                None => {
                    let program = Procedure::replay_program(&procedure);
                    logged.push(Logged { routine, procedure, program });
                }
            }
        }
        let programs: Vec<Arc<Procedure>> = logged.iter().map(|logged| Arc::clone(&logged.program)).collect();
        let blocks = Blocks::of(&programs, data);
        let view = View { tables, logged: &logged, blocks: &blocks };
        for (number, logged) in logged.iter().enumerate() {
            let (replayed, source) = view.routine(number);
            routines.push((Arc::clone(&logged.routine), Verdict::Calls(replayed), source));
        }
        routines.sort_by_key(|(routine, ..)| routine.definition.signature());
        let routines = routines.into_iter().map(|(routine, verdict, source)| RoutineReport {
            signature: routine.definition.signature(),
            kind: routine.definition.kind.word(),
            verdict,
            source,
        });
        Ok(Report { routines: routines.collect(), blocks: view.blocks(), joins: view.joins() })
    }
}

/// A name, with its schema unless that is `public`.
fn table_name(name: &TableName) -> String {
    match name.schema.as_str() {
        "public" => name.name.clone(),
        schema => format!("{schema}.{}", name.name),
    }
}

fn chosen(databases: &Databases, names: &[String]) -> Result<Vec<Arc<Routine>>, Sentence> {
    let all = databases.routines();
    if names.is_empty() {
        let is_procedure = |routine: &Arc<Routine>| routine.definition.kind == RoutineKind::Procedure;
        return Ok(all.into_iter().filter(is_procedure).collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let before = chosen.len();
        chosen.extend(all.iter().filter(|routine| is_named(&routine.definition.name, name)).cloned());
        if chosen.len() == before {
            return Err(format!("there is no routine \"{name}\""));
        }
    }
    Ok(chosen)
}

/// What the sentences are made of.
struct View<'v> {
    tables: BTreeMap<TableId, String>,
    logged: &'v [Logged],
    blocks: &'v Blocks,
}

impl View<'_> {
    fn table(&self, table: TableId) -> &str {
        self.tables.get(&table).map_or("?", String::as_str)
    }

    fn name(&self, program: usize) -> String {
        self.logged[program].routine.definition.name.name.clone()
    }

    fn routine(&self, number: usize) -> (Replayed, Vec<SourceLine>) {
        let (logged, slices) = (&self.logged[number], &self.blocks.programs[number]);
        let lines = own_lines(&slices.program);
        let of_slice = |slice: &Slice| SliceReport {
            block: slice.tables.first().and_then(|table| self.blocks.block_of(*table)).unwrap_or(0),
            tables: slice.tables.iter().map(|table| self.table(*table).to_owned()).collect(),
        };
        let mut passed: Vec<Passed> = slices.tapes.iter().map(|tape| passed(slices, tape, &lines)).collect();
        passed.sort_by_key(|passed| (passed.from, passed.line));
        let merges = self.merges(number, &lines);
        let replayed = Replayed {
            kept: slices.program.code.len(),
            of: logged.procedure.with_all_called().iter().map(|procedure| procedure.code.len()).sum(),
            slices: slices.slices.iter().map(of_slice).collect(),
            passed,
            merges,
        };
        (replayed, source(logged, slices, &lines))
    }

    /// Why a routine's slices are not more: because of itself, and because of others.
    fn merges(&self, number: usize, lines: &[Option<u32>]) -> Vec<Note> {
        let (alone, slices) = (&self.blocks.alone[number], &self.blocks.programs[number]);
        let program = &slices.program;
        let mut notes: BTreeSet<Note> =
            alone.merges.iter().map(|merge| self.merge(program, merge, lines)).collect();
        for slice in &slices.slices {
            let Some((first, rest)) = slice.tables.split_first() else { continue };
            let is_together = |other: &TableId| {
                alone.slices.iter().any(|slice| slice.tables.contains(first) && slice.tables.contains(other))
            };
            for other in rest.iter().filter(|other| !is_together(other)) {
                let causes = self.causes(self.blocks.block_of(*first), number);
                let (first, other) = (self.table(*first), self.table(*other));
                notes.insert(Note {
                    sentence: format!(
                        "{first} and {other} are in one block because of {}",
                        causes.join(", ")
                    ),
                    hint: "what is said of the blocks tells how",
                });
            }
        }
        notes.into_iter().collect()
    }

    /// The other programs because of which the tables of a block are one.
    fn causes(&self, block: Option<usize>, but: usize) -> Vec<String> {
        let is_of_block = |join: &&Join| self.blocks.block_of(join.tables.0) == block;
        let programs = |join: &Join| match &join.cause {
            Cause::Slice { program, .. } => vec![*program],
            Cause::Circle { there, back } => there.iter().chain(back).copied().collect(),
        };
        let all: BTreeSet<usize> = self.blocks.joins.iter().filter(is_of_block).flat_map(programs).collect();
        all.into_iter().filter(|program| *program != but).map(|program| self.name(program)).collect()
    }

    /// The table of an instruction, and its line.
    fn place(&self, program: &Procedure, at: usize, lines: &[Option<u32>]) -> String {
        let line = lines.get(at).copied().flatten().map_or(String::new(), |line| format!("line {line}"));
        let table = program.code.get(at).and_then(|instruction| instruction.effects().table);
        match table {
            Some((table, _)) => format!("{line} ({})", self.table(program.table(table).table.id())),
            None if line.is_empty() => "its beginning".to_owned(),
            None => line,
        }
    }

    fn merge(&self, program: &Procedure, merge: &Merge, lines: &[Option<u32>]) -> Note {
        let (one, other) = merge.instructions;
        let (one, other) = (self.place(program, one, lines), self.place(program, other, lines));
        let (sentence, hint) = match &merge.reason {
            Reason::Block => {
                (format!("{one} and {other} are in one block"), "the blocks say because of which procedures")
            }
            Reason::Handler => (
                format!("a handler waits for the errors of {one} and {other}, and would undo both"),
                "leave out of the block with the handler what need not be undone with it",
            ),
            Reason::RowNumbers => (
                format!("{one} and {other} draw numbers for rows of tables without a primary key"),
                "give one of the tables a primary key",
            ),
            Reason::NotAValue(what) => {
                (format!("{other} needs {what} of {one}"), "keep in variables what it needs of the rows")
            }
            Reason::Call(name) => (
                format!("{other} calls {name}, which is replayed as a whole"),
                "a routine that handles errors, or calls itself, is not divided",
            ),
            Reason::Circle => (
                format!("{one} and {other} each need something of the other"),
                "read before both what both need, or pass it as a parameter",
            ),
        };
        Note { sentence, hint }
    }

    fn blocks(&self) -> Vec<BlockReport> {
        let mut reports: Vec<BlockReport> = self
            .blocks
            .blocks
            .iter()
            .map(|block| BlockReport {
                tables: block.tables.iter().map(|table| self.table(*table).to_owned()).collect(),
                after: block.after.iter().map(|before| (*before, BTreeSet::new())).collect(),
            })
            .collect();
        for (number, slices) in self.blocks.programs.iter().enumerate() {
            let block = |slice: usize| self.blocks.block_of(*slices.slices.get(slice)?.tables.first()?);
            for (slice, from) in slices
                .slices
                .iter()
                .enumerate()
                .flat_map(|(to, slice)| slice.takes_from.iter().map(move |from| (to, *from)))
            {
                if let (Some(to), Some(from)) = (block(slice), block(from))
                    && let Some(routines) = reports[to].after.get_mut(&from)
                {
                    routines.insert(self.name(number));
                }
            }
        }
        reports
    }

    fn joins(&self) -> Vec<Note> {
        let names = |programs: &[usize]| {
            programs.iter().map(|program| self.name(*program)).collect::<Vec<String>>().join(", ")
        };
        let note = |join: &Join| {
            let (one, other) = (self.table(join.tables.0), self.table(join.tables.1));
            match &join.cause {
                Cause::Slice { program, .. } => Note {
                    sentence: format!(
                        "{one} and {other} are one block, because one slice of {} uses both",
                        self.name(*program)
                    ),
                    hint: "what is said of that procedure tells why",
                },
                Cause::Circle { there, back } => Note {
                    sentence: format!(
                        "{one} and {other} are one block: {} pass on values from the first to the second, {} from there back",
                        names(there),
                        names(back)
                    ),
                    hint: "let one of them read what it needs first, or get it as a parameter",
                },
            }
        };
        self.blocks.joins.iter().map(note).collect()
    }
}

/// For each instruction, the line of the routine's own body: of what it calls, the line of the call.
fn own_lines(program: &Procedure) -> Vec<Option<u32>> {
    let mut lines = vec![None; program.code.len()];
    let mut own = None;
    let mut next = program.lines.iter().peekable();
    for (at, line) in lines.iter_mut().enumerate() {
        while let Some(begun) = next.next_if(|line| line.from as usize <= at) {
            if begun.routine.is_none() && begun.line > 0 {
                own = Some(begun.line);
            }
        }
        *line = own;
    }
    lines
}

/// What goes over a tape.
fn passed(slices: &Slices, tape: &TapeUse, lines: &[Option<u32>]) -> Passed {
    let program = &slices.program;
    let shown = |value: &Expr| match (&program.code[tape.at], value) {
        // What a variable has just been set to says more than a number.
        (Instruction::Evaluate { into, expr }, Expr::Register(register))
            if into == register && program.variables.iter().all(|(named, _)| named != register) =>
        {
            program.shown(expr)
        }
        _ => program.shown(value),
    };
    let what = match tape.values.is_empty() {
        true => "whether there is a row".to_owned(),
        false => tape.values.iter().map(shown).collect::<Vec<String>>().join(", "),
    };
    Passed { from: tape.from, to: tape.to.clone(), what, line: lines.get(tape.at).copied().flatten() }
}

fn source(logged: &Logged, slices: &Slices, lines: &[Option<u32>]) -> Vec<SourceLine> {
    let mut statements = BTreeSet::new();
    statements.extend(logged.procedure.lines.iter().map(|line| line.line));
    let mut found: Vec<SourceLine> = logged
        .routine
        .definition
        .body
        .trim_end()
        .lines()
        .zip(1..)
        .map(|(text, number)| SourceLine {
            text: text.to_owned(),
            has_statement: statements.contains(&number),
            slices: BTreeSet::new(),
            is_kept: false,
        })
        .collect();
    let place = |at: usize| (lines.get(at).copied().flatten()? as usize).checked_sub(1);
    for (number, slice) in slices.slices.iter().enumerate() {
        for (at, is_own) in
            slice.own.iter().map(|at| (at, true)).chain(slice.pure.iter().map(|at| (at, false)))
        {
            if let Some(line) = place(*at).and_then(|line| found.get_mut(line)) {
                line.is_kept = true;
                if is_own {
                    line.slices.insert(number);
                }
            }
        }
    }
    found
}
