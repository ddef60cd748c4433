//! Compares a recovered database with what the clients know.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use postgres::{Client, SimpleQueryMessage};

use super::ledger::{CLIENTS, Ledger, Marker};
use super::{aside, schema};
use crate::server::Instance;
use crate::tools::with_deadline;

/// A comparison that takes longer is waiting for something that will not happen.
const LIMIT: Duration = Duration::from_secs(120);

/// The results of a successful comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Verified {
    /// Acknowledged transactions of this database that were found, including those of earlier rounds.
    pub(super) markers: u64,
    /// Transactions without an answer that turned out to have happened, or not to have happened.
    pub(super) undecided_found: u64,
    pub(super) undecided_absent: u64,
}

/// The contents of the recovered database.
#[derive(Clone, Debug, Default)]
struct Found {
    markers: Vec<(Marker, i32)>,
    counters: [i64; CLIENTS],
    generation: i64,
    aside: Vec<i64>,
    /// accounts, tellers, branches, history, the audit of accounts.
    sums: [i64; 5],
    /// accounts, tellers, branches.
    counts: [i64; 3],
    /// history, the audit of accounts.
    changes: [i64; 2],
}

/// Errors name the first thing that is wrong. Decides the undecided markers of the ledger.
pub(super) fn compare(instance: &Instance, ledger: &mut Ledger) -> Result<Verified> {
    let (options, ballast) = (instance.connection_options(), ledger.ballast);
    let found = with_deadline("reading the recovered tables", LIMIT, move || {
        let mut client = options.connect(postgres::NoTls).context("cannot connect after recovery")?;
        schema::check_ballast(&mut client, ballast)?;
        read(&mut client)
    })?;
    check_totals(&found)?;
    check_counters(&found, ledger)?;
    check_generation(found.generation, ledger)?;
    ledger.aside.check(&found.aside)?;
    check_markers(&found.markers, ledger)
}

/// Which alteration came last, as a recovery shows it. From then on it is decided.
pub(super) fn decide_generation(instance: &Instance, ledger: &mut Ledger) -> Result<()> {
    let options = instance.connection_options();
    let found = with_deadline("reading the generation", LIMIT, move || {
        let mut client = options.connect(postgres::NoTls).context("cannot connect after recovery")?;
        schema::generation(&mut client)
    })?;
    check_generation(found, ledger)
}

/// Must be the last acknowledged alteration, or the one whose COMMIT was not answered.
fn check_generation(found: i64, ledger: &mut Ledger) -> Result<()> {
    if found != ledger.generation && ledger.altering != Some(found) {
        bail!(
            "the tables are of generation {found}; acknowledged was {}, not answered {:?}",
            ledger.generation,
            ledger.altering
        );
    }
    (ledger.generation, ledger.altering) = (found, None);
    Ok(())
}

fn read(client: &mut Client) -> Result<Found> {
    let mut found = Found::default();
    for row in client.query("select client, sequence, delta from crash_ledger", &[])? {
        found.markers.push(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?));
    }
    for row in client.query("select client, sequence from crash_counter", &[])? {
        let client: i32 = row.try_get(0)?;
        let place = usize::try_from(client).ok().and_then(|client| found.counters.get_mut(client));
        *place.with_context(|| format!("crash_counter holds client {client}, which never existed"))? =
            row.try_get(1)?;
    }
    let sums = [
        "abalance) from pgbench_accounts",
        "tbalance) from pgbench_tellers",
        "bbalance) from pgbench_branches",
        "delta) from pgbench_history",
        "delta) from crash_audit",
    ];
    for (place, what) in found.sums.iter_mut().zip(sums) {
        *place = read_number(client, &format!("select sum({what}"))?;
    }
    let tables = ["pgbench_accounts", "pgbench_tellers", "pgbench_branches"];
    for (place, table) in found.counts.iter_mut().zip(tables) {
        *place = read_number(client, &format!("select count(*) from {table}"))?;
    }
    for (place, table) in found.changes.iter_mut().zip(["pgbench_history", "crash_audit"]) {
        *place = read_number(client, &format!("select count(*) from {table}"))?;
    }
    found.generation = schema::check(client)?;
    found.aside = aside::read(client)?;
    Ok(found)
}

/// One number in text form, whatever its type. NULL (the sum of no rows) is 0.
fn read_number(client: &mut Client, sql: &str) -> Result<i64> {
    for message in client.simple_query(sql).with_context(|| sql.to_owned())? {
        if let SimpleQueryMessage::Row(row) = message {
            return row.get(0).unwrap_or("0").parse().with_context(|| sql.to_owned());
        }
    }
    bail!("no row: {sql}")
}

fn check_totals(found: &Found) -> Result<()> {
    if found.counts != [100_000, 10, 1] {
        bail!("accounts, tellers, branches: {:?} rows instead of [100000, 10, 1]", found.counts);
    }
    if found.sums.iter().any(|sum| *sum != found.sums[0]) {
        bail!("the sums of accounts, tellers, branches, history and audit differ: {:?}", found.sums);
    }
    if found.changes[0] != found.changes[1] {
        bail!("history and audit have {:?} rows", found.changes);
    }
    Ok(())
}

fn check_counters(found: &Found, ledger: &Ledger) -> Result<()> {
    for (client, (&counter, &seen)) in found.counters.iter().zip(&ledger.seen).enumerate() {
        if counter < seen {
            bail!(
                "a read was answered with transaction {seen} of client {client}, but only {counter} was recovered"
            );
        }
        let last =
            found.markers.iter().filter(|((c, _), _)| *c as usize == client).map(|((_, s), _)| *s).max();
        if counter != last.unwrap_or(0) {
            bail!(
                "client {client}: the counter says {counter}, the last marker is {last:?}: a transaction came back in part"
            );
        }
    }
    Ok(())
}

fn check_markers(markers: &[(Marker, i32)], ledger: &mut Ledger) -> Result<Verified> {
    let mut found: HashMap<Marker, i32> = HashMap::with_capacity(markers.len());
    for (marker, delta) in markers {
        match found.entry(*marker) {
            Entry::Occupied(_) => bail!("transaction {marker:?} was recovered twice"),
            Entry::Vacant(place) => place.insert(*delta),
        };
    }
    let lost: Vec<&Marker> =
        ledger.acknowledged.keys().filter(|marker| !found.contains_key(marker)).collect();
    if let Some(first) = lost.iter().min() {
        bail!("{} acknowledged transactions are lost, the first is {first:?}", lost.len());
    }
    for (marker, delta) in &found {
        match ledger.acknowledged.get(marker).or_else(|| ledger.undecided.get(marker)) {
            None => bail!(
                "transaction {marker:?} was recovered, but it was never committed, or an earlier recovery lost it"
            ),
            Some(sent) if sent != delta => {
                bail!("transaction {marker:?} came back with {delta} instead of {sent}")
            }
            Some(_) => {}
        }
    }
    let mut verified = Verified::default();
    for (marker, delta) in std::mem::take(&mut ledger.undecided) {
        if found.contains_key(&marker) {
            verified.undecided_found += 1;
            ledger.acknowledged.insert(marker, delta);
        } else {
            verified.undecided_absent += 1;
        }
    }
    verified.markers = ledger.acknowledged.len() as u64;
    Ok(verified)
}

/// One hash for each table, over its rows in any order.
pub(super) fn content_hash(instance: &Instance) -> Result<Vec<u64>> {
    let options = instance.connection_options();
    with_deadline("hashing the tables", LIMIT, move || {
        let mut client = options.connect(postgres::NoTls).context("cannot connect")?;
        let tables = ["pgbench_accounts", "pgbench_tellers", "pgbench_branches", "pgbench_history"];
        tables
            .iter()
            .chain(&["crash_ledger", "crash_counter", "crash_generation", "crash_aside", "crash_ballast"])
            .map(|table| hash_of_table(&mut client, table))
            .collect()
    })
}

fn hash_of_table(client: &mut Client, table: &str) -> Result<u64> {
    let mut sum = 0_u64;
    for message in client.simple_query(&format!("select * from {table}"))? {
        if let SimpleQueryMessage::Row(row) = message {
            let mut hasher = DefaultHasher::new();
            for column in 0..row.len() {
                row.try_get(column)?.hash(&mut hasher);
            }
            // A sum, unlike an exclusive or, notices a duplicated row.
            sum = sum.wrapping_add(hasher.finish());
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.acknowledged.extend([((0, 1), 5), ((1, 1), 6)]);
        ledger.undecided.insert((0, 2), 7);
        ledger
    }

    #[test]
    fn undecided_transactions_are_decided_once() {
        let mut ledger = ledger();
        let all = [((0, 1), 5), ((1, 1), 6), ((0, 2), 7)];
        let verified = check_markers(&all, &mut ledger).expect("all in order");
        assert_eq!(verified, Verified { markers: 3, undecided_found: 1, undecided_absent: 0 });
        // Once shown, it must stay.
        assert!(check_markers(&all[..2], &mut ledger).is_err());

        let mut ledger = self::ledger();
        assert_eq!(check_markers(&all[..2], &mut ledger).expect("all in order").undecided_absent, 1);
        // Once absent, it must not reappear.
        assert!(check_markers(&all, &mut ledger).is_err());
    }

    #[test]
    fn lost_doubled_invented_and_changed_transactions_are_errors() {
        for wrong in [
            vec![((0, 1), 5)],
            vec![((0, 1), 5), ((1, 1), 6), ((1, 1), 6)],
            vec![((0, 1), 5), ((1, 1), 6), ((3, 1), 1)],
            vec![((0, 1), 5), ((1, 1), 9)],
        ] {
            assert!(check_markers(&wrong, &mut ledger()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_alteration_is_there_once_it_was_shown() {
        let mut ledger = Ledger { generation: 3, altering: Some(4), ..Ledger::default() };
        assert!(check_generation(2, &mut ledger).is_err());
        assert!(check_generation(5, &mut ledger).is_err());
        assert!(check_generation(4, &mut ledger).is_ok());
        assert!(check_generation(3, &mut ledger).is_err());
    }

    #[test]
    fn sums_and_counters_must_agree() {
        let mut found = Found { counts: [100_000, 10, 1], sums: [4; 5], ..Found::default() };
        assert!(check_totals(&found).is_ok());
        found.changes = [2, 1];
        assert!(check_totals(&found).is_err());
        found.changes = [2, 2];
        assert!(check_totals(&found).is_ok());
        found.sums[2] = 3;
        assert!(check_totals(&found).is_err());

        let mut ledger = Ledger::default();
        found.markers = vec![((0, 3), 1)];
        found.counters[0] = 3;
        assert!(check_counters(&found, &ledger).is_ok());
        ledger.seen[0] = 4;
        assert!(check_counters(&found, &ledger).is_err());
        found.counters[0] = 4;
        assert!(check_counters(&found, &ledger).is_err());
    }
}
