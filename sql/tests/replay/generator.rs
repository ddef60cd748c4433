//! Procedures generated from a number: every function of the catalogue, in every place where an expression
//! may stand.
//!
//! A *subject* is an expression around one function, cast or value of the session. A *clause* is a
//! procedure with a place for one. The numbers go through all pairs in an order given by the seed, so that
//! a few hundred are spread over everything and some ten thousand cover it all, each time with other
//! arguments: literals, variables, columns of the current row, and other subjects. Results of subjects go
//! to table columns of their own type: a cast to text would itself look at the time zone.

#[path = "columns.rs"]
mod columns;

use hyades::SqlType;
use hyades::types::function::{LooksAt, Signature, TypePattern, lookup, names};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub(crate) use columns::tables;
use columns::{COLUMNS, column_of, named};

/// An expression around one thing. `{vi}` and similar marks are places for arguments of that column's type.
struct Subject {
    template: String,
    /// Index into [`COLUMNS`] of the column that takes its result.
    column: usize,
    looks_at: LooksAt,
}

/// A procedure `p<number>(k int)`, and the statements that it needs before it.
pub(crate) struct Program {
    pub(crate) clause: &'static str,
    pub(crate) setup: Vec<String>,
    /// What its expressions look at.
    pub(crate) looks_at: LooksAt,
    pub(crate) create: String,
    pub(crate) call: String,
}

/// The names that an expression may use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// None: in a DEFAULT.
    Bare,
    Variables,
    /// Variables and columns of the row `s`.
    Row,
}

pub(crate) struct Generator {
    random: StdRng,
    seed: u64,
    subjects: Vec<Subject>,
    /// What the current program looks at.
    looks_at: LooksAt,
}

/// The mark for an argument, converted if the column's type is not quite that of the signature.
fn argument(pattern: TypePattern) -> String {
    match pattern {
        TypePattern::Exact(SqlType::SmallInt) => "({vi})::smallint".to_owned(),
        TypePattern::Exact(SqlType::Real) => "({vd})::real".to_owned(),
        TypePattern::Exact(SqlType::Array(_)) => "array[{vt}, {vt}]".to_owned(),
        TypePattern::Exact(SqlType::Char(_)) => "({vt})::char(9)".to_owned(),
        TypePattern::Exact(sql_type) => format!("{{{}}}", COLUMNS[column_of(sql_type).expect("no array")].0),
        TypePattern::Any => "{vz}".to_owned(),
        TypePattern::Common => "{vn}".to_owned(),
    }
}

fn subject_of(name: &str, signature: &Signature) -> Subject {
    let mut arguments: Vec<String> = signature.arguments.iter().map(|pattern| argument(*pattern)).collect();
    if signature.is_variadic {
        arguments.extend(arguments.last().cloned());
    }
    let template = match (name, arguments.as_slice()) {
        ("current_timestamp" | "current_date" | "localtime" | "localtimestamp", _) => name.to_owned(),
        ("extract", [_, time]) => format!("extract({{field}} from {time})"),
        ("date_part", [_, time]) => format!("date_part('{{field}}', {time})"),
        ("date_trunc", [_, rest @ ..]) => {
            let rest: Vec<&str> = rest.iter().map(|one| if one == "{vt}" { "{zone}" } else { one }).collect();
            format!("date_trunc('{{unit}}', {})", rest.join(", "))
        }
        ("timezone", [_, time]) => format!("timezone({{zone}}, {time})"),
        ("position", [part, whole]) => format!("position({part} in {whole})"),
        ("format", [_]) => "format('x%%y')".to_owned(),
        ("format", [_, values @ ..]) => format!("format('%s %s', {})", values.join(", ")),
        ("encode", _) => "encode({vy}, 'base64')".to_owned(),
        ("decode", _) => "decode(encode({vy}, 'hex'), 'hex')".to_owned(),
        ("to_char", [number, _])
            if ["{vn}", "{vi}", "{vl}", "{vd}", "({vd})::real"].contains(&number.as_str()) =>
        {
            format!("to_char({number}, '9990.99')")
        }
        ("to_number", _) => "to_number(({vn})::text, 'S9999999.9999')".to_owned(),
        ("to_date", _) => "to_date(({va})::text, 'YYYY-MM-DD')".to_owned(),
        ("to_timestamp", [_, _]) => "to_timestamp(({vs})::text, 'YYYY-MM-DD HH24:MI:SS')".to_owned(),
        ("regexp_match" | "regexp_like" | "regexp_split_to_array", [text, pattern, _]) => {
            format!("{name}({text}, {pattern}, 'i')")
        }
        ("regexp_replace", [_, _, _, rest @ ..]) => {
            let more = ["", ", 1", ", 1, 2", ", 1, 2, 'i'"][rest.len()];
            format!("regexp_replace({{vt}}, '[aeiou]', {{vt}}{more})")
        }
        ("regexp_count" | "regexp_instr" | "regexp_substr", [_, _, rest @ ..]) => {
            let own = match name {
                "regexp_count" => ["1", "'i'"].as_slice(),
                "regexp_instr" => &["1", "2", "1", "'i'", "0"],
                _ => &["1", "2", "'i'", "0"],
            };
            let more: String = own.iter().take(rest.len()).map(|one| format!(", {one}")).collect();
            format!("{name}({{vt}}, '[a-z]'{more})")
        }
        ("substring", [text, pattern, escape]) if escape == "{vt}" => {
            format!("substring({text}, {pattern}, '#')")
        }
        ("jsonb_set_lax", _) => "jsonb_set_lax({vx}, array[{vt}], {vx}, {vb}, 'delete_key')".to_owned(),
        (symbol, [left, right]) if !symbol.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            format!("({left} {symbol} {right})")
        }
        ("acosh", _) => "acosh(1 + abs({vd}))".to_owned(),
        ("to_char", [time, _]) => format!("to_char({time}, 'HH24:MI:SS.US')"),
        ("like_escape", _) => "like_escape({vt}, '#')".to_owned(),
        ("split_part", _) => "split_part({vt}, ' ', {vi})".to_owned(),
        _ => format!("{name}({})", arguments.join(", ")),
    };
    if let TypePattern::Exact(SqlType::Array(element)) = signature.result {
        let column = column_of(element.sql_type()).expect("no array of arrays");
        return Subject {
            template: format!("({template})[1]"),
            column,
            looks_at: signature.function.looks_at(),
        };
    }
    let column = match signature.result {
        TypePattern::Exact(sql_type) => column_of(sql_type).expect("no array"),
        TypePattern::Any | TypePattern::Common => named("vn"),
    };
    Subject { template, column, looks_at: signature.function.looks_at() }
}

/// Sums and conversions of times: template, column, and what they look at.
const OF_TIMES: [(&str, &str, LooksAt); 13] = [
    ("({va} + {vi})", "va", LooksAt::NOTHING),
    ("({va} + {vv})", "vs", LooksAt::NOTHING),
    ("({vs} - {vv})", "vs", LooksAt::NOTHING),
    ("({vo} + {vv})", "vo", LooksAt::NOTHING),
    ("({va} + {vo})", "vs", LooksAt::NOTHING),
    ("({vz})::time", "vo", LooksAt::IDENTITY),
    ("({vs})::timestamp(1)", "vs", LooksAt::NOTHING),
    ("({vz} + {vv})", "vz", LooksAt::IDENTITY),
    ("({vz} - {vz})", "vv", LooksAt::NOTHING),
    ("({vv} * {vd})", "vv", LooksAt::NOTHING),
    ("(- {vv})", "vv", LooksAt::NOTHING),
    ("({vv})::text", "vt", LooksAt::NOTHING),
    ("({va} - '2020-01-01'::date)", "vi", LooksAt::NOTHING),
];

/// Conversions to and from JSON.
const OF_JSON: [(&str, &str, LooksAt); 10] = [
    ("({vx} > {vx})", "vb", LooksAt::NOTHING),
    ("to_json({vz})", "vj", LooksAt::IDENTITY),
    ("to_jsonb(array[{vz}, {vz}])", "vx", LooksAt::IDENTITY),
    ("to_jsonb({vt})", "vx", LooksAt::IDENTITY),
    ("array_to_json(array[{vj}])", "vj", LooksAt::IDENTITY),
    ("({vj})::jsonb", "vx", LooksAt::NOTHING),
    ("({vx})::json", "vj", LooksAt::NOTHING),
    ("({vx})[{vt}]", "vx", LooksAt::NOTHING),
    (
        "(select jsonb_object_agg(key, value) from jsonb_each(case when jsonb_typeof({vx}) = 'object' then {vx} end))",
        "vx",
        LooksAt::IDENTITY,
    ),
    (
        "(select json_agg(e order by e::text) from json_array_elements(to_json(array[{vd}, {vd}])) e)",
        "vj",
        LooksAt::IDENTITY,
    ),
];

/// Subjects other than functions of the catalogue: template, column, and what they look at.
fn others() -> Vec<Subject> {
    let identity = LooksAt::IDENTITY;
    let nothing = LooksAt::NOTHING;
    [
        ("current_user", "vt", identity),
        ("session_user", "vt", identity),
        ("user", "vt", identity),
        ("current_role", "vt", identity),
        ("current_database()", "vt", identity),
        ("current_catalog", "vt", identity),
        ("current_schema", "vt", nothing),
        ("({vz})::text", "vt", identity),
        ("({vz})::date", "va", identity),
        ("({vz})::timestamp", "vs", identity),
        ("({vs})::timestamptz", "vz", identity),
        ("({va})::timestamptz", "vz", identity),
        ("('2024-07-01 12:0' || {vi})::timestamptz", "vz", identity),
        ("'2024-07-01 12:00'::timestamptz", "vz", identity),
        ("('2024-07-0' || {vi})::date", "va", nothing),
        ("format_type({vi}::oid, {vi})", "vt", LooksAt::CATALOG),
        ("('pg_' || 'class')::regclass::oid::bigint", "vl", LooksAt::CATALOG),
        ("('no' || 'w')::timestamptz", "vz", LooksAt::LOCAL_TIME),
        ("('tod' || 'ay')::date", "va", LooksAt::LOCAL_TIME),
        ("('tomorrow 10:1' || {vi})::timestamp", "vs", LooksAt::LOCAL_TIME),
        ("((chr(123) || 'yesterday' || chr(125))::timestamptz[])[1]", "vz", LooksAt::LOCAL_TIME),
        ("({vz} at time zone {zone})", "vs", nothing),
        ("({vd} ^ {vd})", "vd", nothing),
        ("({vn} ^ {vn})", "vn", nothing),
        ("({vn} / {vn})", "vn", nothing),
        ("({vd} / {vd})", "vd", nothing),
        ("({vd})::numeric", "vn", nothing),
        ("({vn})::double precision", "vd", nothing),
        ("({vd})::text", "vt", nothing),
        ("({vt} || {vi})", "vt", nothing),
        ("({vt} like '%' || {vt})", "vb", nothing),
        ("({vi} = any (array[{vi}, {vi}]))", "vb", nothing),
        ("(array[{vz}, {vz}])[{vi}]", "vz", nothing),
        ("({literal}::timestamptz[])[1]", "vz", identity),
        ("array_length(array[{vd}, {vd}], 1)", "vi", nothing),
        ("array_upper(array[{vt}, {vt}], 1)", "vi", nothing),
        ("cardinality(array[{vi}])", "vi", nothing),
        ("(array_append(array[{vn}], {vn}))[2]", "vn", nothing),
        ("(array_prepend({vi}, array[{vi}]))[1]", "vi", nothing),
        ("(array_cat(array[{vt}], array[{vt}]))[2]", "vt", nothing),
        ("array_position(array[{vi}, {vi}], {vi})", "vi", nothing),
        ("(array_fill({vi}, array[3]))[2]", "vi", nothing),
        ("(array[{vz}])::text", "vt", identity),
        ("(case when {vb} then {vd} else {vd} end)", "vd", nothing),
        ("coalesce({vb}, {vb})", "vb", nothing),
        ("({vz} > {vz})", "vb", nothing),
        ("({va} < {vz})", "vb", identity),
        ("(not {vb} or {vi} between {vi} and {vl})", "vb", nothing),
    ]
    .into_iter()
    .chain(OF_TIMES)
    .chain(OF_JSON)
    .map(|(template, column, looks_at)| Subject {
        template: template.to_owned(),
        column: named(column),
        looks_at,
    })
    .collect()
}

const UNITS: [&str; 7] = ["century", "year", "quarter", "month", "day", "hour", "second"];
const FIELDS: [&str; 7] = ["year", "quarter", "month", "day", "dow", "epoch", "isoyear"];
const ZONES: [&str; 4] = ["'UTC'", "'Europe/Berlin'", "'America/New_York'", "'Asia/Kolkata'"];
/// How deep subjects may nest in subjects.
const DEEPEST: u32 = 2;

/// The name of a clause, and its generator.
type Clause = (&'static str, fn(&mut Generator, Made<'_>) -> String);

/// The input of a clause: the number of the program, the subject, and a list for statements to run first.
struct Made<'m> {
    number: usize,
    subject: usize,
    setup: &'m mut Vec<String>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        // They would end the session that calls them, or make it wait for another:
        // `a_call_that_stops_sessions_is_data` has them.
        let ends_sessions = |name: &&str| {
            let parts = ["pg_cancel_backend", "pg_terminate_backend", "advisory", "pg_sleep"];
            parts.iter().any(|part| name.contains(part))
        };
        // `tests/sequences` covers these.
        let draws = |signature: &&Signature| signature.function.looks_at().sequences;
        // No column has their types. Some are among the subjects written by hand.
        let is_of_catalog = |signature: &&Signature| {
            let is_system = |pattern: &TypePattern| matches!(pattern, TypePattern::Exact(SqlType::System(_)));
            signature.function.looks_at().catalog
                || signature.arguments.iter().chain([&signature.result]).any(is_system)
        };
        let mut subjects: Vec<Subject> = names()
            .filter(|name| !ends_sessions(name))
            .flat_map(|name| lookup(name).iter().map(move |signature| (name, signature)))
            .filter(|(_, signature)| !draws(signature) && !is_of_catalog(signature))
            .map(|(name, signature)| subject_of(name, signature))
            .collect();
        subjects.extend(others());
        Generator { random: StdRng::seed_from_u64(seed), seed, subjects, looks_at: LooksAt::NOTHING }
    }

    /// The number of programs that covers all pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.subjects.len() * CLAUSES.len()
    }

    /// The program with this number, counted from 1.
    pub(crate) fn program(&mut self, number: usize) -> Program {
        let pairs = self.pairs();
        // The factor is a prime, and the number of pairs is far smaller, so they share no factor.
        let pair = (number.wrapping_mul(1_000_003) + self.seed as usize * 7_919) % pairs;
        let (subject, clause) = (pair % self.subjects.len(), pair / self.subjects.len());
        self.random = StdRng::seed_from_u64(self.seed.wrapping_mul(1 << 32) + number as u64);
        self.looks_at = LooksAt::NOTHING;
        let (name, make) = CLAUSES[clause];
        let mut setup = Vec::new();
        let body = make(self, Made { number, subject, setup: &mut setup });
        Program {
            clause: name,
            setup,
            looks_at: self.looks_at,
            create: format!(
                "create procedure p{number}(k int) language plpgsql as $$ {} begin {body} end $$",
                declarations()
            ),
            call: format!("call p{number}({})", number * 100),
        }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.random.random_range(0..n) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.random_range(0..choices.len())]
    }

    /// The subject with arguments.
    fn subject(&mut self, subject: usize, scope: Scope, depth: u32) -> String {
        self.looks_at = self.looks_at.and(self.subjects[subject].looks_at);
        let template = self.subjects[subject].template.clone();
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some((before, opened)) = rest.split_once('{') {
            let (place, after) = opened.split_once('}').expect("a place ends");
            text.push_str(before);
            let argument = match place {
                "literal" => "'{2024-07-01 12:00}'".to_owned(),
                "unit" => self.pick(&UNITS).to_owned(),
                "field" => self.pick(&FIELDS).to_owned(),
                "zone" => self.pick(&ZONES).to_owned(),
                column => self.argument(named(column), scope, depth),
            };
            text.push_str(&argument);
            rest = after;
        }
        text.push_str(rest);
        text
    }

    fn argument(&mut self, column: usize, scope: Scope, depth: u32) -> String {
        if depth < DEEPEST && self.one_in(6) {
            let fitting: Vec<usize> =
                (0..self.subjects.len()).filter(|subject| self.subjects[*subject].column == column).collect();
            let chosen = self.pick(&fitting);
            return self.subject(chosen, scope, depth + 1);
        }
        let (name, sql_type, value) = COLUMNS[column];
        match (scope, self.random.random_range(0..4)) {
            (Row, 0..3) => format!("s.{name}"),
            (Variables, 0..3) | (Row, _) => format!("x_{name}"),
            _ => format!("{value}::{sql_type}"),
        }
    }

    fn expression(&mut self, made: &Made<'_>, scope: Scope) -> String {
        self.subject(made.subject, scope, 0)
    }

    fn column(&self, made: &Made<'_>) -> &'static str {
        COLUMNS[self.subjects[made.subject].column].0
    }

    fn type_of(&self, made: &Made<'_>) -> &'static str {
        COLUMNS[self.subjects[made.subject].column].1
    }

    /// A condition that depends on the subject.
    fn condition(&mut self, made: &Made<'_>, scope: Scope) -> String {
        let expression = self.expression(made, scope);
        let (name, sql_type, value) = COLUMNS[self.subjects[made.subject].column];
        match name {
            "vb" => format!("({expression})"),
            "vi" | "vl" => format!("({expression}) % 2 = 0"),
            "vd" | "vn" => format!("({expression}) < 0.6"),
            "vt" => format!("length({expression}) % 2 = 0"),
            "vj" => format!("length(({expression})::text) % 2 = 0"),
            _ => format!("({expression}) > {value}::{sql_type}"),
        }
    }

    /// 1 or 2, depending on the subject.
    fn number(&mut self, made: &Made<'_>, scope: Scope) -> String {
        format!("(case when {} then 1 else 2 end)", self.condition(made, scope))
    }

    fn own_function(&mut self, made: &mut Made<'_>, returns: &str, body: &str) {
        let (number, declarations) = (made.number, declarations());
        made.setup.push(format!(
            "create function f{number}(k int) returns {returns} language plpgsql as $$ {declarations} begin {body} end $$"
        ));
    }
}

/// Variables of all types. `x_vi` holds a value, and `y_vi` receives one.
fn declarations() -> String {
    let each: Vec<String> = COLUMNS
        .iter()
        .map(|(name, sql_type, value)| format!("x_{name} {sql_type} := {value}; y_{name} {sql_type};"))
        .collect();
    format!("declare {} i int := 0; r record; xs int[] := array[1, 2, 3];", each.join(" "))
}

/// Puts a copy of a row of `src` into `sink`, under `k`.
const COPY: &str = "insert into sink (id, vb, vi, vl, vd, vn, vt, vy, va, vs, vz, vu, vv, vo) \
                    select k, t.vb, t.vi, t.vl, t.vd, t.vn, t.vt, t.vy, t.va, t.vs, t.vz, t.vu, t.vv, t.vo from src t where t.id = 2;";

use Scope::{Bare, Row, Variables};

const CLAUSES: &[Clause] = &[
    ("select list", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!("insert into sink (id, {c}) select k + s.id, {e} from src s;")
    }),
    ("where", |g, m| {
        let c = g.condition(&m, Row);
        format!("insert into sink (id, vi) select k + s.id, s.vi from src s where {c};")
    }),
    ("group by", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!("insert into sink (id, {c}, c) select k + min(s.id), {e}, count(*) from src s group by {e};")
    }),
    ("having", |g, m| {
        let c = g.condition(&m, Variables);
        format!("insert into sink (id, c) select k + s.vi, count(*) from src s group by s.vi having {c};")
    }),
    ("above an aggregate", |g, m| {
        let (e, c) = (g.expression(&m, Variables), g.column(&m));
        format!("insert into sink (id, c, {c}) select k, count(*), {e} from src s;")
    }),
    ("above groups, into variables", |g, m| {
        let (e, c) = (g.expression(&m, Variables), g.column(&m));
        format!(
            "select max(s.id), {e} into i, y_{c} from src s; insert into sink (id, c, {c}) values (k, i, y_{c});"
        )
    }),
    ("order by", |g, m| {
        let e = g.expression(&m, Row);
        format!("insert into sink (id) select k + s.id from src s order by {e}, s.id limit 2;")
    }),
    ("order by a group", |g, m| {
        let e = g.expression(&m, Variables);
        format!(
            "insert into sink (id, c) select k + s.vi, count(*) from src s group by s.vi order by {e}, s.vi limit 2;"
        )
    }),
    ("limit", |g, m| {
        let n = g.number(&m, Variables);
        format!("insert into sink (id) select k + s.id from src s limit {n};")
    }),
    ("limit after sorting", |g, m| {
        let n = g.number(&m, Variables);
        format!("insert into sink (id) select k + s.id from src s order by s.vt desc, s.id limit {n};")
    }),
    ("offset", |g, m| {
        let n = g.number(&m, Variables);
        format!("insert into sink (id) select k + s.id from src s order by s.vn, s.id offset {n};")
    }),
    ("aggregate's argument", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        match c {
            "vb" => format!("insert into sink (id, vb) select k, bool_or({e}) from src s;"),
            "vu" | "vy" => format!("insert into sink (id, c) select k, count({e}) from src s;"),
            _ => format!("insert into sink (id, {c}) select k, max({e}) from src s;"),
        }
    }),
    ("filter", |g, m| {
        let c = g.condition(&m, Row);
        format!("insert into sink (id, c) select k, count(*) filter (where {c}) from src s;")
    }),
    ("distinct", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "for r in select distinct {e} as e from src s loop i := i + 1; insert into sink (id, {c}) values (k + i, r.e); end loop;"
        )
    }),
    ("aggregate of distinct values", |g, m| {
        let e = g.expression(&m, Row);
        format!("insert into sink (id, c) select k, count(distinct {e}) from src s;")
    }),
    ("distinct on", |g, m| {
        let e = g.expression(&m, Row);
        format!("insert into sink (id) select distinct on ({e}) k + s.id from src s order by {e}, s.id;")
    }),
    ("values", |g, m| {
        let (e, f, c) = (g.expression(&m, Variables), g.expression(&m, Variables), g.column(&m));
        format!("insert into sink (id, {c}) values (k, {e}), (k + 1, {f});")
    }),
    ("set", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!("{COPY} update sink s set {c} = {e} where s.id = k;")
    }),
    ("where of update", |g, m| {
        let c = g.condition(&m, Row);
        format!("{COPY} update sink s set c = 7 where s.id = k and {c};")
    }),
    ("update of many", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "update src s set {c} = {e} where s.id > 1; update src s set vi = s.id, vl = 10 * s.id, vd = 0.5, vn = 1.5, vt = 'abc' where s.id > 1;"
        )
    }),
    ("returning of insert", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "insert into sink as s (id, vi, vt) values (k, 1, 'abc') returning {e} into y_{c}; insert into sink (id, {c}) values (k + 1, y_{c});"
        )
    }),
    ("returning of update", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "{COPY} update sink s set c = 3 where s.id = k returning {e} into y_{c}; insert into sink (id, {c}) values (k + 1, y_{c});"
        )
    }),
    ("returning of delete", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "{COPY} delete from sink s where s.id = k returning {e} into y_{c}; insert into sink (id, {c}) values (k + 1, y_{c});"
        )
    }),
    ("on conflict", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "{COPY} insert into sink as s (id, vi) values (k, 9) on conflict (id) do update set {c} = {e};"
        )
    }),
    ("where of on conflict", |g, m| {
        let c = g.condition(&m, Row);
        format!(
            "{COPY} insert into sink as s (id, vi) values (k, 9) on conflict (id) do update set c = 5 where {c};"
        )
    }),
    ("default", |g, m| {
        let (e, sql_type, number) = (g.expression(&m, Bare), g.type_of(&m), m.number);
        m.setup.push(format!("create table d{number} (id int primary key, v {sql_type} default {e})"));
        format!("insert into d{number} (id) values (k);")
    }),
    ("default by name", |g, m| {
        let (e, sql_type, number) = (g.expression(&m, Bare), g.type_of(&m), m.number);
        m.setup.push(format!("create table d{number} (id int primary key, v {sql_type} default {e})"));
        format!(
            "insert into d{number} values (k, null), (k + 1, default); update d{number} set v = default where id = k;"
        )
    }),
    ("raise", |g, m| {
        let e = g.expression(&m, Variables);
        format!("raise notice '% %', k, {e}; insert into sink (id) values (k);")
    }),
    ("message of an exception", |g, m| {
        let e = g.expression(&m, Variables);
        format!(
            "begin raise exception 'it is %', {e}; exception when others then insert into sink (id, vt) values (k, sqlerrm); end;"
        )
    }),
    ("detail of an exception", |g, m| {
        let e = g.expression(&m, Variables);
        format!(
            "begin raise exception 'failed' using detail = ({e})::text; exception when others then \
             get stacked diagnostics y_vt = pg_exception_detail; insert into sink (id, vt) values (k, y_vt); end;"
        )
    }),
    ("detail of a violation", |g, m| {
        let (e, sql_type, number) = (g.expression(&m, Variables), g.type_of(&m), m.number);
        m.setup.push(format!("create table q{number} (v {sql_type} primary key)"));
        m.setup
            .push(format!("create table d{number} (id int primary key, v {sql_type} references q{number})"));
        format!(
            "begin insert into d{number} values (k, {e}); exception when foreign_key_violation then \
             get stacked diagnostics y_vt = pg_exception_detail; insert into sink (id, vt) values (k, y_vt); end;"
        )
    }),
    ("actions of foreign keys", |g, m| {
        let (n, number) = (g.number(&m, Variables), m.number);
        m.setup.extend([
            format!(
                "create table q{number} (id int primary key, \
                 up int references q{number} on delete cascade on update cascade)"
            ),
            format!(
                "create table d{number} (id int primary key, v int default 1 \
                 references q{number} on delete set default on update set null)"
            ),
            format!("insert into q{number} select g, nullif(g / 2, 0) from generate_series(1, 12) g"),
            format!("insert into d{number} select g, g % 12 + 1 from generate_series(1, 24) g"),
        ]);
        format!(
            "update q{number} set id = id + 20 where id % 3 = 0; delete from q{number} where id = k % 7 + 5; \
             delete from q{number} where id = {n} and id > 1; \
             insert into sink (id, c) select k, count(*) from d{number} where v is null;"
        )
    }),
    ("bounds of a loop", |g, m| {
        let n = g.number(&m, Variables);
        format!("for i in 1 .. {n} loop insert into sink (id) values (k + i); end loop;")
    }),
    ("step of a loop", |g, m| {
        let n = g.number(&m, Variables);
        format!("for i in reverse 4 .. 0 by {n} loop insert into sink (id) values (k + i); end loop;")
    }),
    ("query of a loop", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "for r in select s.id, {e} as e from src s order by s.id loop insert into sink (id, {c}) values (k + r.id, r.e); end loop;"
        )
    }),
    ("where of a loop's query", |g, m| {
        let c = g.condition(&m, Row);
        format!(
            "for r in select s.id from src s where {c} loop insert into sink (id) values (k + r.id); end loop;"
        )
    }),
    ("if", |g, m| {
        let c = g.condition(&m, Variables);
        format!(
            "if {c} then insert into sink (id) values (k); else insert into sink (id) values (k + 1); end if;"
        )
    }),
    ("case", |g, m| {
        let n = g.number(&m, Variables);
        format!(
            "case {n} when 1 then insert into sink (id) values (k); else insert into sink (id) values (k + 1); end case;"
        )
    }),
    ("while and exit", |g, m| {
        let (n, c) = (g.number(&m, Variables), g.condition(&m, Variables));
        format!(
            "while i < 1 + {n} loop i := i + 1; insert into sink (id) values (k + i); exit when {c}; end loop;"
        )
    }),
    ("assignment", |g, m| {
        let (e, c) = (g.expression(&m, Variables), g.column(&m));
        format!("y_{c} := {e}; insert into sink (id, {c}) values (k, y_{c});")
    }),
    ("declaration", |g, m| {
        let (e, c, sql_type) = (g.expression(&m, Variables), g.column(&m), g.type_of(&m));
        format!("declare z {sql_type} := {e}; begin insert into sink (id, {c}) values (k, z); end;")
    }),
    ("index of an array", |g, m| {
        let n = g.number(&m, Variables);
        format!("xs[{n}] := 9; insert into sink (id, vi, c) values (k, xs[1], xs[2]);")
    }),
    ("element of an array", |g, m| {
        let (n, o) = (g.number(&m, Variables), g.number(&m, Variables));
        format!(
            "xs[2] := {n}; xs := array[xs[2], {o}]; insert into sink (id, vi, c) values (k, xs[1], xs[2]);"
        )
    }),
    ("return", |g, mut m| {
        let (e, c, sql_type, number) = (g.expression(&m, Variables), g.column(&m), g.type_of(&m), m.number);
        g.own_function(&mut m, sql_type, &format!("return {e};"));
        format!(
            "y_{c} := f{number}(k); insert into sink (id, {c}) values (k, y_{c}); insert into sink (id, {c}) select k + s.id, f{number}(s.id) from src s;"
        )
    }),
    ("return query", |g, mut m| {
        let (e, c, sql_type, number) = (g.expression(&m, Row), g.column(&m), g.type_of(&m), m.number);
        let body = format!(
            "return query select {e} from src s order by s.id; return query select {e} from src s where s.id = 1;"
        );
        g.own_function(&mut m, &format!("setof {sql_type}"), &body);
        format!(
            "for r in select e from f{number}(k) as t(e) loop i := i + 1; insert into sink (id, {c}) values (k + i, r.e); end loop;"
        )
    }),
    ("return next", |g, mut m| {
        let (e, c, sql_type, number) = (g.expression(&m, Variables), g.column(&m), g.type_of(&m), m.number);
        g.own_function(&mut m, &format!("setof {sql_type}"), &format!("return next {e}; return next {e};"));
        format!(
            "for r in select e from f{number}(k) as t(e) loop i := i + 1; insert into sink (id, {c}) values (k + i, r.e); end loop;"
        )
    }),
    ("call of another", |g, m| {
        let (e, f) = (g.expression(&m, Variables), g.expression(&m, Variables));
        let (c, sql_type, number) = (g.column(&m), g.type_of(&m), m.number);
        m.setup.push(format!(
            "create procedure o{number}(k int, v {sql_type}) language plpgsql as $$ {} begin \
             insert into sink (id, {c}) values (k, v), (k + 1, {f}); end $$",
            declarations()
        ));
        format!("call o{number}(k, {e}); call o{number}(k + 2, y_{c});")
    }),
    ("perform", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.condition(&m, Row));
        format!("perform {e} from src s where {c}; if found then insert into sink (id) values (k); end if;")
    }),
    ("select into", |g, m| {
        let (e, c) = (g.expression(&m, Row), g.column(&m));
        format!(
            "select {e}, s.id into y_{c}, i from src s where s.id = 2; insert into sink (id, {c}) values (k + i, y_{c});"
        )
    }),
    ("where of delete", |g, m| {
        let c = g.condition(&m, Row);
        format!("{COPY} delete from sink s where s.id = k and {c};")
    }),
    ("exists", |g, m| {
        let c = g.condition(&m, Row);
        format!(
            "if exists (select 1 from src s where s.id < 3 and {c}) then insert into sink (id) values (k); end if;"
        )
    }),
    ("case of an expression", |g, m| {
        let (e, d, c) = (g.expression(&m, Row), g.condition(&m, Row), g.column(&m));
        format!("insert into sink (id, {c}) select k + s.id, case when {d} then {e} end from src s;")
    }),
    ("join", |g, m| {
        let c = g.condition(&m, Row);
        format!(
            "insert into sink (id, c) select k + s.id, u.id from src u join src s on s.id = u.id and {c};"
        )
    }),
    ("left join", |g, m| {
        let c = g.condition(&m, Row);
        format!(
            "insert into sink (id, c) select k + u.id, s.vi from src u left join src s on s.id = u.id and {c};"
        )
    }),
    ("key of a read", |g, m| {
        let n = g.number(&m, Variables);
        format!("select s.vi into i from src s where s.id = {n}; insert into sink (id, vi) values (k, i);")
    }),
    ("key of an insert", |g, m| {
        let n = g.number(&m, Variables);
        format!("insert into sink (id) values (k + {n});")
    }),
    ("bounds of a scan", |g, m| {
        let n = g.number(&m, Variables);
        format!("insert into sink (id) select k + s.id from src s where s.id >= {n} and s.id < 2 + {n};")
    }),
    ("block with a handler", |g, m| {
        let (e, c, n) = (g.expression(&m, Variables), g.column(&m), g.number(&m, Variables));
        format!(
            "begin insert into sink (id, {c}) values (k, {e}); i := 1 / (2 - {n}); exception when division_by_zero then \
             insert into sink (id, {c}) values (k + 1, {e}); end;"
        )
    }),
];
