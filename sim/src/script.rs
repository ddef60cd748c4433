//! Seeded random transactions over a few keys, and the model that says which states a crash may leave.
//!
//! A [`Script`] is run one transaction after the other, each in the session (worker, and therefore log) that
//! it names, without waiting for durability in between: early lock release makes them depend on each other
//! while none is durable yet. Each writing transaction also inserts its number into a *ledger*, so that the
//! recovered database tells which transactions it holds.
//!
//! After a crash [`check_recovered`] demands (architecture invariant 6):
//! 1. acknowledged transactions are recovered;
//! 2. the recovered set is closed under dependencies: a transaction that read or overwrote another's row does
//!    not survive without it;
//! 3. nothing that was rolled back, or never ran, is recovered;
//! 4. the rows are those of the recovered transactions, applied in the order in which they ran.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// One access of a scripted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Read {
        key: u64,
    },
    /// Inserts or overwrites without reading.
    Put {
        key: u64,
        value: i64,
    },
    /// Reads, adds, writes. An absent row counts as zero.
    Add {
        key: u64,
        amount: i64,
    },
    Delete {
        key: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptTransaction {
    /// The session that runs it, from 0.
    pub session: usize,
    pub steps: Vec<Step>,
    /// It ends in ROLLBACK.
    pub is_rolled_back: bool,
}

impl ScriptTransaction {
    /// Whether it leaves anything to recover (and inserts its number into the ledger).
    pub fn is_writing(&self) -> bool {
        !self.is_rolled_back && self.steps.iter().any(|step| !matches!(step, Step::Read { .. }))
    }
}

/// Options of [`Script::generate`]. Shares are percentages.
#[derive(Clone, Copy, Debug)]
pub struct ScriptOptions {
    pub transactions: usize,
    pub sessions: usize,
    /// Few keys make many dependencies.
    pub keys: u64,
    pub most_steps: usize,
    pub read_percent: u32,
    pub delete_percent: u32,
    pub rollback_percent: u32,
}

impl Default for ScriptOptions {
    fn default() -> ScriptOptions {
        ScriptOptions {
            transactions: 200,
            sessions: 4,
            keys: 12,
            most_steps: 4,
            read_percent: 25,
            delete_percent: 10,
            rollback_percent: 5,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub transactions: Vec<ScriptTransaction>,
}

impl Script {
    /// The same seed and options give the same script.
    pub fn generate(seed: u64, options: &ScriptOptions) -> Script {
        let mut random = StdRng::seed_from_u64(seed);
        let transactions =
            (0..options.transactions).map(|_| generate_transaction(&mut random, options)).collect();
        Script { transactions }
    }

    /// Numbers of the transactions that leave something to recover.
    pub fn writing(&self) -> BTreeSet<usize> {
        (0..self.transactions.len()).filter(|number| self.transactions[*number].is_writing()).collect()
    }
}

fn generate_transaction(random: &mut StdRng, options: &ScriptOptions) -> ScriptTransaction {
    let steps = (0..random.random_range(1..=options.most_steps)).map(|_| {
        let key = random.random_range(0..options.keys);
        let lot = random.random_range(0..100);
        if lot < options.read_percent {
            Step::Read { key }
        } else if lot < options.read_percent + options.delete_percent {
            Step::Delete { key }
        } else if random.random_bool(0.5) {
            Step::Put { key, value: random.random_range(0..1000) }
        } else {
            Step::Add { key, amount: random.random_range(1..100) }
        }
    });
    let steps = steps.collect();
    ScriptTransaction {
        session: random.random_range(0..options.sessions),
        steps,
        is_rolled_back: random.random_range(0..100) < options.rollback_percent,
    }
}

/// The rows that scripted transactions leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub rows: BTreeMap<u64, i64>,
}

impl Model {
    /// Runs the transaction. Returns what each of its steps sees (the row before the step).
    pub fn apply(&mut self, transaction: &ScriptTransaction) -> Vec<Option<i64>> {
        let before = transaction.is_rolled_back.then(|| self.rows.clone());
        let seen = transaction.steps.iter().map(|step| self.step(*step)).collect();
        if let Some(before) = before {
            self.rows = before;
        }
        seen
    }

    fn step(&mut self, step: Step) -> Option<i64> {
        match step {
            Step::Read { key } => self.rows.get(&key).copied(),
            Step::Put { key, value } => self.rows.insert(key, value),
            Step::Add { key, amount } => {
                let row = self.rows.get(&key).copied();
                self.rows.insert(key, row.unwrap_or(0) + amount);
                row
            }
            Step::Delete { key } => self.rows.remove(&key),
        }
    }
}

/// The dependencies of each transaction: the last writers, before it, of the rows that it read or wrote. A
/// reader that writes nothing depends on them too: it must not be *acknowledged* before them. Deleting a row
/// that is not there writes nothing.
pub fn dependencies(script: &Script) -> Vec<BTreeSet<usize>> {
    let mut last_writer: BTreeMap<u64, usize> = BTreeMap::new();
    let mut model = Model::default();
    let mut found = Vec::new();
    for (number, transaction) in script.transactions.iter().enumerate() {
        let mut depends_on = BTreeSet::new();
        for step in &transaction.steps {
            let (Step::Read { key } | Step::Put { key, .. } | Step::Add { key, .. } | Step::Delete { key }) =
                step;
            depends_on.extend(last_writer.get(key));
        }
        let seen = model.apply(transaction);
        for (step, seen) in transaction.steps.iter().zip(seen).filter(|_| transaction.is_writing()) {
            match step {
                Step::Delete { .. } if seen.is_none() => {}
                Step::Put { key, .. } | Step::Add { key, .. } | Step::Delete { key } => {
                    last_writer.insert(*key, number);
                }
                Step::Read { .. } => {}
            }
        }
        found.push(depends_on);
    }
    found
}

/// The state found after a crash, which [`check_recovered`] checks.
pub struct Recovered<'a> {
    /// Transactions whose commit (or, for those that only read, whose answer) was acknowledged.
    pub acknowledged: &'a BTreeSet<usize>,
    /// The numbers in the ledger.
    pub ledger: &'a BTreeSet<usize>,
    pub rows: &'a BTreeMap<u64, i64>,
}

/// See the module head. The error is a sentence that names the transactions.
pub fn check_recovered(script: &Script, recovered: &Recovered<'_>) -> Result<(), String> {
    let writing = script.writing();
    if let Some(alien) = recovered.ledger.difference(&writing).next() {
        return Err(format!("transaction {alien} is recovered, but it was rolled back or never ran"));
    }
    let dependencies = dependencies(script);
    for number in recovered.acknowledged {
        if writing.contains(number) && !recovered.ledger.contains(number) {
            return Err(format!("transaction {number} was acknowledged and is lost"));
        }
    }
    for number in recovered.ledger.union(recovered.acknowledged) {
        let lost = dependencies[*number].iter().find(|depended| !recovered.ledger.contains(depended));
        if let Some(lost) = lost {
            return Err(format!(
                "transaction {number} is recovered or acknowledged, but transaction {lost}, on which it depends, is lost"
            ));
        }
    }
    let mut model = Model::default();
    for number in recovered.ledger {
        model.apply(&script.transactions[*number]);
    }
    if model.rows != *recovered.rows {
        return Err(format!(
            "the rows are {:?}, but the recovered transactions left {:?}",
            recovered.rows, model.rows
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(steps: &[Step]) -> ScriptTransaction {
        ScriptTransaction { session: 0, steps: steps.to_vec(), is_rolled_back: false }
    }

    fn script() -> Script {
        let put = |key, value| Step::Put { key, value };
        Script {
            transactions: vec![
                transaction(&[put(1, 10)]),
                transaction(&[put(2, 20)]),
                transaction(&[Step::Add { key: 1, amount: 5 }]),
                transaction(&[Step::Read { key: 2 }]),
                ScriptTransaction { is_rolled_back: true, ..transaction(&[put(3, 1)]) },
            ],
        }
    }

    fn judge(acknowledged: &[usize], ledger: &[usize], rows: &[(u64, i64)]) -> Result<(), String> {
        let (acknowledged, ledger) =
            (acknowledged.iter().copied().collect(), ledger.iter().copied().collect());
        let rows = rows.iter().copied().collect();
        check_recovered(&script(), &Recovered { acknowledged: &acknowledged, ledger: &ledger, rows: &rows })
    }

    #[test]
    fn a_closed_set_that_holds_the_acknowledged_is_fine() {
        judge(&[0], &[0, 2], &[(1, 15)]).unwrap();
        judge(&[1, 3], &[1], &[(2, 20)]).unwrap();
        judge(&[], &[], &[]).unwrap();
    }

    #[test]
    fn what_may_not_happen_is_named() {
        assert!(judge(&[0], &[1], &[(2, 20)]).unwrap_err().contains("0 was acknowledged and is lost"));
        assert!(judge(&[], &[2], &[(1, 5)]).unwrap_err().contains("on which it depends"));
        assert!(judge(&[3], &[0], &[(1, 10)]).unwrap_err().contains("transaction 1, on which it depends"));
        assert!(judge(&[], &[4], &[(3, 1)]).unwrap_err().contains("rolled back"));
        assert!(judge(&[0], &[0], &[(1, 11)]).unwrap_err().contains("the rows are"));
    }

    #[test]
    fn a_delete_without_a_row_writes_nothing() {
        let delete = Step::Delete { key: 1 };
        let put = Step::Put { key: 1, value: 1 };
        let transactions = vec![transaction(&[delete]), transaction(&[put]), transaction(&[delete, delete])];
        let found = dependencies(&Script { transactions });
        assert_eq!(found, [BTreeSet::new(), BTreeSet::new(), BTreeSet::from([1])]);
    }

    #[test]
    fn generated_scripts_repeat_and_use_everything() {
        let options = ScriptOptions::default();
        let script = Script::generate(7, &options);
        assert_eq!(script, Script::generate(7, &options));
        assert_ne!(script, Script::generate(8, &options));
        assert!(script.transactions.iter().any(|one| one.is_rolled_back));
        assert!(
            (0..options.sessions).all(|session| script.transactions.iter().any(|one| one.session == session))
        );
        let everything = script.writing();
        let mut model = Model::default();
        script.transactions.iter().for_each(|one| {
            model.apply(one);
        });
        check_recovered(
            &script,
            &Recovered { acknowledged: &everything, ledger: &everything, rows: &model.rows },
        )
        .unwrap();
    }
}
