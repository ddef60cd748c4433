//! The ledger's tables with their sequence, secondary indexes, foreign key, checks and an audit by a trigger;
//! and a client that alters them while the others write.
//!
//! Each alteration is a *generation*: in one transaction it drops the column of the previous generation from
//! the ledger, adds its own, recreates an index and writes its number into a table. So the state after a
//! recovery can be checked: one column, that of the number in the table, filled in every row.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use postgres::Client;

use super::aside;
use super::end::{End, Stopped, classify};
use super::ledger::{CLIENTS, Marker, Outcome};

/// The pause between two alterations: each waits for all writers and lets none pass.
const PAUSE: Duration = Duration::from_millis(40);
/// Rows that are not read or written under load: a restart on demand loads them last.
pub(super) const BALLAST: i64 = 1_000_000;
/// A whole transaction of the ledger in one call; a server may log it as a command.
pub(super) const CALL: &str = "call crash_transfer($1, $2, $3, $4, $5)";
/// Its procedure. It draws from no sequence, because it would then be logged as data: it uses its own numbers
/// below zero.
const PROCEDURE: &str = "create procedure crash_transfer(
        its_client int, its_sequence bigint, its_delta int, its_account int, its_teller int)
    language plpgsql as $$ begin
        update pgbench_accounts set abalance = abalance + its_delta where aid = its_account;
        update pgbench_tellers set tbalance = tbalance + its_delta where tid = its_teller;
        update pgbench_branches set bbalance = bbalance + its_delta where bid = 1;
        insert into pgbench_history (tid, bid, aid, delta, mtime)
            values (its_teller, 1, its_account, its_delta, current_timestamp);
        insert into crash_ledger (number, client, sequence, delta)
            values (-8 * its_sequence - its_client, its_client, its_sequence, its_delta);
        update crash_counter set sequence = its_sequence where client = its_client;
    end $$";
/// Notes every change of an account, also of pgbench's own clients.
const AUDIT: &str = "create function crash_audit() returns trigger language plpgsql as $$ begin
        insert into crash_audit (aid, delta) values (new.aid, new.abalance - old.abalance);
        return null;
    end $$";
/// One of this many alterations is rolled back.
const ROLLED_BACK: i64 = 4;

/// Creates the tables of the ledger, beside pgbench's, with this many rows of ballast.
pub(super) fn create_tables(client: &mut Client, ballast: i64) -> Result<()> {
    // No unique index: a marker that was replayed twice must be found twice.
    let statements = [
        "create table crash_counter (client int primary key, sequence bigint not null check (sequence >= 0))",
        "create table crash_ledger (number bigserial, client int not null references crash_counter, \
         sequence bigint not null, delta int not null check (delta between -5000 and 5000))",
        "create index crash_ledger_by_client on crash_ledger (client, sequence desc)",
        "create index crash_ledger_by_delta on crash_ledger (abs(delta)) where delta > 0",
        aside::CREATE,
        "create table crash_audit (aid int not null, delta int not null)",
        AUDIT,
        "create trigger crash_audit after update on pgbench_accounts \
         for each row execute function crash_audit()",
        "create table crash_generation (number bigint not null)",
        "insert into crash_generation values (0)",
    ];
    for statement in statements {
        client.batch_execute(statement).with_context(|| statement.to_owned())?;
    }
    create_ballast(client, ballast)?;
    for number in 0..CLIENTS {
        client.batch_execute(&format!("insert into crash_counter values ({number}, 0)"))?;
    }
    Ok(())
}

/// Creates the procedure of [`CALL`]. An error if the server would not log it as a command.
pub(super) fn create_procedure(client: &mut Client) -> Result<()> {
    client.batch_execute(PROCEDURE).context("the procedure")?;
    let mut promised = String::new();
    for row in client.query("explain call crash_transfer(0, 1, 1, 1, 1)", &[])? {
        promised.push_str(row.try_get(0)?);
        promised.push('\n');
    }
    if !promised.contains("Logging: command") {
        bail!("the procedure of the ledger is not logged as a command: {promised}");
    }
    Ok(())
}

/// Creates a table that takes long to load.
pub(super) fn create_ballast(client: &mut Client, rows: i64) -> Result<()> {
    let ballast = format!(
        "create table crash_ballast (id bigint primary key, filler text not null); \
         insert into crash_ballast select id, repeat('x', 80) || id from generate_series(1, {rows}) as ids (id)"
    );
    client.batch_execute(&ballast).context("the ballast")
}

/// The client that alters the ledger.
pub(super) struct Alterer {
    client: Client,
    server_end: Arc<End>,
    /// The generation of the database.
    generation: i64,
}

impl Alterer {
    pub(super) fn new(client: Client, server_end: Arc<End>, generation: i64) -> Alterer {
        Alterer { client, server_end, generation }
    }

    pub(super) fn run(mut self) -> Result<Outcome> {
        let mut outcome = Outcome { generation: self.generation, ..Outcome::default() };
        for attempt in 1.. {
            let next = self.generation + 1;
            let end = if attempt % ROLLED_BACK == 0 { "rollback" } else { "commit" };
            let altered = self.alter(next).and_then(|()| {
                outcome.altering = (end == "commit").then_some(next);
                self.client.batch_execute(end)
            });
            match altered {
                Ok(()) if end == "commit" => {
                    self.generation = next;
                    outcome.generation = next;
                }
                Ok(()) => {}
                Err(error) => match classify(&error, &self.client, &self.server_end)? {
                    Stopped::Disconnected => break,
                    Stopped::Retry => {
                        outcome.retries += 1;
                        // If the server is gone, the next BEGIN reports it.
                        let _ = self.client.batch_execute("rollback");
                    }
                },
            }
            outcome.altering = None;
            std::thread::sleep(PAUSE);
        }
        Ok(outcome)
    }

    fn alter(&mut self, next: i64) -> std::result::Result<(), postgres::Error> {
        for statement in [
            "begin".to_owned(),
            format!(
                "alter table crash_ledger drop column if exists generation_{}, \
                 add column generation_{next} bigint not null default {next}",
                next - 1
            ),
            "drop index crash_ledger_by_delta".to_owned(),
            "create index crash_ledger_by_delta on crash_ledger (abs(delta)) where delta > 0".to_owned(),
            format!("update crash_generation set number = {next}"),
        ] {
            self.client.batch_execute(&statement)?;
        }
        Ok(())
    }
}

pub(super) fn generation(client: &mut Client) -> Result<i64> {
    Ok(client.query_one("select number from crash_generation", &[])?.try_get(0)?)
}

/// Checks that untouched rows have not changed.
pub(super) fn check_ballast(client: &mut Client, expected: i64) -> Result<()> {
    let sql = "select count(*), count(*) filter (where filler = repeat('x', 80) || id) from crash_ballast";
    let row = client.query_one(sql, &[]).context(sql)?;
    let (rows, right): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    if (rows, right) != (expected, expected) {
        bail!("the ballast has {rows} rows, {right} of them as they were, instead of {expected}");
    }
    Ok(())
}

/// Checks sequence, indexes, constraints and columns after a recovery. Returns the generation.
pub(super) fn check(client: &mut Client) -> Result<i64> {
    let generation = generation(client)?;
    check_columns(client, generation)?;
    check_sequence(client)?;
    check_indexes(client)?;
    for (statement, code) in [
        ("insert into crash_ledger (client, sequence, delta) values (-1, 1, 1)", "23503"),
        ("insert into crash_ledger (client, sequence, delta) values (0, 1, 5001)", "23514"),
        (
            "insert into crash_ledger (client, sequence, delta) values (0, 1, 1); delete from crash_counter",
            "23503",
        ),
    ] {
        match client.batch_execute(&format!("begin; {statement}")) {
            Ok(()) => bail!("no constraint refuses: {statement}"),
            Err(error) if error.code().is_some_and(|found| found.code() == code) => {}
            Err(error) => return Err(error).context(statement),
        }
        client.batch_execute("rollback")?;
    }
    Ok(generation)
}

fn check_columns(client: &mut Client, generation: i64) -> Result<()> {
    let sql = "select column_name::text from information_schema.columns where table_name = 'crash_ledger' \
               and column_name like 'generation%'";
    let columns: Vec<String> =
        client.query(sql, &[])?.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
    let expected: Vec<String> =
        (generation > 0).then(|| format!("generation_{generation}")).into_iter().collect();
    if columns != expected {
        bail!("generation {generation}, but the columns {columns:?}: an alteration came back in part");
    }
    for column in columns {
        let sql = format!("select count(*) from crash_ledger where {column} is distinct from {generation}");
        let others: i64 = client.query_one(&sql, &[])?.try_get(0)?;
        if others > 0 {
            bail!("{others} rows of the ledger do not have {column}'s default");
        }
    }
    Ok(())
}

/// Checks that no number was returned twice, and that the next one is beyond all of them.
fn check_sequence(client: &mut Client) -> Result<()> {
    let row = client.query_one(
        "select count(*) - count(distinct number), coalesce(max(number), 0) from crash_ledger",
        &[],
    )?;
    let (twice, highest): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let next: i64 = client.query_one("select nextval('crash_ledger_number_seq')", &[])?.try_get(0)?;
    if twice > 0 || next <= highest {
        bail!("the sequence gave {twice} numbers twice; after {highest} it gives {next}");
    }
    Ok(())
}

/// Checks that the indexes find what a scan finds.
fn check_indexes(client: &mut Client) -> Result<()> {
    let mut markers = |sql: &str| -> Result<Vec<Marker>> {
        let rows = client.query(sql, &[]).with_context(|| sql.to_owned())?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    };
    let all = markers("select client, sequence from crash_ledger")?;
    let mut by_client = Vec::new();
    for number in 0..CLIENTS {
        let sql =
            format!("select client, sequence from crash_ledger where client = {number} and sequence > 0");
        by_client.extend(markers(&sql)?);
    }
    let positive = markers("select client, sequence from crash_ledger where delta + 0 > 0")?;
    let by_delta = markers("select client, sequence from crash_ledger where abs(delta) > 0 and delta > 0")?;
    for (index, scanned, found) in
        [("crash_ledger_by_client", all, by_client), ("crash_ledger_by_delta", positive, by_delta)]
    {
        let scanned_set: HashSet<&Marker> = scanned.iter().collect();
        if scanned.len() != found.len() || found.iter().any(|marker| !scanned_set.contains(marker)) {
            bail!("{index} finds {} rows, a scan {}", found.len(), scanned.len());
        }
    }
    Ok(())
}
