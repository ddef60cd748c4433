//! All interleavings of two and three transactions that look again at what they have read (`look`), in a
//! model of a few lines. A rule is right if every committed transaction has read the state before its own
//! time, and nothing waits for ever. Each way to break it is found.

use std::collections::HashSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Read(usize),
    Write(usize),
    Draw,
    Look,
    Publish,
}

use Step::{Draw, Look, Publish, Read, Write};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// A writer with an earlier time fails the look, and is awaited while it is committing.
    ByTime,
    /// Whatever is locked by another one fails the look, or has changed (Silo).
    ByLock,
    /// Broken: a writer that is committing is passed, whatever its time.
    CommitterPassed,
    /// Broken: a newest version that is later than the own time says that nothing earlier has happened.
    NewestOnly,
    /// Broken: the look comes before the time.
    LookBeforeDraw,
    /// Broken: the time comes before the locks.
    DrawBeforeLocks,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Outcome {
    Open,
    Committed,
    Aborted,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Running {
    at: usize,
    /// 0: not drawn.
    time: u8,
    outcome: Outcome,
    /// The rows read, and the time of the version.
    reads: Vec<(usize, u8)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    /// The times of the versions of each row, and who has it locked.
    rows: [(Vec<u8>, Option<usize>); 2],
    running: Vec<Running>,
    clock: u8,
}

#[derive(Default, Debug)]
struct Explored {
    ends: usize,
    aborts: usize,
    not_serial: usize,
    stuck: usize,
}

fn steps(program: &[Step], rule: Rule) -> Vec<Step> {
    let mut steps = program.to_vec();
    match rule {
        Rule::LookBeforeDraw => steps.extend([Look, Draw, Publish]),
        Rule::DrawBeforeLocks => {
            steps.insert(0, Draw);
            steps.extend([Look, Publish]);
        }
        _ => steps.extend([Draw, Look, Publish]),
    }
    steps
}

/// Whether the look of this transaction succeeds; `None` if it must wait.
fn look(state: &State, own: usize, rule: Rule) -> Option<bool> {
    let Running { time, reads, .. } = &state.running[own];
    let mut waits = false;
    for (row, seen) in reads {
        let (versions, lock) = &state.rows[*row];
        let newest = versions.iter().max();
        let visible = versions.iter().filter(|version| **version < *time).max();
        let is_right = match rule {
            Rule::ByLock => newest == Some(seen),
            Rule::NewestOnly => newest == Some(seen) || newest > Some(time),
            // As if its time were the latest.
            Rule::LookBeforeDraw => newest == Some(seen),
            _ => visible == Some(seen),
        };
        if !is_right {
            return Some(false);
        }
        let Some(other) = lock.filter(|other| *other != own) else { continue };
        let its_time = state.running[other].time;
        match rule {
            Rule::ByLock => return Some(false),
            Rule::CommitterPassed => {}
            _ => waits |= its_time != 0 && its_time < *time,
        }
    }
    (!waits).then_some(true)
}

/// The state after the next step of a transaction, unless it must wait.
fn take(state: &State, own: usize, step: Step, rule: Rule) -> Option<State> {
    let mut next = state.clone();
    next.running[own].at += 1;
    let mut fails = false;
    match step {
        Read(row) => {
            let newest = state.rows[row].0.iter().max().copied().unwrap_or(0);
            next.running[own].reads.push((row, newest));
        }
        Write(row) => {
            if state.rows[row].1.is_some_and(|other| other != own) {
                return None;
            }
            next.rows[row].1 = Some(own);
            // A row that was read and has changed is not written.
            let newest = state.rows[row].0.iter().max().copied();
            fails = state.running[own].reads.iter().any(|(read, seen)| *read == row && Some(*seen) != newest);
        }
        Draw => {
            next.clock += 1;
            next.running[own].time = next.clock;
        }
        Look => fails = !look(state, own, rule)?,
        Publish => {
            next.running[own].outcome = Outcome::Committed;
            let time = next.running[own].time;
            for (versions, lock) in &mut next.rows {
                if *lock == Some(own) {
                    versions.push(time);
                    *lock = None;
                }
            }
        }
    }
    if fails {
        next.running[own].outcome = Outcome::Aborted;
        next.rows.iter_mut().filter(|(_, lock)| *lock == Some(own)).for_each(|(_, lock)| *lock = None);
    }
    Some(next)
}

fn explore(programs: &[&[Step]], rule: Rule, explored: &mut Explored) {
    let programs: Vec<Vec<Step>> = programs.iter().map(|program| steps(program, rule)).collect();
    let new = Running { at: 0, time: 0, outcome: Outcome::Open, reads: Vec::new() };
    let row = (vec![0], None);
    let first = State { rows: [row.clone(), row], running: vec![new; programs.len()], clock: 0 };
    let mut seen = HashSet::from([first.clone()]);
    let mut stack = vec![first];
    while let Some(state) = stack.pop() {
        let open = |own: &usize| state.running[*own].outcome == Outcome::Open;
        let all: Vec<usize> = (0..programs.len()).filter(open).collect();
        let step = |own: usize| programs[own][state.running[own].at];
        let next: Vec<State> = all.iter().filter_map(|&own| take(&state, own, step(own), rule)).collect();
        if next.is_empty() && all.is_empty() {
            explored.ends += 1;
            explored.aborts += state.running.iter().filter(|one| one.outcome == Outcome::Aborted).count();
            explored.not_serial += usize::from(!is_serial(&state, &programs));
        } else if next.is_empty() {
            // Writers that wait for each other's locks are found and refused by the lock table.
            explored.stuck += usize::from(!all.iter().any(|&own| matches!(step(own), Write(_))));
        }
        stack.extend(next.into_iter().filter(|next| seen.insert(next.clone())));
    }
}

/// Whether each committed transaction has read the last version before its own time.
fn is_serial(state: &State, programs: &[Vec<Step>]) -> bool {
    let committed = |own: &usize| state.running[*own].outcome == Outcome::Committed;
    let own: Vec<usize> = (0..programs.len()).filter(committed).collect();
    own.iter().all(|reader| {
        let Running { time, reads, .. } = &state.running[*reader];
        reads.iter().all(|(row, seen)| {
            let writers =
                own.iter().filter(|writer| *writer != reader && programs[**writer].contains(&Write(*row)));
            let earlier = writers.map(|writer| state.running[*writer].time).filter(|other| other < time);
            earlier.max().unwrap_or(0) == *seen
        })
    })
}

const PROGRAMS: [&[Step]; 6] = [
    &[Read(0), Write(1)],
    &[Read(1), Write(0)],
    &[Read(0), Write(0)],
    &[Read(0), Read(1), Write(1)],
    &[Write(0), Write(1)],
    &[Read(0), Read(1)],
];

fn explore_all(rule: Rule, most: usize) -> Explored {
    let mut explored = Explored::default();
    for (number, first) in PROGRAMS.iter().enumerate() {
        for (number, second) in PROGRAMS.iter().enumerate().skip(number) {
            explore(&[first, second], rule, &mut explored);
            for third in PROGRAMS.iter().skip(number).filter(|_| most == 3) {
                explore(&[first, second, third], rule, &mut explored);
            }
        }
    }
    explored
}

#[test]
fn a_look_by_times_is_right_and_fails_less_often_than_one_by_locks() {
    let (by_time, by_lock) = (explore_all(Rule::ByTime, 3), explore_all(Rule::ByLock, 3));
    assert_eq!((by_time.not_serial, by_time.stuck), (0, 0), "{by_time:?}");
    assert_eq!((by_lock.not_serial, by_lock.stuck), (0, 0), "{by_lock:?}");
    assert!(by_time.aborts * by_lock.ends < by_lock.aborts * by_time.ends, "{by_time:?} {by_lock:?}");
}

#[test]
fn each_broken_rule_is_found() {
    for (rule, most) in [
        (Rule::CommitterPassed, 2),
        (Rule::NewestOnly, 3),
        (Rule::LookBeforeDraw, 2),
        (Rule::DrawBeforeLocks, 2),
    ] {
        let explored = explore_all(rule, most);
        assert!(explored.not_serial > 0, "{rule:?}: {explored:?}");
    }
}
