//! Reads a profile that callgrind has written: how many instructions each function has executed itself, by
//! the source file that its lines come from, and how many its calls have executed.
//!
//! Format: "Callgrind Format Specification" in the manual of valgrind. A cost line has positions, then costs.
//! It stands under `fn=`, a function, and under the last of `fl=` (the function's own file), `fi=` (the file
//! of an inlined line) and `fe=` (back to the function's). A cost line right after `calls=` is inclusive:
//! what the call to the last `cfn=` has executed with all that it called. All other cost lines are exclusive,
//! and add up to `totals:`. The line after `jump=` or `jcnd=` has positions only.
//!
//! What the specification leaves open was read from callgrind's source (`dump.c`): `fl=` is left out if the
//! function is in the same file as the function before, whatever was inlined there in between. So `fn=`
//! always returns to the file of the last `fl=`.
//!
//! Positions are skipped and need no decoding, whether they are absolute, relative (`+3`) or repeated (`*`).
//! Names are written once, as `(number) name`, later as `(number)`; files and functions count apart. A
//! function is known by its number, because functions of several files can have one name.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, bail, ensure};

/// What one thread has executed. Functions and files are numbered in the order in which they appear.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// The file in which each function begins. Functions that are only called have none.
    pub(super) beginnings: Vec<Option<usize>>,
    pub(super) files: Vec<String>,
    /// Instructions by the function that executed them and the file of their line.
    pub(super) own: BTreeMap<(usize, usize), u64>,
    pub(super) calls: BTreeMap<Edge, u64>,
}

/// All calls from the lines of one file in one function to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) caller: usize,
    pub(super) file: usize,
    pub(super) callee: usize,
}

impl Profile {
    /// Parses a file of callgrind.
    ///
    /// # Errors
    /// A line that the format does not have, or a total that is not the sum of the lines.
    pub(super) fn parse(text: &str) -> Result<Profile> {
        let mut reader = Reader { positions: 1, ..Reader::default() };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            reader.line(line).with_context(|| format!("line {} of callgrind's output: {line}", index + 1))?;
        }
        let total = reader.total.context("callgrind's output has no total")?;
        let sum = reader.profile.total();
        ensure!(sum == total, "the lines of callgrind's output add up to {sum}, the total is {total}");
        Ok(reader.profile)
    }

    /// All instructions.
    pub(super) fn total(&self) -> u64 {
        self.own.values().sum()
    }
}

/// The numbers that stand for names, and the indices that they got here.
#[derive(Debug, Default)]
struct Names(HashMap<String, usize>);

impl Names {
    /// Returns the index of `(number) name`, `(number)` or `name`, and the name if it is there.
    fn index<'t>(&mut self, text: &'t str) -> Result<(usize, Option<&'t str>)> {
        let (key, name) = match text.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => (number, name.trim()),
            _ => (text, text),
        };
        let next = self.0.len();
        let index = *self.0.entry(key.to_owned()).or_insert(next);
        ensure!(index < next || !name.is_empty(), "a number without a name");
        Ok((index, Some(name).filter(|name| !name.is_empty())))
    }
}

/// Where a line stands.
#[derive(Debug, Default)]
struct Reader {
    profile: Profile,
    function_names: Names,
    file_names: Names,
    /// How many positions are at the beginning of a cost line.
    positions: usize,
    /// Which of the costs is the number of instructions.
    event: usize,
    /// The file of the last `fl=`.
    own_file: Option<usize>,
    file: Option<usize>,
    function: Option<usize>,
    callee: Option<usize>,
    /// Set from `calls=` to the next line.
    is_call: bool,
    total: Option<u64>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<()> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            return self.cost_line(line);
        }
        ensure!(!self.is_call, "no costs after calls=");
        let specification =
            line.split_once('=').filter(|(key, _)| key.bytes().all(|byte| byte.is_ascii_lowercase()));
        if let Some((key, value)) = specification {
            return self.specification(key, value.trim());
        }
        let (key, value) = line.split_once(':').context("neither a position nor a header")?;
        self.header(key, value.trim())
    }

    fn header(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "positions" => self.positions = value.split_whitespace().count(),
            "events" => {
                let event = value.split_whitespace().position(|event| event == "Ir");
                self.event = event.context("instructions were not counted")?;
            }
            "totals" => self.total = Some(self.cost(value)?),
            _ => {}
        }
        Ok(())
    }

    fn specification(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "fl" => {
                self.own_file = Some(self.file_index(value)?);
                self.file = self.own_file;
            }
            "fi" | "fe" => self.file = Some(self.file_index(value)?),
            "fn" => {
                let function = self.function_index(value)?;
                self.file = self.own_file;
                self.profile.beginnings[function] = self.own_file;
                self.function = Some(function);
            }
            "cfn" => self.callee = Some(self.function_index(value)?),
            "calls" => self.is_call = true,
            // They may introduce names.
            "cfi" | "cfl" | "jfi" => _ = self.file_index(value)?,
            "jfn" => _ = self.function_index(value)?,
            "ob" | "cob" | "jump" | "jcnd" => {}
            _ => bail!("an unknown specification"),
        }
        Ok(())
    }

    fn cost_line(&mut self, line: &str) -> Result<()> {
        let function = self.function.context("costs before the first function")?;
        let file = self.file.context("costs before the first file")?;
        let mut rest = line;
        for _ in 0..self.positions {
            rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        }
        let cost = self.cost(rest)?;
        if std::mem::take(&mut self.is_call) {
            let callee = self.callee.context("a call before the first cfn=")?;
            *self.profile.calls.entry(Edge { caller: function, file, callee }).or_default() += cost;
        } else if cost > 0 {
            *self.profile.own.entry((function, file)).or_default() += cost;
        }
        Ok(())
    }

    /// Costs at the end of a line that are 0 are left out.
    fn cost(&self, costs: &str) -> Result<u64> {
        costs.split_whitespace().nth(self.event).map_or(Ok(0), |cost| cost.parse().context("a number"))
    }

    fn file_index(&mut self, text: &str) -> Result<usize> {
        let (index, name) = self.file_names.index(text)?;
        if index == self.profile.files.len() {
            self.profile.files.push(name.unwrap_or_default().to_owned());
        }
        Ok(index)
    }

    fn function_index(&mut self, text: &str) -> Result<usize> {
        let (index, _) = self.function_names.index(text)?;
        if index == self.profile.beginnings.len() {
            self.profile.beginnings.push(None);
        }
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every construct of the format.
    const OUTPUT: &str = "\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 17
cmd:  cost ycsb=2
part: 1
desc: Trigger: Program termination
positions: line
events: Dr Ir
summary: 7 140

ob=(1) /bin/cost
fl=(1) engine/src/db.rs
fn=(1) call
10 1 20
+3 0 5
fi=(2) engine/src/log.rs
-2 2 30
cob=(2) /lib/libc.so
cfi=(3) ???
cfn=(2) copy
calls=3 0
* 3 40
cfn=(1)
calls=1 +4
* 0 55
fe=(1)
jcnd=4/9 +7
*
jump=2 -3
12
*  1

fn=(3) append
5 0 15
cfi=(2)
cfn=(4) copy
calls=1 8
5 0 10
jfi=(4) engine/src/lsn.rs
jfn=(5) leave
jump=1 9
5

ob=(2)
fl=(3)
fn=(2)
0 3 40
fn=(4)
0 0 10
fl=plain.rs
fn=plain
1 0 20
totals: 7 140
";

    /// The functions in the order in which they appear.
    const CALL: usize = 0;
    const COPY: usize = 1;
    const APPEND: usize = 2;
    const OTHER_COPY: usize = 3;
    const LEAVE: usize = 4;
    const PLAIN: usize = 5;

    fn file(profile: &Profile, name: &str) -> usize {
        profile.files.iter().position(|file| file == name).expect("a file")
    }

    #[test]
    fn own_instructions_belong_to_the_file_of_their_line() {
        let profile = Profile::parse(OUTPUT).expect("a profile");
        let own = |function, path| profile.own.get(&(function, file(&profile, path))).copied();
        assert_eq!(own(CALL, "engine/src/db.rs"), Some(25));
        assert_eq!(own(CALL, "engine/src/log.rs"), Some(30));
        assert_eq!(own(APPEND, "engine/src/db.rs"), Some(15), "fn= returns to the file of the last fl=");
        assert_eq!(own(APPEND, "engine/src/log.rs"), None);
        assert_eq!(own(PLAIN, "plain.rs"), Some(20));
        assert_eq!(profile.total(), 140);
    }

    #[test]
    fn calls_are_known_by_their_line_and_the_number_of_the_function() {
        let profile = Profile::parse(OUTPUT).expect("a profile");
        let (engine, log) = (file(&profile, "engine/src/db.rs"), file(&profile, "engine/src/log.rs"));
        let expected = BTreeMap::from([
            (Edge { caller: CALL, file: log, callee: COPY }, 40),
            (Edge { caller: CALL, file: log, callee: CALL }, 55),
            (Edge { caller: APPEND, file: engine, callee: OTHER_COPY }, 10),
        ]);
        assert_eq!(profile.calls, expected);
        assert_eq!(profile.beginnings[COPY], Some(file(&profile, "???")));
        assert_eq!(profile.beginnings[LEAVE], None);
    }

    #[test]
    fn two_positions_are_skipped() {
        let text = "positions: instr line\nevents: Ir\nfl=a\nfn=f\n0x401 12 7\n+4 * 3\ntotals: 10\n";
        assert_eq!(Profile::parse(text).expect("a profile").total(), 10);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let refused = |text: &str| format!("{:#}", Profile::parse(text).expect_err("an error"));
        let head = "events: Ir\nfl=a\nfn=f\n";
        assert!(refused(&format!("{head}1 7\ntotals: 8\n")).contains("add up to 7, the total is 8"));
        assert!(refused(&format!("{head}1 7\n")).contains("no total"));
        assert!(refused(&format!("{head}1 x\ntotals: 8\n")).contains("line 4 of callgrind's output: 1 x"));
        assert!(refused(&format!("{head}xx=1\n")).contains("unknown specification"));
        assert!(refused(&format!("{head}calls=1 2\nfn=g\n")).contains("no costs after calls="));
        assert!(refused("events: Ir\n1 7\n").contains("before the first function"));
        assert!(refused("events: Ir\nfn=(3)\n").contains("a number without a name"));
        assert!(refused("events: Dr\n").contains("instructions were not counted"));
    }
}
