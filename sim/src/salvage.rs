//! Damaged databases, and what a salvage keeps of them.
//!
//! A subject is a database of scripted transactions, half of them logged as calls, that was closed or killed
//! after all had been acknowledged. Its logs are damaged in one place, what can be kept is copied, and the
//! copy is checked:
//!
//! * by the script, which knows which transaction read or overwrote whose rows: the kept transactions are
//!   closed under these dependencies, and the rows are theirs, in the order in which they ran
//!   ([`check_recovered`]); none of them was hit by the damage;
//! * by the LSN vectors in the undamaged logs: exactly those transactions are dropped which may depend on the
//!   damage.
//!
//! Nothing is written to the damaged database, and the copy has the state that was salvaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_engine::config::Config;
use hyades_engine::db::{Engine, create_copy, open};
use hyades_engine::disk::{Disk, SECTOR_BYTES};
use hyades_engine::inspect::{EntryBody, Inspection, TransactionEntry};
use hyades_engine::log::record::{HEADER_BYTES, Operation};
use hyades_engine::log::store::LogIdentity;
use hyades_engine::log::store::block::{
    BLOCK_HEADER_BYTES, BlockHeader, SegmentHeader, check_block, decode_block_header, encode_block_header,
};
use hyades_engine::lsn::{Lsn, LsnVector};
use hyades_engine::protocol::RecordId;
use hyades_engine::recovery::salvage::{Salvage, salvage};
use hyades_engine::recovery::state_hash;
use hyades_types::definition::{TableId, TableName};
use hyades_types::key;
use hyades_types::value::{SqlType, Value};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::crash::{Calls, DATA, Life, Observed, Scenario, recovered_hash, wait_until_idle};
use crate::disk::{PowerCut, SimulatedDisk};
use crate::routines::test_compiler;
use crate::script::{Recovered, Script, ScriptOptions, check_recovered, dependencies};

/// How a subject is made.
#[derive(Clone, Copy, Debug)]
pub struct SubjectOptions {
    pub scenario: Scenario,
    pub transactions: usize,
    /// The number of keys: with few keys nearly everything depends on everything.
    pub keys: u64,
    /// Runs between two starts. The transactions are divided among them.
    pub incarnations: usize,
    pub is_killed: bool,
    /// Some transactions store a text that takes several log records, in small segments.
    pub has_ballast: bool,
    pub seed: u64,
}

/// A transaction as it is in the undamaged logs.
struct Logged {
    incarnation: u64,
    log: usize,
    start: u64,
    end: u64,
    vector: LsnVector,
    /// The (last) log records that it names, with a protocol whose records do.
    named: Vec<RecordId>,
    /// Its number in the script. The schema has none.
    number: Option<usize>,
    is_call: bool,
}

/// A block of a log.
#[derive(Clone, Debug)]
struct Block {
    path: PathBuf,
    offset: u64,
    bytes: u64,
    identity: LogIdentity,
    /// The positions of its payload.
    positions: Range<u64>,
}

/// A database at rest.
pub struct Subject {
    options: SubjectOptions,
    disk: SimulatedDisk,
    script: Script,
    logged: Vec<Logged>,
    blocks: Vec<Block>,
    /// For each transaction of the script, those that it read from or overwrote.
    dependencies: Vec<BTreeSet<usize>>,
}

/// A change to the logs, in one place.
#[derive(Clone, Debug)]
pub enum Damage {
    Bit {
        path: PathBuf,
        offset: u64,
        bit: u32,
    },
    Sector {
        path: PathBuf,
        offset: u64,
    },
    Cut {
        path: PathBuf,
        length: u64,
    },
    Gone {
        path: PathBuf,
    },
    /// A call's record claims that the call wrote something else. The checksums are right.
    Diverges {
        path: PathBuf,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// A bit of a block changed before its checksum was computed, as by faulty memory.
    Miswritten {
        path: PathBuf,
        offset: u64,
        bytes: Vec<u8>,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Bit { path, offset, bit } => {
                write!(f, "bit {bit} of byte {offset} of {}", path.display())
            }
            Damage::Sector { path, offset } => {
                write!(f, "the sector at {offset} of {} zeroed", path.display())
            }
            Damage::Cut { path, length } => write!(f, "{} cut to {length} bytes", path.display()),
            Damage::Gone { path } => write!(f, "{} gone", path.display()),
            Damage::Diverges { path, offset, .. } => {
                write!(f, "a call in the block at {offset} of {} made to diverge", path.display())
            }
            Damage::Miswritten { path, offset, .. } => {
                write!(f, "the block at {offset} of {} miswritten", path.display())
            }
        }
    }
}

/// The result of one salvage, in transactions of the script that wrote something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub all: u64,
    pub kept: u64,
    /// Transactions whose log records were damaged.
    pub hit: u64,
    /// Transactions that really depend on the damaged ones.
    pub dependent: u64,
    /// Transactions that do not depend on the damaged ones, but were dropped because their LSN vectors do
    /// not show that.
    pub needless: u64,
}

impl Outcome {
    pub fn add(&mut self, other: &Outcome) {
        self.all += other.all;
        self.kept += other.kept;
        self.hit += other.hit;
        self.dependent += other.dependent;
        self.needless += other.needless;
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { all, kept, hit, dependent, needless } = *self;
        let percent = |part: u64| part as f64 * 100.0 / all.max(1) as f64;
        write!(
            f,
            "of {all} transactions {kept} kept ({:.1} %), {hit} hit by the damage ({:.1} %), {dependent} dependent on these ({:.1} %), \
             {needless} dropped needlessly ({:.1} %)",
            percent(kept),
            percent(hit),
            percent(dependent),
            percent(needless)
        )
    }
}

fn as_text(error: hyades_types::Error) -> String {
    error.to_string()
}

impl Subject {
    /// Runs the script to its end.
    ///
    /// # Errors
    /// What prevented that.
    pub fn build(options: SubjectOptions) -> Result<Subject, String> {
        let SubjectOptions { transactions, keys, incarnations, is_killed, has_ballast, seed, .. } = options;
        let script = ScriptOptions { transactions, keys, ..ScriptOptions::default() };
        let script = Script::generate(seed, &script);
        let mut disk = SimulatedDisk::new(seed);
        let share = transactions / incarnations;
        for incarnation in 0..incarnations {
            let engine = open(config(&options, &disk), test_compiler()).map_err(as_text)?;
            let life = Life::begin_with(&*engine, seed, Calls::Mixed).map_err(as_text)?;
            let mut life = if has_ballast { life } else { life.without_ballast() };
            life.run(&script, incarnation * share..(incarnation + 1) * share).map_err(as_text)?;
            if life.acknowledged().len() != share {
                return Err("not everything was acknowledged".to_owned());
            }
            if is_killed && incarnation + 1 == incarnations {
                wait_until_idle(&disk);
            } else {
                engine.shutdown().map_err(as_text)?;
            }
            // The kill has taken the process and its lock. This engine ends without touching the copy.
            disk = disk.after(PowerCut::KeepUnsynced);
        }
        let mut script = script;
        script.transactions.truncate(share * incarnations);
        let dependencies = dependencies(&script);
        let mut subject =
            Subject { options, disk, script, logged: Vec::new(), blocks: Vec::new(), dependencies };
        subject.survey()?;
        Ok(subject)
    }

    /// Collects the positions of all blocks and transactions.
    fn survey(&mut self) -> Result<(), String> {
        let disk = Arc::new(self.disk.clone());
        let inspection = Inspection::open_on(disk, Path::new(DATA)).map_err(as_text)?;
        let mut ledger = None;
        for incarnation in &inspection.manifest().incarnations {
            let schema = inspection.schema(incarnation).map_err(as_text)?;
            let name = TableName { schema: "public".to_owned(), name: "ledger".to_owned() };
            ledger = schema.tables.iter().find(|(_, table)| table.name == name).map(|(id, _)| *id).or(ledger);
            let cut = inspection.cut(incarnation).map_err(as_text)?;
            for log in 0..incarnation.logs {
                let read = inspection.read(incarnation, log, |entry| {
                    if let EntryBody::Transaction(transaction) = &entry.body {
                        let (number, is_call) = identify(transaction, ledger);
                        self.logged.push(Logged {
                            incarnation: incarnation.number,
                            log,
                            start: entry.start.0,
                            end: entry.end.0,
                            vector: transaction.positions_up_to(&cut.limit),
                            named: transaction.follows.ids().to_vec(),
                            number,
                            is_call,
                        });
                    }
                    Ok(ControlFlow::Continue(()))
                });
                read.map_err(as_text)?;
            }
        }
        for path in self.disk.paths() {
            if path.extension().is_some_and(|extension| extension == "segment") {
                self.survey_segment(&path)?;
            }
        }
        Ok(())
    }

    fn survey_segment(&mut self, path: &Path) -> Result<(), String> {
        let content = self.disk.content(path).map_err(|error| error.to_string())?;
        let Ok(SegmentHeader { identity, .. }) = SegmentHeader::decode(&content) else { return Ok(()) };
        let mut offset = SECTOR_BYTES;
        while let Some(rest) = content.get(offset..)
            && let Ok(header) = decode_block_header(rest, &identity)
            && check_block(&rest[..BLOCK_HEADER_BYTES + header.payload_bytes])
        {
            let bytes = header.store_bytes();
            let positions = header.position..header.position + header.payload_bytes as u64;
            let path = path.to_owned();
            self.blocks.push(Block { path, offset: offset as u64, bytes, identity, positions });
            offset += bytes as usize;
        }
        Ok(())
    }

    fn sector_bytes(&self) -> usize {
        self.disk.sector_bytes(Path::new(DATA), None).unwrap_or(SECTOR_BYTES)
    }

    /// Chooses some damage.
    fn choose(&self, random: &mut StdRng) -> Damage {
        loop {
            let block = &self.blocks[random.random_range(0..self.blocks.len())];
            let Block { path, offset, bytes, .. } = block.clone();
            return match random.random_range(0..10) {
                0..4 => self.bit_of(block, random),
                4..6 => {
                    let sector_bytes = self.sector_bytes() as u64;
                    let sectors = bytes / sector_bytes;
                    let sector = random.random_range(0..sectors) * sector_bytes;
                    Damage::Sector { path, offset: offset + sector }
                }
                6 => Damage::Cut { path, length: offset + random.random_range(0..BLOCK_HEADER_BYTES as u64) },
                7 => Damage::Gone { path },
                _ => match self.diverging(block, random) {
                    Some(bytes) => Damage::Diverges { path, offset, bytes },
                    None => continue,
                },
            };
        }
    }

    /// A bit of the block, up to the end of the payload: the zeroes after it have no meaning.
    fn bit_of(&self, block: &Block, random: &mut StdRng) -> Damage {
        let bytes = BLOCK_HEADER_BYTES as u64 + block.positions.end - block.positions.start;
        let offset = block.offset + random.random_range(0..bytes);
        Damage::Bit { path: block.path.clone(), offset, bit: random.random_range(0..8) }
    }

    /// The last block of each log of the last run.
    fn last_blocks(&self) -> BTreeMap<u32, &Block> {
        let last_run = self.blocks.iter().map(|block| block.identity.incarnation).max();
        let mut last: BTreeMap<u32, &Block> = BTreeMap::new();
        for block in self.blocks.iter().filter(|block| Some(block.identity.incarnation) == last_run) {
            let known = last.entry(block.identity.log).or_insert(block);
            if known.positions.end < block.positions.end {
                *known = block;
            }
        }
        last
    }

    /// Whether a log of a killed process looks as if it had been killed before its last block was whole.
    fn may_be_unseen(&self, damaged: &SimulatedDisk, damages: &[Damage]) -> bool {
        let place = |block: &Block| (block.identity, block.positions.start);
        let last: Vec<_> = self.last_blocks().into_values().map(place).collect();
        let is_last = |block: &Block| last.contains(&place(block));
        self.options.is_killed && self.changed_blocks(damaged, damages).into_iter().all(is_last)
    }

    /// The block with one of its calls changed, or all of them.
    fn diverging(&self, block: &Block, random: &mut StdRng) -> Option<Vec<u8>> {
        let mut calls: Vec<&Logged> = self.calls_in(block).collect();
        if random.random_bool(0.8) {
            calls = vec![*calls.get(random.random_range(0..calls.len().max(1)))?];
        }
        let content = self.disk.content(&block.path).ok()?;
        let length = (block.positions.end - block.positions.start) as usize;
        let mut bytes = content[block.offset as usize..][..block.bytes as usize].to_vec();
        for call in &calls {
            let record = BLOCK_HEADER_BYTES + (call.start - block.positions.start) as usize;
            let end = BLOCK_HEADER_BYTES + (call.end - block.positions.start) as usize;
            let padding = usize::from(bytes[record + HEADER_BYTES - 2]);
            // The hash of what the call wrote comes last.
            bytes[end - padding - 1] ^= 1;
        }
        let header = BlockHeader::new(block.positions.start, length, self.sector_bytes(), 0);
        encode_block_header(&mut bytes, &block.identity, &header);
        (!calls.is_empty()).then_some(bytes)
    }

    fn calls_in<'a>(&'a self, block: &'a Block) -> impl Iterator<Item = &'a Logged> {
        self.logged.iter().filter(|one| {
            one.is_call
                && (one.incarnation, one.log) == (block.identity.incarnation, block.identity.log as usize)
                && block.positions.start <= one.start
                && one.end <= block.positions.end
        })
    }

    /// The block with a bit of its log records changed.
    fn miswritten(&self, random: &mut StdRng) -> Damage {
        let block = &self.blocks[random.random_range(0..self.blocks.len())];
        let content = self.disk.content(&block.path).unwrap_or_default();
        let length = (block.positions.end - block.positions.start) as usize;
        let mut bytes = content[block.offset as usize..][..block.bytes as usize].to_vec();
        bytes[BLOCK_HEADER_BYTES + random.random_range(0..length)] ^= 1 << random.random_range(0..8);
        let header = BlockHeader::new(block.positions.start, length, self.sector_bytes(), 0);
        encode_block_header(&mut bytes, &block.identity, &header);
        Damage::Miswritten { path: block.path.clone(), offset: block.offset, bytes }
    }

    /// The disk with the damages, applied one after the other.
    fn damaged(&self, damages: &[Damage]) -> SimulatedDisk {
        let disk = self.disk.after(PowerCut::KeepUnsynced);
        for damage in damages {
            self.damage(&disk, damage);
        }
        disk
    }

    fn damage(&self, disk: &SimulatedDisk, damage: &Damage) {
        let (Damage::Bit { path, .. }
        | Damage::Sector { path, .. }
        | Damage::Cut { path, .. }
        | Damage::Gone { path }
        | Damage::Diverges { path, .. }
        | Damage::Miswritten { path, .. }) = damage;
        // Another damage may have removed the file, or its end.
        let Ok(mut bytes) = disk.content(path) else { return };
        match damage {
            Damage::Bit { offset, bit, .. } => {
                bytes.get_mut(*offset as usize).into_iter().for_each(|byte| *byte ^= 1 << bit);
            }
            Damage::Sector { offset, .. } => {
                bytes.iter_mut().skip(*offset as usize).take(self.sector_bytes()).for_each(|byte| *byte = 0);
            }
            Damage::Cut { length, .. } => bytes.truncate(*length as usize),
            Damage::Gone { .. } => return disk.take_away(path),
            Damage::Diverges { offset, bytes: new, .. } | Damage::Miswritten { offset, bytes: new, .. } => {
                let place = bytes.iter_mut().skip(*offset as usize);
                place.zip(new).for_each(|(byte, new)| *byte = *new);
            }
        }
        disk.replace(path, &bytes);
    }

    /// The blocks whose bytes are wrong. Those of diverging calls are formally right.
    fn changed_blocks(&self, damaged: &SimulatedDisk, damages: &[Damage]) -> Vec<&Block> {
        let diverging = damages.iter().filter(|damage| matches!(damage, Damage::Diverges { .. }));
        let whole = self.damaged(&diverging.cloned().collect::<Vec<_>>());
        let mut contents: BTreeMap<PathBuf, (Vec<u8>, Vec<u8>)> = BTreeMap::new();
        let mut is_changed = |block: &&Block| {
            let (before, after) = contents.entry(block.path.clone()).or_insert_with(|| {
                let content = |disk: &SimulatedDisk| disk.content(&block.path).unwrap_or_default();
                (content(&whole), content(damaged))
            });
            let place = block.offset as usize..(block.offset + block.bytes) as usize;
            before.get(place.clone()) != after.get(place)
        };
        self.blocks.iter().filter(|block| is_changed(block)).collect()
    }

    /// The transactions of the script that have lost a part of their log records.
    fn hit(&self, damaged: &SimulatedDisk, damages: &[Damage], salvage: &Salvage) -> BTreeSet<usize> {
        let condemned = salvage.damages.iter().filter(|damage| damage.is_record);
        let condemned: BTreeSet<_> =
            condemned.map(|damage| (damage.incarnation, damage.log, damage.position.0)).collect();
        let mut lost: BTreeMap<(u64, usize), Vec<Range<u64>>> = BTreeMap::new();
        for block in self.changed_blocks(damaged, damages) {
            let log = (block.identity.incarnation, block.identity.log as usize);
            lost.entry(log).or_default().push(block.positions.clone());
        }
        let is_hit = |one: &&Logged| {
            condemned.contains(&(one.incarnation, one.log, one.end))
                || lost.get(&(one.incarnation, one.log)).is_some_and(|ranges| {
                    ranges.iter().any(|range| one.start < range.end && range.start < one.end)
                })
        };
        self.logged.iter().filter(is_hit).filter_map(|one| one.number).collect()
    }

    /// The transactions that must go by the LSN vectors of the undamaged logs, given up to where the salvage
    /// could read.
    fn expected(&self, salvage: &Salvage) -> BTreeSet<usize> {
        let mut kept = BTreeSet::new();
        let mut has_lost = false;
        for incarnation in &salvage.manifest.incarnations {
            let number = incarnation.number;
            let ours: Vec<&Logged> = self.logged.iter().filter(|one| one.incarnation == number).collect();
            let damages: Vec<_> = salvage.damages.iter().filter(|one| one.incarnation == number).collect();
            if has_lost {
                continue;
            }
            has_lost = !damages.is_empty();
            let salvaged = salvage.incarnations.iter().find(|one| one.number == number);
            // The end of a log may have been lost without a trace.
            let is_beyond = |log: usize, position: u64| {
                let is_damaged = damages.iter().any(|damage| damage.log == log);
                !is_damaged && salvaged.is_some_and(|salvaged| position > salvaged.end(log).0)
            };
            let follows_beyond = |one: &Logged| {
                is_beyond(one.log, one.end)
                    || (0..incarnation.logs).any(|log| is_beyond(log, one.vector.get(log).0))
            };
            let ours = without_zombies(ours, follows_beyond);
            let mut is_dropped: Vec<bool> = ours
                .iter()
                .map(|one| {
                    damages.iter().filter(|damage| damage.log == one.log).any(|damage| {
                        if damage.is_record {
                            one.end == damage.position.0
                        } else {
                            one.end > damage.position.0
                        }
                    })
                })
                .collect();
            loop {
                let mut first = vec![u64::MAX; incarnation.logs];
                for (one, _) in ours.iter().zip(&is_dropped).filter(|(_, is_dropped)| **is_dropped) {
                    first[one.log] = first[one.log].min(one.end);
                }
                // If a log ends too early, not even the first missing transaction is known.
                for damage in damages.iter().filter(|damage| !damage.is_record) {
                    first[damage.log] = first[damage.log].min(damage.position.0 + 8);
                }
                let mut has_changed = false;
                for (one, is_dropped) in ours.iter().zip(&mut is_dropped) {
                    let depends = (0..incarnation.logs).any(|log| one.vector.get(log).0 >= first[log]);
                    has_changed |= depends && !*is_dropped;
                    *is_dropped |= depends;
                }
                if !has_changed {
                    break;
                }
            }
            let left = ours.iter().zip(&is_dropped).filter(|(_, is_dropped)| !**is_dropped);
            kept.extend(left.filter_map(|(one, _)| one.number));
        }
        kept
    }

    /// Damages a copy of the database at random, salvages it, and checks what is kept.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn damage_and_salvage(&self, damages: usize, random: &mut StdRng) -> Result<Outcome, String> {
        let damages: Vec<Damage> = (0..damages).map(|_| self.choose(random)).collect();
        self.salvage_after(&damages).map_err(|wrong| self.accuse(&damages, &wrong))
    }

    /// As [`Subject::damage_and_salvage`], with a bit changed in the last block of each log in turn.
    ///
    /// # Errors
    /// What is wrong with what is kept.
    pub fn damage_ends_and_salvage(&self, random: &mut StdRng) -> Result<(), String> {
        self.last_blocks().into_values().try_for_each(|block| {
            let damages = [self.bit_of(block, random)];
            self.salvage_after(&damages).map(drop).map_err(|wrong| self.accuse(&damages, &wrong))
        })
    }

    /// As [`Subject::damage_and_salvage`], with bytes that were wrong already when their checksum was
    /// computed. It cannot be known what the transactions in them were, so this only checks that nothing
    /// breaks off, and that what is kept is a database.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn miswrite_and_salvage(&self, random: &mut StdRng) -> Result<(), String> {
        let damages = [self.miswritten(random)];
        match self.salvage_and_copy(&damages) {
            // The one bit that tells which program can replay a call.
            Err(wrong) if wrong.contains("under another version of this program") => Ok(()),
            salvaged => salvaged.map(drop).map_err(|wrong| self.accuse(&damages, &wrong)),
        }
    }

    fn accuse(&self, damages: &[Damage], wrong: &str) -> String {
        let damages: Vec<String> = damages.iter().map(Damage::to_string).collect();
        format!("{:?}, {}: {wrong}", self.options, damages.join(", "))
    }

    /// Salvages the damaged files without changing them, and copies the result.
    fn salvage_and_copy(
        &self,
        damages: &[Damage],
    ) -> Result<(SimulatedDisk, Salvage, Arc<dyn Engine>), String> {
        let damaged = self.damaged(damages);
        let operations = damaged.operations();
        let config = config(&self.options, &damaged);
        let (catalog, salvage) =
            salvage(&config, test_compiler()).map_err(|error| format!("refused: {error}"))?;
        if damaged.operations() != operations {
            return Err("the damaged database was written to".to_owned());
        }
        let copy = SimulatedDisk::new(self.options.seed);
        let copy_config = Config { disk: Arc::new(copy.clone()), ..config };
        create_copy(&copy_config, &catalog).map_err(|error| format!("cannot be copied: {error}"))?;
        if recovered_hash(&copy, self.options.scenario)? != state_hash(&catalog).map_err(as_text)? {
            return Err("the copy is not what was salvaged".to_owned());
        }
        let engine =
            open(copy_config, test_compiler()).map_err(|error| format!("the copy does not open: {error}"))?;
        Ok((damaged, salvage, engine))
    }

    fn salvage_after(&self, damages: &[Damage]) -> Result<Outcome, String> {
        let (damaged, salvage, engine) = self.salvage_and_copy(damages)?;
        let observed = Observed::read(&*engine).map_err(|error| format!("cannot be read: {error}"))?;
        if salvage.damages.is_empty() && !self.may_be_unseen(&damaged, damages) {
            return Err("no damage was found".to_owned());
        }
        let condemned = salvage.damages.iter().filter(|damage| damage.is_record).count();
        if condemned > 8 * self.options.scenario.logs {
            return Err(format!("{condemned} log records cost a replay each"));
        }
        let acknowledged = BTreeSet::new();
        let (ledger, rows) = (&observed.ledger, &observed.rows);
        check_recovered(&self.script, &Recovered { acknowledged: &acknowledged, ledger, rows })?;
        self.judge(&damaged, damages, &salvage, ledger)
    }

    fn judge(
        &self,
        damaged: &SimulatedDisk,
        damages: &[Damage],
        salvage: &Salvage,
        ledger: &BTreeSet<usize>,
    ) -> Result<Outcome, String> {
        let writing = self.script.writing();
        let mut affected: BTreeSet<usize> = self.hit(damaged, damages, salvage);
        affected.retain(|number| writing.contains(number));
        let hit = affected.len() as u64;
        for number in &writing {
            if self.dependencies[*number].iter().any(|on| affected.contains(on)) {
                affected.insert(*number);
            }
        }
        if let Some(wrong) = ledger.intersection(&affected).next() {
            return Err(format!(
                "transaction {wrong} is kept, but depends on the damage: {:?}",
                salvage.damages
            ));
        }
        let expected: BTreeSet<usize> = self.expected(salvage).intersection(&writing).copied().collect();
        if let Some(other) = expected.symmetric_difference(ledger).next() {
            return Err(format!(
                "transaction {other} is {}kept, and its LSN vector says otherwise: {:?}",
                if ledger.contains(other) { "" } else { "not " },
                salvage.damages
            ));
        }
        let all = writing.len() as u64;
        let kept = ledger.len() as u64;
        let dependent = affected.len() as u64 - hit;
        Ok(Outcome { all, kept, hit, dependent, needless: all - kept - hit - dependent })
    }
}

/// The transactions without the zombies: those that follow something beyond the end of a log, directly or,
/// where their records name others, through what these name. An LSN vector says both at once.
fn without_zombies(transactions: Vec<&Logged>, follows_beyond: impl Fn(&Logged) -> bool) -> Vec<&Logged> {
    let id = |one: &Logged| RecordId::new(one.log, Lsn(one.end));
    let (mut found, mut left): (Vec<_>, Vec<_>) =
        transactions.into_iter().partition(|one| follows_beyond(one));
    let mut zombies = BTreeSet::new();
    while !found.is_empty() {
        zombies.extend(found.into_iter().map(id));
        (found, left) =
            left.into_iter().partition(|one| one.named.iter().any(|named| zombies.contains(named)));
    }
    left
}

fn config(options: &SubjectOptions, disk: &SimulatedDisk) -> Config {
    let config = options.scenario.config(disk);
    if options.has_ballast {
        return config;
    }
    Config { segment_bytes: 1 << 20, log_buffer_bytes: 1 << 20, ..config }
}

/// The number of a scripted transaction, and whether it was logged as a call.
fn identify(transaction: &TransactionEntry<'_>, ledger: Option<TableId>) -> (Option<usize>, bool) {
    for operation in transaction.operations().flatten() {
        match operation {
            Operation::Put { table, key: bytes, .. } if Some(table) == ledger => {
                return (decode_number(bytes), false);
            }
            Operation::Command(command) => {
                let arguments = command.arguments().unwrap_or_default();
                let number = match arguments.first() {
                    Some(Value::BigInt(number)) => Some(*number as usize),
                    _ => None,
                };
                return (number, true);
            }
            _ => {}
        }
    }
    (None, false)
}

/// The number whose key these bytes are.
fn decode_number(bytes: &[u8]) -> Option<usize> {
    let mut zero = Vec::new();
    key::encode(&Value::BigInt(0), SqlType::BigInt, &mut zero);
    let number = |bytes: &[u8]| bytes.first_chunk().copied().map(u64::from_be_bytes);
    Some((number(bytes)?.wrapping_sub(number(&zero)?)) as usize)
}

/// The databases: one to four logs, one serial log, and records that name others; closed after one run with
/// few rows, and killed after the second with many.
fn subjects(transactions: usize, has_ballast: bool, seed: u64) -> Result<Vec<Subject>, String> {
    let scenarios = [
        Scenario::taurus(if has_ballast { 3 } else { 4 }),
        Scenario::taurus(2),
        Scenario::taurus(1),
        Scenario::serial(),
        Scenario::taurus_graph(3),
    ];
    let mut subjects = Vec::new();
    for (number, scenario) in scenarios.into_iter().enumerate() {
        for is_killed in [false, true] {
            let seed = seed + number as u64;
            let incarnations = if is_killed { 2 } else { 1 };
            let keys = if is_killed { transactions as u64 * 5 } else { transactions as u64 / 20 };
            let options =
                SubjectOptions { scenario, transactions, keys, incarnations, is_killed, has_ballast, seed };
            subjects.push(Subject::build(options)?);
        }
    }
    Ok(subjects)
}

/// Runs `salvages` salvages, with subjects of this many transactions each and this many damages at once.
///
/// # Errors
/// The first failure.
pub fn run(
    salvages: u64,
    transactions: usize,
    damages: usize,
    seed: u64,
) -> Result<Vec<(String, Outcome)>, String> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut outcomes = Vec::new();
    // Transactions in fragments are not counted as hit, because their places are not known.
    let subjects = subjects(transactions, damages > 1, seed)?;
    let each = salvages.div_ceil(subjects.len() as u64);
    for subject in subjects {
        let mut sum = Outcome::default();
        for _ in 0..each {
            sum.add(&subject.damage_and_salvage(damages, &mut random)?);
        }
        let SubjectOptions { scenario, is_killed, .. } = subject.options;
        let how = if is_killed { "two runs, killed, many rows" } else { "one run, closed, few rows" };
        outcomes.push((format!("{:?} with {} logs, {how}", scenario.protocol, scenario.logs), sum));
    }
    Ok(outcomes)
}

/// Salvages databases whose logs are damaged in their last blocks.
///
/// # Errors
/// The first failure.
pub fn run_at_ends(transactions: usize, seed: u64) -> Result<(), String> {
    let mut random = StdRng::seed_from_u64(seed);
    subjects(transactions, false, seed)?
        .iter()
        .try_for_each(|subject| subject.damage_ends_and_salvage(&mut random))
}

/// Runs `salvages` salvages of databases whose bytes were wrong before they were written.
///
/// # Errors
/// The first failure.
pub fn run_miswritten(salvages: u64, transactions: usize, seed: u64) -> Result<(), String> {
    let mut random = StdRng::seed_from_u64(seed);
    let subjects = subjects(transactions, true, seed)?;
    (0..salvages as usize)
        .try_for_each(|number| subjects[number % subjects.len()].miswrite_and_salvage(&mut random))
}
