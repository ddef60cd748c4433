//! Scripts of PL/pgSQL functions generated from a seed, for the comparison with PostgreSQL (`golden`).
//!
//! The functions are well-typed and terminate. What happens on the way is random: overflow, division by
//! zero, missing rows, broken constraints, errors raised and caught. Behaviour that SQL leaves open is
//! avoided. Conditions in WHERE cannot fail, and neither can statements that touch several rows. The same
//! holds for the new values of an UPDATE that may find no row (PostgreSQL computes what depends only on
//! variables before it looks). The variables of INTO accept every value, and rows are always requested in
//! an order. One of two operands is always a variable, because PostgreSQL computes constants when it plans,
//! even in branches that never run. PostgreSQL treats variables as such constants too, except for rows that
//! nothing was assigned to, so all of them are assigned at the start.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The number of functions in one script.
pub(super) const FUNCTIONS: usize = 12;
/// How deep statements may nest.
const DEEPEST: u32 = 3;

struct Generator {
    random: StdRng,
    text: String,
    /// Loop variables in scope, integers.
    loops: Vec<String>,
    labels: usize,
    /// How many blocks with handlers enclose the statement. It mostly raises on purpose only inside one.
    guarded: u32,
}

/// The script for a seed.
pub(super) fn script(seed: u64) -> String {
    let mut generator = Generator {
        random: StdRng::seed_from_u64(seed),
        text: String::new(),
        loops: Vec::new(),
        labels: 0,
        guarded: 0,
    };
    generator.script(seed);
    generator.text
}

impl Generator {
    fn one_in(&mut self, n: u32) -> bool {
        self.random.random_range(0..n) == 0
    }

    fn pick<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.random.random_range(0..choices.len())]
    }

    fn script(&mut self, seed: u64) {
        writeln!(self.text, "-- Made from seed {seed} by sql/src/tests/procedures.rs.").expect("a string");
        self.text
            .push_str("create table g (gk int primary key, ga int not null, gb numeric(10,2), gt text);\n\n");
        for number in 1..=FUNCTIONS {
            self.function(number);
            for _ in 0..3 {
                let (a, b) = (self.integer_literal(), self.integer_literal());
                let n = self.pick(&["0", "1.5", "-2.25", "1000000.01", "null", "99.995"]);
                let t = self.pick(&["'abc'", "''", "'42'", "null", "'Hello World'", "' 7 '"]);
                writeln!(self.text, "select f{number}({a}, {b}, {n}, {t});").expect("a string");
            }
            self.text.push_str("select * from g order by gk;\n\n");
        }
    }

    fn function(&mut self, number: usize) {
        let head = format!(
            "create function f{number}(p int, q int, n numeric, t text) returns text language plpgsql as $$\n\
             declare\n    i int := 1;\n    j int := q;\n    m numeric(12,3) := n;\n    s text := 'x';\n    \
             c boolean;\n    l bigint := 3;\n    ar int[] := array[4, 5, 6];\n    r record;\n    w g%rowtype;\nbegin\n    \
             select gk, ga, gb, gt into r from g where false;\n    select * into w from g where false;\n"
        );
        self.text.push_str(&head);
        self.loops.clear();
        for _ in 0..self.random.random_range(3..8) {
            self.statement(1, 0);
        }
        self.text.push_str(
            "    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || \
             coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || \
             coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');\nend\n$$;\n",
        );
    }

    fn line(&mut self, indent: usize, text: &str) {
        writeln!(self.text, "{:width$}{text}", "", width = 4 * indent).expect("a string");
    }

    fn body(&mut self, indent: usize, depth: u32) {
        for _ in 0..self.random.random_range(1..4) {
            self.statement(indent, depth);
        }
    }

    fn statement(&mut self, indent: usize, depth: u32) {
        let choice =
            if depth < DEEPEST { self.random.random_range(0..22) } else { self.random.random_range(0..14) };
        match choice {
            0..=4 => self.assignment(indent),
            5 => {
                let (expr, text) = (self.integer(1), self.text_expr(1));
                self.line(indent, &format!("raise notice 'at % %', {expr}, {text};"));
            }
            6..=8 => self.change(indent),
            9 | 10 => self.query(indent),
            11 if self.guarded > 0 => {
                let state = self.pick(&["U0001", "U0002", "22012", "P0001"]);
                let (condition, text) = (self.condition(1), self.text_expr(1));
                self.line(indent, &format!("if {condition} then"));
                self.line(
                    indent + 1,
                    &format!("raise exception 'raised %', {text} using errcode = '{state}';"),
                );
                self.line(indent, "end if;");
            }
            11 | 12 if !self.loops.is_empty() => {
                let word = self.pick(&["exit", "continue"]);
                let condition = self.condition(1);
                self.line(indent, &format!("{word} when {condition};"));
            }
            12 => {
                let condition = self.condition(1);
                let text = self.text_expr(1);
                self.line(indent, &format!("if {condition} then"));
                self.line(indent + 1, &format!("return {text};"));
                self.line(indent, "end if;");
            }
            13 => {
                self.line(indent, "get diagnostics l = row_count;");
                self.line(indent, "s := s || found;");
            }
            14 | 15 => self.branches(indent, depth),
            16 => self.cases(indent, depth),
            17 => self.integer_loop(indent, depth),
            18 => self.while_loop(indent, depth),
            19 => self.query_loop(indent, depth),
            _ => self.block(indent, depth),
        }
    }

    fn assignment(&mut self, indent: usize) {
        let text = match self.random.random_range(0..9) {
            0 | 1 => format!("i := {};", self.integer(3)),
            2 => format!("j := {};", self.integer(2)),
            3 => format!("m := {};", self.number(2)),
            4 | 5 => format!("s := {};", self.text_expr(2)),
            6 => format!("c := {};", self.condition(2)),
            7 => format!("l := {};", self.integer(2)),
            _ => {
                let at = self.random.random_range(1..6);
                format!("ar[{at}] := {};", self.integer(2))
            }
        };
        self.line(indent, &text);
    }

    fn change(&mut self, indent: usize) {
        let key = self.key();
        let text = match self.random.random_range(0..9) {
            0..=2 => {
                let (a, b, t) = (self.integer(2), self.number(1), self.text_expr(1));
                format!("insert into g values ({key}, {a}, {b}, {t});")
            }
            3 => {
                let t = self.text_expr(1);
                format!(
                    "insert into g values ({key}, 1, 2, {t}) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;"
                )
            }
            4 | 5 => {
                let a = self.integer_variable();
                format!(
                    "update g set ga = g.ga % 1000 + coalesce({a}, 7) % 1000, gb = g.gb + 1 where gk = {key} returning g.gk, g.ga, g.gb, g.gt into r;"
                )
            }
            6 => format!("update g set gt = coalesce(g.gt, '') || '+' where g.gk > {key};"),
            7 => format!("delete from g where gk = {key} returning * into w;"),
            _ => format!("delete from g where g.gk < {key} and g.ga > j;"),
        };
        self.line(indent, &text);
    }

    fn query(&mut self, indent: usize) {
        let key = self.key();
        let text = match self.random.random_range(0..7) {
            0 => format!("select g.ga into i from g where gk = {key};"),
            1 => format!("select g.ga, g.gt into strict i, s from g where gk = {key};"),
            2 => format!("select * into w from g where g.gk >= {key} order by g.gk;"),
            3 => "select count(*), sum(g.ga % 1000) into l, m from g;".to_owned(),
            4 => format!("select max(g.gb), min(g.gk) into m, i from g where g.gk < {key};"),
            5 => format!("perform g.ga from g where g.gk > {key};"),
            _ => format!("c := exists (select 1 from g where g.gk = {key});"),
        };
        self.line(indent, &text);
    }

    fn branches(&mut self, indent: usize, depth: u32) {
        let condition = self.condition(2);
        self.line(indent, &format!("if {condition} then"));
        self.body(indent + 1, depth + 1);
        if self.one_in(2) {
            let condition = self.condition(2);
            self.line(indent, &format!("elsif {condition} then"));
            self.body(indent + 1, depth + 1);
        }
        if self.one_in(2) {
            self.line(indent, "else");
            self.body(indent + 1, depth + 1);
        }
        self.line(indent, "end if;");
    }

    fn cases(&mut self, indent: usize, depth: u32) {
        self.line(indent, "case i % 4");
        for value in ["0", "1, 2", "j"] {
            self.line(indent, &format!("when {value} then"));
            self.body(indent + 1, depth + 1);
        }
        if !self.one_in(4) {
            self.line(indent, "else");
            self.body(indent + 1, depth + 1);
        }
        self.line(indent, "end case;");
    }

    /// The name of a new loop variable, and perhaps a label in front of the loop.
    fn enter_loop(&mut self) -> String {
        self.labels += 1;
        let name = format!("v{}", self.labels);
        self.loops.push(name.clone());
        name
    }

    fn integer_loop(&mut self, indent: usize, depth: u32) {
        let (from, count) = (self.random.random_range(-2..3), self.random.random_range(0..4));
        let name = self.enter_loop();
        let head = match self.random.random_range(0..3) {
            0 => format!("for {name} in reverse {} .. {from} loop", from + count),
            1 => format!("for {name} in {from} .. {} by 2 loop", from + count),
            _ => format!("for {name} in {from} .. least(j, {}) loop", from + count),
        };
        self.line(indent, &head);
        self.body(indent + 1, depth + 1);
        self.line(indent, "end loop;");
        self.loops.pop();
    }

    fn while_loop(&mut self, indent: usize, depth: u32) {
        self.labels += 1;
        let name = format!("u{}", self.labels);
        let most = self.random.random_range(1..4);
        self.line(indent, "declare");
        self.line(indent + 1, &format!("{name} int := 0;"));
        self.line(indent, "begin");
        let condition = self.condition(1);
        self.line(indent + 1, &format!("while {name} < {most} and ({condition}) loop"));
        self.line(indent + 2, &format!("{name} := {name} + 1;"));
        self.loops.push(name);
        self.body(indent + 2, depth + 1);
        self.loops.pop();
        self.line(indent + 1, "end loop;");
        self.line(indent, "end;");
    }

    fn query_loop(&mut self, indent: usize, depth: u32) {
        let order = self.pick(&["", " desc"]);
        let head = match self.random.random_range(0..3) {
            0 => format!("for w in select * from g where g.gk > j - 3 order by g.gk{order} loop"),
            1 => format!("for i, s in select g.gk, g.gt from g order by g.gk{order} limit 3 loop"),
            _ => format!(
                "for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga{order}, g.gk loop"
            ),
        };
        self.line(indent, &head);
        // These loops end, because their rows existed when they began.
        self.loops.push("i".to_owned());
        self.body(indent + 1, depth + 1);
        self.loops.pop();
        self.line(indent, "end loop;");
    }

    fn block(&mut self, indent: usize, depth: u32) {
        self.line(indent, "begin");
        self.guarded += 1;
        self.body(indent + 1, depth + 1);
        self.guarded -= 1;
        self.line(indent, "exception");
        let handlers: [&[&str]; 4] = [
            &["others"],
            &["sqlstate 'U0001'", "division_by_zero or numeric_value_out_of_range", "unique_violation"],
            &["unique_violation or not_null_violation", "others"],
            &["data_exception", "raise_exception", "no_data_found or too_many_rows"],
        ];
        let chosen = handlers[self.random.random_range(0..handlers.len())];
        for condition in chosen {
            self.line(indent + 1, &format!("when {condition} then"));
            self.line(indent + 2, "s := s || sqlstate;");
            self.line(indent + 2, "raise notice 'caught % %', sqlstate, sqlerrm;");
            if self.one_in(6) {
                self.line(indent + 2, "raise;");
            } else if self.one_in(2) {
                self.body(indent + 2, depth + 1);
            }
        }
        self.line(indent, "end;");
    }

    fn key(&mut self) -> String {
        match self.random.random_range(0..4) {
            0 => "i".to_owned(),
            1 => "j".to_owned(),
            2 => "p".to_owned(),
            _ => self.random.random_range(0..6).to_string(),
        }
    }

    fn integer_literal(&mut self) -> &'static str {
        self.pick(&["0", "1", "2", "3", "5", "7", "10", "-1", "-4", "100", "46341", "2147483647", "null"])
    }

    fn integer_variable(&mut self) -> String {
        if !self.loops.is_empty() && self.one_in(2) {
            let at = self.random.random_range(0..self.loops.len());
            return self.loops[at].clone();
        }
        self.pick(&["i", "j", "p", "q", "ar[1]", "ar[i]", "r.gk", "w.ga", "r.ga"]).to_owned()
    }

    fn integer(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.one_in(3) { self.integer_literal().to_owned() } else { self.integer_variable() };
        }
        let left = self.integer_variable();
        match self.random.random_range(0..13) {
            0 | 1 => self.integer(0),
            2 | 3 => format!("({left} + {})", self.integer(depth - 1)),
            4 => format!("({left} - {})", self.integer(depth - 1)),
            5 => format!("({left} * {})", self.integer(depth - 1)),
            6 => format!("({} / {left})", self.integer(depth - 1)),
            7 => format!("({left} % {})", self.pick(&["7", "3", "j", "i"])),
            8 => format!("coalesce({left}, {})", self.integer(depth - 1)),
            9 => format!("length({})", self.text_expr(depth - 1)),
            10 => {
                let (condition, a, b) =
                    (self.condition(depth - 1), self.integer(depth - 1), self.integer_variable());
                format!("(case when {condition} then {a} else {b} end)")
            }
            11 => format!("greatest({left}, {})", self.integer(depth - 1)),
            _ => format!("abs({left})"),
        }
    }

    fn number(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.pick(&["m", "n", "m", "n", "1.25", "r.gb", "w.gb"]).to_owned();
        }
        let left = self.pick(&["m", "n", "r.gb"]);
        match self.random.random_range(0..8) {
            0 => self.number(0),
            1 | 2 => format!("({left} + {})", self.number(depth - 1)),
            3 => format!("({left} * {})", self.number(depth - 1)),
            4 => format!("({left} / {})", self.number(depth - 1)),
            5 => format!("round({left}, {})", self.random.random_range(0..3)),
            6 => format!("({left} - {})", self.integer(depth - 1)),
            _ => format!("coalesce({left}, {})", self.number(depth - 1)),
        }
    }

    fn text_expr(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.pick(&["s", "t", "s", "'lit'", "w.gt", "r.gt"]).to_owned();
        }
        let left = self.pick(&["s", "t", "w.gt"]);
        match self.random.random_range(0..9) {
            0 => self.text_expr(0),
            1 => format!("({left} || {})", self.text_expr(depth - 1)),
            2 => format!("({left} || {})", self.integer(depth - 1)),
            3 => format!("upper({left})"),
            4 => format!("substr({left}, {}, 3)", self.random.random_range(-1..4)),
            5 => format!("left({left}, {})", self.random.random_range(-2..4)),
            6 => format!("({})::text", self.number(depth - 1)),
            7 => format!("coalesce({left}, {})", self.text_expr(depth - 1)),
            _ => format!("replace({left}, 'x', 'yz')"),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let left = self.integer_variable();
        if depth == 0 {
            return format!("{left} > {}", self.integer_literal());
        }
        match self.random.random_range(0..10) {
            0..=2 => {
                let operator = self.pick(&["<", "<=", "=", "<>", ">", ">="]);
                format!("{left} {operator} {}", self.integer(depth - 1))
            }
            3 => format!("({} and {})", self.condition(depth - 1), self.condition(depth - 1)),
            4 => format!("({} or {})", self.condition(depth - 1), self.condition(depth - 1)),
            5 => format!("not ({})", self.condition(depth - 1)),
            6 => format!("{left} is null"),
            7 => format!("{left} in (1, 2, {})", self.integer_variable()),
            8 => format!("{} like '%{}%'", self.pick(&["s", "t"]), self.pick(&["x", "l", "4"])),
            _ => format!("m between {} and n", self.pick(&["0", "i", "1.5"])),
        }
    }
}

/// A text with something missing, doubled or exchanged.
fn damaged(text: &str, random: &mut StdRng) -> String {
    let words: Vec<&str> = text.split_inclusive([' ', '\n', ';', '(', ')', ',']).collect();
    let (at, other) = (random.random_range(0..words.len()), random.random_range(0..words.len()));
    let mut damaged: Vec<&str> = words.clone();
    match random.random_range(0..4) {
        0 => drop(damaged.remove(at)),
        1 => damaged.insert(at, words[other]),
        2 => damaged.swap(at, other),
        _ => damaged.truncate(at),
    }
    damaged.concat()
}

#[test]
fn damaged_bodies_are_refused_or_compiled_but_nothing_panics() {
    let engine = std::sync::Arc::new(super::engine::TestEngine::with(super::engine::Trouble::None));
    let database = crate::session::Database::with_engine(engine);
    let mut session = database.session(crate::session::SessionOptions::default()).expect("a session");
    let mut connection = database.connect().expect("a connection");
    for table in [
        "create table g (gk int primary key, ga int not null, gb numeric(10,2), gt text)",
        "create table t (id int primary key, v int not null)",
        "create table account (id int primary key, owner text not null, balance numeric(12,2), branch int)",
        "create table entry (id int primary key, account int, amount numeric(12,2), note text)",
    ] {
        connection.execute(table, &[]).expect("a new table");
    }
    let mut random = StdRng::seed_from_u64(5);
    let (mut refused, mut compiled) = (0, 0);
    let texts = [
        include_str!("../../tests/scripts/plpgsql_statements.sql").to_owned(),
        include_str!("../../tests/scripts/plpgsql_exceptions.sql").to_owned(),
        script(77),
    ];
    for body in texts.iter().flat_map(|text| text.split("\n\n")).filter(|body| body.contains("$$")) {
        let create = &body[..body.rfind("$$").map_or(0, |end| end + 2)];
        for _ in 0..12 {
            let outcome = session.prepare(&damaged(create, &mut random), &[]);
            match outcome {
                Ok(_) => compiled += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 300 && compiled > 50, "{refused} refused, {compiled} compiled");
}
