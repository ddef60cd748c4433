//! Procedures that read, write and decide, generated from a number: loops, handlers, upserts, cascades,
//! draws, secondary indexes, functions.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The tables, and their rows.
pub(crate) const SETUP: [&str; 16] = [
    "create table acc (id int primary key, grp int not null, bal bigint not null, note text)",
    "create index acc_by_group on acc (grp)",
    "create table par (id int primary key, cnt int not null check (cnt < 1000))",
    "create table chi (id int primary key, par int not null references par on delete cascade, v bigint)",
    "create table tally (k int, n int, v bigint not null, primary key (k, n))",
    "create table free (v bigint, w int)",
    "create table loose (w int, v bigint)",
    "create table uniq (id int primary key, u int not null unique)",
    "insert into acc select i, i % 4, i * 10, 'note ' || i from generate_series(1, 12) i",
    "insert into par select i, 0 from generate_series(1, 6) i",
    "insert into chi select i, i % 6 + 1, i from generate_series(1, 9) i",
    "insert into uniq select i, i * 10 from generate_series(1, 5) i",
    "create table doc (id int primary key, grp int not null, body text not null)",
    "create index doc_by_group on doc (grp)",
    "insert into doc select i, i % 3, repeat('body ', 60 + i) from generate_series(1, 8) i",
    "create function sum_of(g int) returns bigint language plpgsql as $$ declare s bigint; begin \
     select sum(bal) into s from acc where grp = g; if s is null then raise exception 'none' using errcode = 'P0002'; end if; \
     return s; end $$",
];

/// More of them, which write.
pub(crate) const FUNCTIONS: [&str; 10] = [
    "create function note_down(i int, t text) returns int language plpgsql as $$ declare n int; begin \
     update acc set note = t where id = i returning grp into n; insert into tally values (50, i, 1) \
     on conflict (k, n) do update set v = tally.v + 1; return coalesce(n, 0); end $$",
    "create procedure add_child(p int, i int) language plpgsql as $$ begin insert into chi values (i, p, i); \
     exception when unique_violation then update chi set v = v + 1 where id = i; \
     when foreign_key_violation then insert into par values (p, 1); end $$",
    "create procedure next_group(k int) language plpgsql as $$ declare g int; begin \
     select grp into g from doc where id = k for update; if found then update doc set grp = g + 1 where id = k; end if; end $$",
    "create procedure deep(n int, inout r int) language plpgsql as $$ begin \
     if n > 0 then call deep(n - 1, r); end if; \
     insert into tally values (60, r, n) on conflict do nothing; r := r + 1; end $$",
    "create procedure careful(n int) language plpgsql as $$ begin insert into uniq values (n % 3 + 40, n + 500); \
     if n > 0 then begin call careful(n - 1); insert into uniq values (n % 3 + 40, n); \
     exception when unique_violation then insert into free values (n, 61); end; end if; end $$",
    "create function bump(i int) returns boolean language plpgsql as $$ begin \
     update acc set bal = bal + 10 where id = i; return true; end $$",
    "create function on_doc() returns trigger language plpgsql as $$ begin \
     if new.grp > 9 then new.grp := 0; new.body := new.body || '.'; end if; return new; end $$",
    "create trigger doc_changes before update on doc for each row execute function on_doc()",
    "create function on_chi() returns trigger language plpgsql as $$ begin \
     update doc set grp = grp + 1 where id = new.id % 9; return null; end $$",
    "create trigger chi_grows after insert or update on chi for each row execute function on_chi()",
];

/// How deep statements may nest.
const DEEPEST: u32 = 3;

pub(crate) struct Generator {
    random: StdRng,
    /// Loops that have been opened, for the names of their variables.
    loops: u32,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { random: StdRng::seed_from_u64(seed), loops: 0 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n)
    }

    /// A procedure of this name, and calls of it.
    pub(crate) fn program(&mut self, name: &str, calls: usize) -> (String, Vec<String>) {
        self.loops = 0;
        let body = self.statements(0);
        let create = format!(
            "create procedure {name}(a int, b int, inout c bigint) language plpgsql as $$ \
             declare x int := 1; y int := 2; z bigint := 3; t text := 'text'; r record; \
             begin {body} c := z; end $$"
        );
        let calls = (0..calls).map(|_| {
            let (a, b, c) = (self.below(13), self.below(8), self.below(40));
            format!("call {name}({a}, {b}, {c})")
        });
        (create, calls.collect())
    }

    /// Calls of procedures that call themselves.
    pub(crate) fn recursions(&mut self) -> [String; 2] {
        let (n, r) = (self.below(4), self.below(9));
        [format!("call deep({n}, {r})"), format!("call careful({n})")]
    }

    fn statements(&mut self, depth: u32) -> String {
        let count = 1 + self.below(4);
        (0..count).map(|_| self.statement(depth)).collect::<Vec<String>>().join(" ")
    }

    /// A small number.
    fn number(&mut self) -> String {
        match self.below(9) {
            0 => self.below(12).to_string(),
            1 | 2 => "a".to_owned(),
            3 => "b".to_owned(),
            4 | 5 => "x".to_owned(),
            6 => "y".to_owned(),
            7 => "(x + b) % 9".to_owned(),
            _ => "abs(y - a) % 11".to_owned(),
        }
    }

    fn amount(&mut self) -> String {
        match self.below(6) {
            0 => "c".to_owned(),
            1 | 2 => "z".to_owned(),
            3 => "z - x".to_owned(),
            4 => "(a * y)::bigint".to_owned(),
            _ => self.below(30).to_string(),
        }
    }

    fn condition(&mut self) -> String {
        let number = self.number();
        match self.below(6) {
            0 => "found".to_owned(),
            1 => format!("x > {number}"),
            2 => format!("z % 2 = {}", self.below(2)),
            3 => format!("t like '%{}'", self.below(10)),
            4 => "x is null or y = a".to_owned(),
            _ => format!("{number} % 3 = {}", self.below(3)),
        }
    }

    fn statement(&mut self, depth: u32) -> String {
        if depth < DEEPEST && self.below(3) == 0 {
            return self.nested(depth + 1);
        }
        match self.below(4) {
            0 => self.look(),
            1 | 2 => self.change(),
            _ => self.compute(),
        }
    }

    fn nested(&mut self, depth: u32) -> String {
        let (inner, condition) = (self.statements(depth), self.condition());
        match self.below(10) {
            9 => {
                let after = self.statements(depth);
                format!(
                    "begin {inner} raise exception 'undo'; exception when others then t := sqlerrm; {after} end;"
                )
            }
            0 | 1 => format!("if {condition} then {inner} end if;"),
            2 => format!("if {condition} then {inner} else {} end if;", self.statements(depth)),
            3 => {
                self.loops += 1;
                let (i, last) = (self.loops, self.number());
                format!("for i{i} in 1 .. least({last}, 4) loop x := x + i{i}; {inner} end loop;")
            }
            4 => {
                let group = self.number();
                format!(
                    "for r in select id, bal from acc where grp = {group} % 4 order by id loop y := r.id; z := z + r.bal; \
                     {inner} exit when {condition}; end loop;"
                )
            }
            5 => {
                self.loops += 1;
                let i = self.loops;
                format!(
                    "declare w{i} int := 0; begin while w{i} < 3 loop w{i} := w{i} + 1; {inner} end loop; end;"
                )
            }
            6 => format!("begin {inner} exception when others then {} end;", self.statements(depth)),
            7 => {
                let after = self.statements(depth);
                let kind = ["unique_violation", "division_by_zero", "no_data_found"][self.below(3)];
                format!("begin {inner} x := 6 / x; exception when {kind} then t := sqlstate; {after} end;")
            }
            _ => {
                let number = self.number();
                format!(
                    "begin {inner} y := y / {number}; exception when division_by_zero then y := y + 1; end;"
                )
            }
        }
    }

    fn look(&mut self) -> String {
        let number = self.number();
        match self.below(9) {
            0 => format!("select bal into z from acc where id = {number};"),
            1 => format!("select grp, note into y, t from acc where id = {number};"),
            2 => format!("select bal into strict z from acc where id = {number};"),
            3 => format!("select cnt into x from par where id = {number} for update;"),
            4 => format!("select sum(v) into z from chi where par = {number};"),
            5 => format!("z := sum_of({number} % 5);"),
            6 => format!("select max(u) into y from uniq where id <= {number};"),
            7 => format!("if exists (select from tally where k = {number}) then x := x + 1; end if;"),
            _ => format!(
                "select count(*) into x from acc join par on par.id = acc.grp where acc.id < {number};"
            ),
        }
    }

    fn change(&mut self) -> String {
        let (number, other, amount) = (self.number(), self.number(), self.amount());
        match self.below(28) {
            0 | 1 => format!("update acc set bal = bal + {amount} where id = {number};"),
            2 => format!("update acc set bal = {amount} where id = {number} returning bal into z;"),
            3 => format!("update acc set grp = {other} % 4, note = t where id = {number};"),
            4 => format!("update acc set note = note || '{}' where grp = {number} % 4;", self.below(10)),
            5 => format!("update par set cnt = cnt + 1 where id = {number}; get diagnostics x = row_count;"),
            6 => format!("insert into par values ({number}, x) on conflict do nothing;"),
            7 => format!("insert into chi values ({number} + 20, {other}, {amount});"),
            8 => format!("delete from par where id = {number};"),
            9 => format!("delete from chi where id = {number} returning v into z;"),
            10 | 11 => format!(
                "insert into tally values ({number}, {other}, {amount}) on conflict (k, n) do update set v = tally.v + excluded.v;"
            ),
            12 => format!("insert into free values ({amount}, {number});"),
            13 => format!("insert into uniq values ({number} + 6, {other});"),
            14 => format!("update uniq set u = {other} + 100 where id = {number};"),
            15 => format!(
                "update acc set id = id + 20 where id = {number} and not exists (select from acc o where o.id = {number} + 20);"
            ),
            16 => format!("y := note_down({number}, t);"),
            17 | 18 => format!("call next_group({number});"),
            19 => format!("update acc set bal = bal + {amount} where id >= {number} and bump(id);"),
            20 => format!(
                "update doc d set grp = d.grp + a.grp from acc a where a.id = d.id and a.grp = {number} % 4;"
            ),
            21 => {
                format!("update doc set body = 'short ' || {number} where id = {other} and bump({number});")
            }
            22 => format!("y := {number} % 4; call deep(y, x);"),
            23 => format!("call careful({number} % 5);"),
            26 => format!(
                "select nullif(grp, grp), grp - grp into x, y from acc where id = {number}; update tally set v = v + 1 \
                 where k = x and n = 10 / y;"
            ),
            25 => format!("insert into loose values ({number}, {amount});"),
            24 => format!("update doc set body = repeat(t, 9) where grp = {number} returning grp into x;"),
            _ => format!("call add_child({number}, {other} + 30);"),
        }
    }

    fn compute(&mut self) -> String {
        let (number, amount) = (self.number(), self.amount());
        match self.below(10) {
            0 => format!("x := {number};"),
            1 => format!("y := {number} + 1;"),
            2 => format!("z := {amount} + 1;"),
            3 => "t := t || x;".to_owned(),
            4 | 5 => "x := (random() * 9)::int;".to_owned(),
            6 => "if random() < 0.5 then y := y + 1; end if;".to_owned(),
            7 => {
                format!("if {} then raise exception 'no' using errcode = 'P0002'; end if;", self.condition())
            }
            8 => format!("if {} then return; end if;", self.condition()),
            _ => format!("perform {number} / nullif(x, 0);"),
        }
    }
}
