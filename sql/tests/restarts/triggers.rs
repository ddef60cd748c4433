//! Triggers across crashes and clean stops: their definitions, and what they have done, also where calls that
//! fire them are run again.

use crate::harness::{across_ends, number, run, state};

const WORK: &[&str] = &[
    "create table account (id int primary key, owner text, balance numeric not null, changed timestamptz)",
    "create table audit (account int, n int, op text, was numeric, becomes numeric, at timestamptz, \
     primary key (account, n))",
    "create table totals (what text primary key, amount numeric)",
    "insert into totals values ('moved', 0), ('rows', 0)",
    "create function stamp() returns trigger language plpgsql as $$ begin \
     if new.balance < 0 then return null; end if; new.changed := now(); return new; end $$",
    "create function audited() returns trigger language plpgsql as $$ declare k int; begin \
     select coalesce(max(n), 0) + 1 into k from audit where account = coalesce(new.id, old.id); \
     if tg_op = 'DELETE' then insert into audit values (old.id, k, tg_op, old.balance, null, now()); \
     elsif tg_op = 'UPDATE' then insert into audit values (new.id, k, tg_op, old.balance, new.balance, now()); \
     else insert into audit values (new.id, k, tg_op, null, new.balance, now()); end if; return null; end $$",
    "create function counted() returns trigger language plpgsql as $$ begin \
     update totals set amount = amount + (select count(*) from n) where what = 'rows'; \
     update totals set amount = amount + (select coalesce(sum(abs(n.balance - o.balance)), 0) from n join o using (id)) \
     where what = tg_argv[0]; return null; end $$",
    "create function chained() returns trigger language plpgsql as $$ begin \
     if new.balance > 1000 then update account set balance = balance - 1000 where id = new.id; end if; \
     return null; end $$",
    "create trigger stamp before insert or update on account for each row execute function stamp()",
    "create trigger audited after insert or update of balance or delete on account for each row execute function audited()",
    "create trigger counted after update on account referencing old table as o new table as n \
     for each statement execute function counted('moved')",
    "create trigger zchained after update on account for each row when (new.balance > 1000) execute function chained()",
    "create procedure transfer(a int, b int, amount numeric) language plpgsql as $$ begin \
     update account set balance = balance - amount where id = a; \
     update account set balance = balance + amount where id = b; end $$",
    "insert into account select g, 'owner ' || g, 100 from generate_series(1, 5) g",
    "call transfer(1, 2, 30)",
    "call transfer(2, 3, 500)",
    "call transfer(4, 5, 70)",
    "call transfer(1, 5, 1950)",
    "delete from account where id = 4",
    "insert into account values (9, 'nine', -1)",
    "alter trigger audited on account rename to observed",
    "alter table account rename column balance to funds",
    "create or replace function audited() returns trigger language plpgsql as $$ declare k int; begin \
     select coalesce(max(n), 0) + 1 into k from audit where account = coalesce(new.id, old.id); \
     insert into audit values (coalesce(new.id, old.id), k, tg_op, old.funds, new.funds, now()); return null; end $$",
    "create or replace function stamp() returns trigger language plpgsql as $$ begin \
     new.changed := now(); return new; end $$",
    "create or replace function counted() returns trigger language plpgsql as $$ begin \
     update totals set amount = amount + (select count(*) from n) where what = 'rows'; return null; end $$",
    "create or replace function chained() returns trigger language plpgsql as $$ begin return null; end $$",
    "create or replace procedure transfer(a int, b int, amount numeric) language plpgsql as $$ begin \
     update account set funds = funds - amount where id = a; \
     update account set funds = funds + amount where id = b; end $$",
    "call transfer(1, 2, 7)",
    "alter table account disable trigger zchained",
    "create table noted (id int primary key)",
    "create function note() returns trigger language plpgsql as $$ begin insert into noted values (new.id); return new; end $$",
    "create constraint trigger later after insert on account deferrable initially deferred for each row execute function note()",
    "insert into account values (10, 'ten', 1)",
    "begin",
    "insert into account values (11, 'eleven', 1)",
    "rollback",
    "create view accounts as select id, funds from account",
    "create function through() returns trigger language plpgsql as $$ begin \
     insert into account values (new.id, 'viewed', new.funds); return new; end $$",
    "create trigger through instead of insert on accounts for each row execute function through()",
    "insert into accounts values (12, 5)",
    "begin",
    "create trigger never before insert on account for each row execute function note()",
    "rollback",
    "comment on trigger later on account is 'at the end'",
    "create trigger gone before insert on account for each row execute function note()",
    "drop trigger gone on account",
];

const LOOKS: &[&str] = &[
    "select * from account order by id",
    "select * from audit order by account, n",
    "select * from totals order by what",
    "select * from noted order by id",
    "select string_agg(tgname || ' ' || tgenabled || ' ' || pg_get_triggerdef(oid), ', ' order by tgname) from pg_trigger",
    "select string_agg(obj_description(oid, 'pg_trigger'), ' ') from pg_trigger",
];

#[test]
fn triggers_are_recovered_with_what_they_did() {
    across_ends(WORK, LOOKS, |connection, way| {
        let noted = number(connection, "select count(*) from noted");
        let audited = number(connection, "select count(*) from audit");
        run(connection, "insert into accounts values (20, 1), (21, 2)");
        assert_eq!(number(connection, "select count(*) from noted"), noted + 2, "{way}");
        assert_eq!(number(connection, "select count(*) from audit"), audited + 2, "{way}");
        run(connection, "call transfer(20, 21, 1)");
        assert_eq!(number(connection, "select count(*) from audit"), audited + 4, "{way}");
        assert_eq!(state(connection, "drop function audited()"), "2BP01", "{way}");
        assert_eq!(state(connection, "insert into account values (12, '', 1)"), "23505", "{way}");
    });
}
