//! PostgreSQL's isolation specifications (`src/test/isolation/specs` of its source), as scripts for several
//! sessions. The results of each permutation are compared between Hyades and a running PostgreSQL.
//!
//! ```text
//! HYADES_ISOLATION_SPECS=.../specs HYADES_RECORD_PSQL="-h /run/postgresql -U me -d scratch" \
//!     cargo test -p hyades isolation_specifications -- --nocapture
//! ```
//!
//! prints for each specification whether all its permutations give the same answers. A specification with a
//! statement that Hyades lacks is left out. So is, on both sides, a statement for a session that waits.

use std::collections::BTreeMap;
use std::path::Path;

use super::sessions::{Hyades, Postgres, answers};
use crate::statement::split::split;

/// Further permutations of a specification are left out.
const MOST_PERMUTATIONS: usize = 150;

#[derive(Default)]
struct Specification {
    setup: Vec<String>,
    teardown: Vec<String>,
    sessions: Vec<SessionSteps>,
    permutations: Vec<Vec<String>>,
}

#[derive(Default)]
struct SessionSteps {
    name: String,
    setup: Vec<String>,
    steps: Vec<(String, String)>,
    teardown: Vec<String>,
}

/// Words, quoted names, and blocks of SQL in braces.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.trim_start().chars().next() {
        rest = rest.trim_start();
        let length = match first {
            '#' => {
                rest = rest.split_once('\n').map_or("", |(_, after)| after);
                continue;
            }
            '{' => rest.find('}').map_or(rest.len(), |end| end + 1),
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            '(' => {
                // The markers of a step only control how PostgreSQL's tester prints it.
                rest = rest.split_once(')').map_or("", |(_, after)| after);
                continue;
            }
            _ => rest.find(|c: char| c.is_whitespace() || "{\"(#".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token.trim_matches('"').to_owned());
        rest = after;
    }
    tokens
}

fn parse(text: &str) -> Specification {
    let mut specification = Specification::default();
    let mut tokens = tokens(text).into_iter().peekable();
    let block = |token: Option<String>| token.unwrap_or_default().trim_matches(['{', '}']).to_owned();
    while let Some(token) = tokens.next() {
        let session = specification.sessions.last_mut();
        match (token.as_str(), session) {
            ("setup", Some(session)) => session.setup.push(block(tokens.next())),
            ("setup", None) => specification.setup.push(block(tokens.next())),
            ("teardown", Some(session)) => session.teardown.push(block(tokens.next())),
            ("teardown", None) => specification.teardown.push(block(tokens.next())),
            ("session", _) => {
                let name = tokens.next().unwrap_or_default();
                specification.sessions.push(SessionSteps { name, ..SessionSteps::default() });
            }
            ("step", Some(session)) => {
                let name = tokens.next().unwrap_or_default();
                session.steps.push((name, block(tokens.next())));
            }
            ("permutation", _) => {
                let is_step = |token: &String| !["permutation", "session"].contains(&token.as_str());
                let steps = std::iter::from_fn(|| tokens.next_if(is_step)).collect();
                specification.permutations.push(steps);
            }
            _ => {}
        }
    }
    if specification.permutations.is_empty() {
        let sessions = &specification.sessions;
        let names = |session: &SessionSteps| session.steps.iter().map(|(name, _)| name.clone()).collect();
        let all: Vec<Vec<String>> = sessions.iter().map(names).collect();
        let mut next = vec![0; all.len()];
        interleave(&all, &mut next, &mut Vec::new(), &mut specification.permutations);
    }
    specification
}

fn interleave(
    all: &[Vec<String>],
    next: &mut Vec<usize>,
    so_far: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) {
    if found.len() >= MOST_PERMUTATIONS {
        return;
    }
    if all.iter().zip(&*next).all(|(steps, next)| *next == steps.len()) {
        found.push(so_far.clone());
    }
    for session in 0..all.len() {
        let Some(step) = all[session].get(next[session]) else { continue };
        so_far.push(step.clone());
        next[session] += 1;
        interleave(all, next, so_far, found);
        next[session] -= 1;
        so_far.pop();
    }
}

/// The scripts of all permutations.
fn scripts(specification: &Specification) -> Vec<String> {
    let steps: BTreeMap<&str, (&str, &str)> = specification
        .sessions
        .iter()
        .flat_map(|session| session.steps.iter().map(|(name, sql)| (&**name, (&*session.name, &**sql))))
        .collect();
    let mut scripts = Vec::new();
    for permutation in specification.permutations.iter().take(MOST_PERMUTATIONS) {
        let mut script = String::new();
        let mut say = |session: &str, sql: &str| {
            for (_, statement) in split(sql).unwrap_or_default() {
                let uncommented = statement.lines().map(|line| line.split("--").next().unwrap_or_default());
                let words: Vec<&str> = uncommented.flat_map(str::split_whitespace).collect();
                if !words.is_empty() {
                    script.push_str(&format!("{session}: {};\n", words.join(" ").trim_end_matches(';')));
                }
            }
        };
        specification.setup.iter().for_each(|sql| say("setup", sql));
        for session in &specification.sessions {
            session.setup.iter().for_each(|sql| say(&session.name, sql));
        }
        for step in permutation {
            if let Some((session, sql)) = steps.get(step.as_str()) {
                say(session, sql);
            }
        }
        for session in &specification.sessions {
            // A session that still waits ends after the others have.
            say(&session.name, "rollback");
        }
        for session in &specification.sessions {
            say(&session.name, "rollback");
            session.teardown.iter().for_each(|sql| say(&session.name, sql));
        }
        specification.teardown.iter().for_each(|sql| say("setup", sql));
        scripts.push(script);
    }
    scripts
}

/// Whether an answer says that Hyades lacks or does not know something.
fn is_unsupported(answer: &str) -> bool {
    ["ERROR 0A000", "ERROR 42601", "ERROR 42883", "ERROR 42704", "ERROR 42P01", "ERROR 42P02"]
        .iter()
        .any(|error| answer.contains(error))
}

#[test]
fn isolation_specifications_answer_as_postgresql_does() {
    let (Ok(folder), Ok(arguments)) =
        (std::env::var("HYADES_ISOLATION_SPECS"), std::env::var("HYADES_RECORD_PSQL"))
    else {
        // Without a PostgreSQL, checks that a specification without permutations has all of them.
        let text = "setup { create table t (a int); }\nsession s1\nstep a { select 1; }\nstep b { commit; }\n\
                    session \"s2\"\nstep c { select 2; }";
        assert_eq!(scripts(&parse(text)).len(), 3);
        return;
    };
    let only = std::env::var("HYADES_SCRIPT").unwrap_or_default();
    let mut paths: Vec<_> = std::fs::read_dir(Path::new(&folder))
        .expect("the specifications are there")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "spec"))
        .filter(|path| path.to_string_lossy().contains(&only))
        .collect();
    paths.sort();
    let (mut same, mut different, mut left_out) = (0, 0, 0);
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let scripts = scripts(&parse(&std::fs::read_to_string(&path).expect("a readable file")));
        let ours: Vec<String> = scripts.iter().map(|script| answers(script, &mut Hyades::new())).collect();
        if ours.iter().any(|answer| is_unsupported(answer)) {
            left_out += 1;
            continue;
        }
        let differs = |(script, ours): &(&String, &String)| {
            let theirs = answers(script, &mut Postgres::new(&arguments));
            if theirs != **ours && !only.is_empty() {
                println!("--- PostgreSQL\n{theirs}\n--- Hyades\n{ours}");
            }
            theirs != **ours
        };
        let wrong = scripts.iter().zip(&ours).filter(differs).count();
        println!("{name}: {wrong} of {} permutations differ", scripts.len());
        if wrong == 0 { same += 1 } else { different += 1 }
    }
    println!("{same} the same, {different} not, {left_out} with statements that Hyades lacks");
}
