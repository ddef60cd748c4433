//! Bugs that the simulation finds, each with a seed that has found it; and docs/mutants.md, which lists all
//! of them.
//!
//! A seed repeats the same run until the code changes. Then another seed may find the bug, so a few more are
//! tried. `cargo run -p hyades-sim -- --mutant NAME` searches from the first seed on.

use std::collections::BTreeMap;
use std::time::Duration;

use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::crash::within;
use hyades_sim::in_repository;
use hyades_sim::simulation::run;

const LIMIT: Duration = Duration::from_secs(120);
/// The number of seeds that are tried after the known one.
const MORE: u64 = 40;

const FOUND: [(Mutant, u64); 26] = [
    (Mutant::OwnEndInStoredLv, 1),
    (Mutant::ReserveBeforeFreeze, 1),
    (Mutant::ReleaseBeforeRaise, 1),
    (Mutant::ReadOnlyNoWait, 4),
    (Mutant::DurableBeforeSync, 3),
    (Mutant::ZombiesRevived, 8),
    (Mutant::NoSyncBeforeCut, 108),
    (Mutant::ZeroTupleLv, 1344),
    (Mutant::IdleWorkerInfinity, 1),
    (Mutant::SkipRowLock, 3),
    (Mutant::ReplayReadsNewest, 14),
    (Mutant::EndsBeforeDurable, 3),
    (Mutant::PreparedTooEarly, 2),
    (Mutant::NoVersionMark, 1),
    (Mutant::SegmentsGoTooEarly, 2),
    (Mutant::CheckpointedReplayed, 2),
    (Mutant::ManifestUnsynced, 1),
    (Mutant::TrimmedBeforeManifest, 3),
    (Mutant::CommandsAtAnyLevel, 39),
    (Mutant::SegmentNameUnsynced, 1),
    (Mutant::CheckpointUnsynced, 1),
    (Mutant::EpochLeftEarly, 1),
    (Mutant::MilestoneTooEarly, 1),
    (Mutant::PartWithoutLatch, 2),
    (Mutant::HeartbeatBesideLatch, 6),
    (Mutant::StampOfTheFurthest, 14),
];

#[test]
fn the_simulation_finds_them() {
    for (mutant, seed) in FOUND {
        activate(Some(mutant));
        let mut seeds = seed..=seed + MORE;
        let found = seeds.find_map(|seed| Some((seed, within(LIMIT, move || run(seed, 0)).err()?)));
        activate(None);
        let Some((found, wrong)) = found else { panic!("{mutant:?} was not found from seed {seed} on") };
        let clean = within(LIMIT, move || run(found, 0)).map(drop);
        assert_eq!(clean, Ok(()), "seed {found} must find nothing without a bug");
        println!("{mutant:?}: seed {found}: {}", wrong.lines().next().unwrap_or_default());
    }
}

#[test]
fn the_document_lists_all_of_them() {
    let document = std::fs::read_to_string(in_repository("docs/mutants.md")).expect("docs/mutants.md");
    let rows: BTreeMap<&str, Vec<&str>> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| row.split_once("` | "))
        .map(|(name, rest)| (name, rest.split(" | ").collect()))
        .collect();
    assert_eq!(rows.len(), Mutant::ALL.len(), "rows: {:?}", rows.keys());
    for mutant in Mutant::ALL {
        let name = format!("{mutant:?}");
        let row = rows.get(name.as_str()).unwrap_or_else(|| panic!("{name} is missing"));
        let seed = FOUND.iter().find(|(found, _)| *found == mutant).map(|(_, seed)| seed.to_string());
        let shown = row[2].trim_end_matches(" |").trim();
        assert_eq!(shown, seed.as_deref().unwrap_or("-"), "the seed of {name}");
        let files: Vec<&str> = row[1].split(", ").map(|file| file.trim_matches('`')).collect();
        for file in files.iter().filter(|file| **file != "-") {
            let text =
                std::fs::read_to_string(in_repository(file)).unwrap_or_else(|_| panic!("{file} is missing"));
            assert!(text.contains(&name), "{file} does not name {name}");
        }
        assert!(seed.is_some() || files != ["-"], "nothing catches {name}");
    }
}
