//! What exists from the start: functions, aggregates, operators and casts, with PostgreSQL's numbers.
//!
//! The rows are PostgreSQL's, as far as the object exists here (a test compiles a use of each), so that
//! clients that complete names, or join these catalogs, find what they can use. Beside them `pg_proc` has the
//! functions to which the other catalogs refer, such as those that read and print types.

use std::collections::HashMap;
use std::sync::LazyLock;

use hyades_types::definition::{RoutineDefinition, SupportFunction};
use hyades_types::identifier::quoted_identifier;
use hyades_types::value::{SqlType, Value};

use super::object_id::{self, OWNER, PG_CATALOG};
use super::row::{self, NamedRow, int2, int4, letters, oid, oids, or_null, text, texts, truth};
use super::snapshot::System;

/// A row of PostgreSQL's `pg_proc`.
pub(super) struct BuiltIn {
    pub(super) oid: u32,
    pub(super) name: &'static str,
    /// The types of the inputs.
    pub(super) arguments: Vec<u32>,
    words: Words,
}

/// A line of a file: words in the order of its head.
struct Words(Vec<&'static str>);

impl Words {
    fn of(line: &'static str) -> Words {
        Words(line.split(' ').collect())
    }

    /// The words of each line that is not a comment.
    fn all(file: &'static str) -> impl Iterator<Item = Words> {
        file.lines().filter(|line| !line.starts_with('#')).map(Words::of)
    }

    fn word(&self, at: usize) -> &'static str {
        self.0.get(at).copied().unwrap_or("-")
    }

    fn number(&self, at: usize) -> u32 {
        self.word(at).parse().unwrap_or(0)
    }

    fn float(&self, at: usize) -> Value {
        Value::Real(self.word(at).parse().unwrap_or(0.0))
    }

    fn oid(&self, at: usize) -> Value {
        oid(self.number(at))
    }

    fn truth(&self, at: usize) -> Value {
        truth(self.word(at) == "t")
    }

    fn text(&self, at: usize) -> Value {
        text(self.word(at))
    }

    /// A function, written as its name and number.
    fn function(&self, at: usize) -> Value {
        let (name, number) = self.word(at).rsplit_once('/').unwrap_or(("-", "0"));
        row::function((name, number.parse().unwrap_or(0)))
    }

    fn list(&self, at: usize) -> Option<Vec<&'static str>> {
        Some(self.word(at)).filter(|word| *word != "-").map(|word| word.split(',').collect())
    }

    fn oids(&self, at: usize) -> Option<Vec<u32>> {
        self.list(at).map(|list| list.into_iter().filter_map(|word| word.parse().ok()).collect())
    }

    /// A text after an equals sign, or NULL.
    fn given(&self, at: usize) -> Value {
        or_null(self.word(at).strip_prefix('='), text)
    }
}

/// Places in a line of `functions.txt`.
const IS_SET: usize = 11;
const RESULT: usize = 15;
const INPUTS: usize = 16;
const ALL_ARGUMENTS: usize = 17;
const MODES: usize = 18;
const NAMES: usize = 19;

static FUNCTIONS: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
    let function = |words: Words| BuiltIn {
        oid: words.number(0),
        name: words.word(1),
        arguments: words.oids(INPUTS).unwrap_or_default(),
        words,
    };
    Words::all(include_str!("functions.txt")).map(function).collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static BuiltIn>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&str, Vec<&BuiltIn>> = HashMap::new();
    for function in FUNCTIONS.iter() {
        by_name.entry(function.name).or_default().push(function);
    }
    by_name
});

/// The number of direct arguments of each ordered-set aggregate.
static DIRECT_ARGUMENTS: LazyLock<HashMap<u32, usize>> = LazyLock::new(|| {
    let ordered = Words::all(include_str!("aggregates.txt")).filter(|words| words.word(1) != "n");
    ordered.map(|words| (words.number(0), words.number(2) as usize)).collect()
});

/// PostgreSQL's comments on what is listed: number, catalog and text.
pub(super) static COMMENTS: LazyLock<Vec<(u32, u32, &str)>> = LazyLock::new(|| {
    let lines = include_str!("descriptions.txt").lines().filter(|line| !line.starts_with('#'));
    let comment = |line: &'static str| {
        let (catalog, rest) = line.split_once(' ')?;
        let (own, text) = rest.split_once(' ')?;
        Some((own.parse().ok()?, catalog.parse().ok()?, text))
    };
    lines.filter_map(comment).collect()
});

/// The function with this number.
pub(super) fn by_oid(number: u32) -> Option<&'static BuiltIn> {
    let at = FUNCTIONS.binary_search_by_key(&number, |function| function.oid).ok()?;
    FUNCTIONS.get(at)
}

/// The functions of this name.
pub(super) fn named(name: &str) -> &'static [&'static BuiltIn] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

impl BuiltIn {
    fn row(&self) -> NamedRow {
        let words = &self.words;
        vec![
            ("oid", oid(self.oid)),
            ("proname", text(self.name)),
            ("pronamespace", oid(PG_CATALOG)),
            ("proowner", oid(OWNER)),
            ("prolang", words.oid(3)),
            ("procost", words.float(4)),
            ("prorows", words.float(5)),
            ("provariadic", words.oid(6)),
            ("prosupport", words.function(7)),
            ("prokind", words.text(8)),
            ("proleakproof", words.truth(9)),
            ("proisstrict", words.truth(10)),
            ("proretset", words.truth(IS_SET)),
            ("provolatile", words.text(12)),
            ("proparallel", words.text(13)),
            ("pronargs", int2(self.arguments.len())),
            ("pronargdefaults", int2(words.number(14))),
            ("prorettype", words.oid(RESULT)),
            ("proargtypes", oids(self.arguments.iter().copied())),
            ("proallargtypes", or_null(words.oids(ALL_ARGUMENTS), oids)),
            ("proargmodes", or_null(words.list(MODES), letters)),
            ("proargnames", or_null(words.list(NAMES), texts)),
            ("prosrc", words.text(20)),
        ]
    }

    /// `pg_get_function_arguments`, without defaults.
    pub(super) fn shown_arguments(&self, system: &System) -> String {
        let types = self.words.oids(ALL_ARGUMENTS).unwrap_or_else(|| self.arguments.clone());
        let modes = self.words.list(MODES).unwrap_or_default();
        let names = self.words.list(NAMES).unwrap_or_default();
        let mut shown = Vec::new();
        for (at, sql_type) in types.into_iter().enumerate() {
            let mode = match modes.get(at).copied() {
                Some("o") => "OUT ",
                Some("b") => "INOUT ",
                Some("v") => "VARIADIC ",
                Some("t") => continue,
                _ => "",
            };
            let name = names.get(at).filter(|name| !name.is_empty());
            let name = name.map_or(String::new(), |name| format!("{name} "));
            shown.push(format!("{mode}{name}{}", system.type_text(sql_type).unwrap_or_default()));
        }
        // The inputs of an ordered-set aggregate are its own, and those that it orders.
        match DIRECT_ARGUMENTS.get(&self.oid).and_then(|count| shown.split_at_checked(*count)) {
            Some((direct, ordered)) => {
                // Any number of arguments are both.
                let ordered = if ordered.is_empty() { direct } else { ordered };
                format!("{} ORDER BY {}", direct.join(", "), ordered.join(", ")).trim_start().to_owned()
            }
            None => shown.join(", "),
        }
    }

    /// `pg_get_function_result`
    pub(super) fn shown_result(&self, system: &System) -> String {
        let set = if self.words.word(IS_SET) == "t" { "SETOF " } else { "" };
        format!("{set}{}", system.type_text(self.words.number(RESULT)).unwrap_or_default())
    }

    /// As `regprocedure` shows it.
    pub(super) fn signature(&self, system: &System) -> String {
        let type_text = |sql_type: &u32| system.type_text(*sql_type).unwrap_or_default();
        let types: Vec<String> = self.arguments.iter().map(type_text).collect();
        format!("{}({})", quoted_identifier(self.name), types.join(","))
    }
}

/// What a call of one of PostgreSQL's functions needs to be found.
pub(crate) struct Callable {
    /// The numbers of the types of its parameters.
    pub(crate) types: &'static [u32],
    /// The number of the type of its result.
    pub(crate) result: u32,
    pub(crate) is_strict: bool,
}

/// PostgreSQL's functions of this name that are no aggregates.
pub(crate) fn callable(name: &str) -> impl Iterator<Item = Callable> {
    let functions = named(name).iter().filter(|function| function.words.word(8) == "f");
    functions.map(|function| Callable {
        types: &function.arguments,
        result: function.words.number(RESULT),
        is_strict: function.words.word(10) == "t",
    })
}

/// Whether PostgreSQL itself has a cast between these types; if so, whether it converts nothing, and is
/// applied wherever that is needed.
pub(crate) fn cast_between(source: SqlType, target: SqlType) -> Option<bool> {
    let mut casts = Words::all(include_str!("casts.txt"));
    let found = casts.find(|words| words.number(1) == source.oid() && words.number(2) == target.oid())?;
    Some(found.word(4) == "i" && found.word(5) == "b")
}

/// The operator that calls this function.
pub(crate) fn operator_of(name: &str, types: &[SqlType]) -> Option<&'static str> {
    static OPERATORS: LazyLock<Vec<Words>> =
        LazyLock::new(|| Words::all(include_str!("operators.txt")).collect());
    let wanted = named(name).iter().find(|function| {
        let own = function.arguments.iter().copied();
        own.eq(types.iter().map(|sql_type| sql_type.oid()))
    })?;
    let operator = OPERATORS.iter().find(|words| {
        words.word(10).rsplit_once('/').is_some_and(|(_, number)| number.parse() == Ok(wanted.oid))
    })?;
    Some(operator.word(1))
}

/// The number of a function that an aggregate or a cast uses.
pub(super) fn number_of(system: &System, function: &SupportFunction) -> u32 {
    if function.name.schema == "pg_catalog" {
        let types: Vec<u32> = function.types.iter().map(|sql_type| sql_type.oid()).collect();
        let named = named(&function.name.name);
        return named.iter().find(|own| own.arguments == types).map_or(0, |own| own.oid);
    }
    let is_it = |other: &RoutineDefinition| other.name == function.name && other.identity() == function.types;
    let mut routines = system.facts.routines.iter();
    routines.find(|other| is_it(&other.definition)).map_or(0, |other| object_id::of_routine(other.id))
}

/// The rows of `pg_proc`.
pub(super) fn functions() -> Vec<NamedRow> {
    FUNCTIONS.iter().map(BuiltIn::row).collect()
}

/// The rows of `pg_aggregate`.
pub(super) fn aggregates(system: &System) -> Vec<NamedRow> {
    const TRANSITIONS: [&str; 8] = [
        "aggtransfn",
        "aggfinalfn",
        "aggcombinefn",
        "aggserialfn",
        "aggdeserialfn",
        "aggmtransfn",
        "aggminvtransfn",
        "aggmfinalfn",
    ];
    let row = |words: Words| {
        let own = by_oid(words.number(0)).map(|function| system.shown_built_in(function));
        let mut row = vec![
            ("aggfnoid", row::function((&own.unwrap_or_default(), words.number(0)))),
            ("aggkind", words.text(1)),
            ("aggnumdirectargs", int2(words.number(2))),
        ];
        row.extend(TRANSITIONS.into_iter().zip(3..).map(|(column, at)| (column, words.function(at))));
        row.extend([
            ("aggfinalextra", words.truth(11)),
            ("aggmfinalextra", words.truth(12)),
            ("aggfinalmodify", words.text(13)),
            ("aggmfinalmodify", words.text(14)),
            ("aggsortop", words.oid(15)),
            ("aggtranstype", words.oid(16)),
            ("aggtransspace", int4(words.number(17))),
            ("aggmtranstype", words.oid(18)),
            ("aggmtransspace", int4(words.number(19))),
            ("agginitval", words.given(20)),
            ("aggminitval", words.given(21)),
        ]);
        row
    };
    Words::all(include_str!("aggregates.txt")).map(row).collect()
}

/// The number of the operator of this name that takes values of one type.
pub(super) fn operator_on(name: &str, sql_type: u32) -> u32 {
    let name = name.trim_start_matches("pg_catalog.");
    let mut operators = Words::all(include_str!("operators.txt"));
    let is_it =
        |words: &Words| words.word(1) == name && words.number(5) == sql_type && words.number(6) == sql_type;
    operators.find(is_it).map_or(0, |words| words.number(0))
}

/// `pg_operator`
pub(super) fn operators(_system: &System) -> Vec<NamedRow> {
    let row = |words: Words| {
        vec![
            ("oid", words.oid(0)),
            ("oprname", words.text(1)),
            ("oprnamespace", oid(PG_CATALOG)),
            ("oprowner", oid(OWNER)),
            ("oprkind", words.text(2)),
            ("oprcanmerge", words.truth(3)),
            ("oprcanhash", words.truth(4)),
            ("oprleft", words.oid(5)),
            ("oprright", words.oid(6)),
            ("oprresult", words.oid(7)),
            ("oprcom", words.oid(8)),
            ("oprnegate", words.oid(9)),
            ("oprcode", words.function(10)),
            ("oprrest", words.function(11)),
            ("oprjoin", words.function(12)),
        ]
    };
    Words::all(include_str!("operators.txt")).map(row).collect()
}

/// The rows of `pg_cast`.
pub(super) fn casts() -> Vec<NamedRow> {
    let row = |words: Words| {
        vec![
            ("oid", words.oid(0)),
            ("castsource", words.oid(1)),
            ("casttarget", words.oid(2)),
            ("castfunc", words.oid(3)),
            ("castcontext", words.text(4)),
            ("castmethod", words.text(5)),
        ]
    };
    Words::all(include_str!("casts.txt")).map(row).collect()
}

/// `pg_get_keywords`, in alphabetical order.
pub(super) fn keywords(_system: &System) -> Vec<NamedRow> {
    let described = |category| match category {
        "U" => "unreserved",
        "C" => "unreserved (cannot be function or type name)",
        "T" => "reserved (can be function or type name)",
        _ => "reserved",
    };
    let mut all = Vec::new();
    for line in Words::all(include_str!("keywords.txt")) {
        let (category, is_label) = (line.word(0), line.word(1) == "t");
        all.extend(line.0.iter().skip(2).map(|word| (*word, category, is_label)));
    }
    all.sort_unstable();
    let row = |(word, category, is_label): (&str, &'static str, bool)| {
        vec![
            ("word", text(word)),
            ("catcode", text(category)),
            ("barelabel", truth(is_label)),
            ("catdesc", text(described(category))),
            ("baredesc", text(if is_label { "can be bare label" } else { "requires AS" })),
        ]
    };
    all.into_iter().map(row).collect()
}
