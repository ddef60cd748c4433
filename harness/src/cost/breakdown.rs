//! `cargo xtask cost --breakdown`: where the instructions of a call go, by room. A room is a part of the
//! engine, known by its source files.
//!
//! The papers on Taurus show where the time goes: figure 15 of the one on LSN vectors (VLDB 2020, section
//! 5.6; YCSB with 2 to 2,000 rows) and figure 7 of the one on dependency graphs (section 6.3; YCSB and TPC-C
//! under all kinds of logging). These are the same workloads, with one session and without contention.
//!
//! Callgrind knows from which source file each instruction comes, also where functions were inlined
//! ([`super::callgrind`]). An instruction belongs
//! 1. to the room of the file of its line, if that is one of [`ROOMS`];
//! 2. else to the room of the file in which its function begins: the standard library, other crates, our
//!    types and what `ROOMS` calls shared work for the function into which they were inlined;
//! 3. else to the rooms of the lines that call the function (copying, allocation, dropping of values): in
//!    proportion to the instructions of these calls, if there are several. A caller without a room hands on
//!    to its own callers in the same way, hence the repetition in [`shares`]. Calls of a function by itself
//!    do not count;
//! 4. else, without callers, to `libraries`.
//!
//! A function of ours whose first instruction was inlined from elsewhere (one that reads an atomic and no
//! more) counts as one without a room; these are 2 % of the instructions of a call of YCSB.
//!
//! Each room is counted in two runs with different numbers of calls, and the difference is divided by theirs.
//! Callgrind's total must be the sum of its lines, and that of the rooms; otherwise the command fails.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::callgrind::Profile;
use super::{COUNTED, UNLOGGED, profiled};
use crate::tools;

/// What instructions are executed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// The procedure: instructions, expressions.
    Logic,
    /// From keys to records, and the order of keys.
    Index,
    /// Rows, records and their versions.
    Rows,
    /// Locks, reads, writes, undo, the end of a transaction.
    Control,
    /// What a transaction must follow, and how a log record says so.
    Tracking,
    /// Log records, buffers, durable positions.
    Log,
    /// The session, the worker, the catalog.
    Rest,
    /// Of no known caller.
    Libraries,
}

const NAMES: [&str; 8] = ["logic", "index", "rows", "control", "tracking", "log", "rest", "libraries"];

/// Instructions by room.
type Rooms = [u64; NAMES.len()];
type Shares = [f64; NAMES.len()];

/// Folders, and files without their `.rs`. The longest that fits decides. `None`: shared, so it belongs to
/// the function into which it was inlined.
const ROOMS: [(&str, Option<Room>); 37] = [
    ("engine/src/procedure", Some(Room::Logic)),
    ("engine/src/storage/primary_index", Some(Room::Index)),
    ("engine/src/storage/ordered_index", Some(Room::Index)),
    ("engine/src/storage/hash_index", Some(Room::Index)),
    ("engine/src/storage/secondary_index", Some(Room::Index)),
    ("engine/src/storage/unfinished_index", Some(Room::Index)),
    ("engine/src/storage/key_run", Some(Room::Index)),
    ("engine/src/storage/early_runs", Some(Room::Index)),
    ("engine/src/storage/range_notes", Some(Room::Index)),
    ("engine/src/storage/scan_batch", Some(Room::Index)),
    ("types/src/key", Some(Room::Index)),
    ("engine/src/storage", Some(Room::Rows)),
    ("engine/src/txn", Some(Room::Control)),
    ("engine/src/commit_clock", Some(Room::Control)),
    ("engine/src/ticket", Some(Room::Control)),
    ("engine/src/txn/lock_table/trace", Some(Room::Tracking)),
    ("engine/src/protocol", Some(Room::Tracking)),
    ("engine/src/lsn", Some(Room::Tracking)),
    // What all protocols share, and the two that follow nothing.
    ("engine/src/protocol.rs", Some(Room::Log)),
    ("engine/src/protocol/none", Some(Room::Log)),
    ("engine/src/protocol/serial", Some(Room::Log)),
    ("engine/src/log", Some(Room::Log)),
    ("engine/src/disk", Some(Room::Log)),
    ("engine/src/storage/catalog", Some(Room::Rest)),
    ("engine/src/storage/common", Some(Room::Rest)),
    ("engine/src/storage/compilations", Some(Room::Rest)),
    ("engine/src/storage/databases", Some(Room::Rest)),
    ("engine/src/storage/opening", Some(Room::Rest)),
    ("engine/src/storage/stored_routine", Some(Room::Rest)),
    ("engine/src", Some(Room::Rest)),
    ("sql/src", Some(Room::Rest)),
    ("bench/src", Some(Room::Rest)),
    // The allocator of the program that is measured.
    ("bench/examples", None),
    ("engine/src/sync", None),
    ("engine/src/local_arc", None),
    ("engine/src/storage/prefetch", None),
    ("engine/src/mutant", None),
];

/// The room of a file, named relative to the repository.
fn room_of(file: &str) -> Option<Room> {
    let fits = |entry: &&(&str, _)| {
        file.strip_prefix(entry.0)
            .is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
    };
    ROOMS.iter().filter(fits).max_by_key(|(prefix, _)| prefix.len())?.1
}

/// All instructions to one room.
fn whole(room: Room) -> Shares {
    let mut shares = [0.0; NAMES.len()];
    shares[room as usize] = 1.0;
    shares
}

/// Divides a profile into rooms.
fn divide(profile: &Profile, root: &Path) -> Result<Rooms> {
    let room_of_file = |file: &String| {
        let path = Path::new(file);
        room_of(path.strip_prefix(root).unwrap_or(path).to_str()?)
    };
    let files: Vec<Option<Room>> = profile.files.iter().map(room_of_file).collect();
    let shares = shares(profile, &files);
    let mut rooms = Rooms::default();
    for ((function, file), instructions) in &profile.own {
        let parts = files[*file].map_or(shares[*function], whole);
        let mut left = *instructions;
        for (room, part) in rooms.iter_mut().zip(parts) {
            let given = ((*instructions as f64 * part) as u64).min(left);
            *room += given;
            left -= given;
        }
        let largest = (0..parts.len()).max_by(|a, b| parts[*a].total_cmp(&parts[*b])).unwrap_or(0);
        rooms[largest] += left;
    }
    let (sum, total) = (rooms.iter().sum::<u64>(), profile.total());
    ensure!(sum == total, "the rooms add up to {sum} instructions, callgrind's total is {total}");
    let ours = sum - rooms[Room::Libraries as usize];
    ensure!(ours > 0, "no line of {} was executed: built without line tables?", root.display());
    Ok(rooms)
}

/// The most repetitions: more than functions without a room call each other in a row.
const REPETITIONS: usize = 100;

/// To which rooms the instructions of each function belong whose lines have none.
fn shares(profile: &Profile, files: &[Option<Room>]) -> Vec<Shares> {
    let own: Vec<Option<Room>> =
        profile.beginnings.iter().map(|beginning| beginning.and_then(|file| files[file])).collect();
    let mut shares: Vec<Shares> = own.iter().map(|room| whole(room.unwrap_or(Room::Libraries))).collect();
    for _ in 0..REPETITIONS {
        let mut sums = vec![[0.0; NAMES.len()]; shares.len()];
        for (edge, instructions) in &profile.calls {
            if own[edge.callee].is_some() || edge.caller == edge.callee {
                continue;
            }
            let parts = files[edge.file].map_or(shares[edge.caller], whole);
            for (sum, part) in sums[edge.callee].iter_mut().zip(parts) {
                *sum += part * *instructions as f64;
            }
        }
        let mut has_changed = false;
        for (sum, share) in sums.iter().zip(&mut shares) {
            let all: f64 = sum.iter().sum();
            if all > 0.0 {
                let new = sum.map(|part| part / all);
                has_changed |= new.iter().zip(&*share).any(|(new, old)| (new - old).abs() > 1e-6);
                *share = new;
            }
        }
        if !has_changed {
            break;
        }
    }
    shares
}

/// A workload, as the example takes it, and the numbers of calls in its two runs. Fewer where calls are long.
struct Measured {
    workload: &'static str,
    calls: [u64; 2],
    warm_up: u64,
    logged: &'static [&'static str],
}

const SHORT: Measured = Measured { workload: "ycsb:2", calls: [500, 4_500], warm_up: 400, logged: ALL };

/// Figure 7 has the first five variants.
const ALL: &[&str] = &[
    UNLOGGED,
    "serial:data:1",
    "serial:command:1",
    "taurus_graph:data:8",
    "taurus_graph:command:8",
    "taurus:data:8",
    "taurus:command:8",
    "silor:data:8",
    "plover:data:8",
];

const BY_LENGTH: &[&str] = &[UNLOGGED, "taurus:data:8"];

const MEASURED: [Measured; 5] = [
    SHORT,
    Measured { workload: "ycsb:20", calls: [100, 700], warm_up: 100, logged: BY_LENGTH },
    Measured { workload: "ycsb:200", calls: [20, 120], warm_up: 20, logged: BY_LENGTH },
    Measured { workload: "ycsb:2000", calls: [4, 24], warm_up: 4, logged: BY_LENGTH },
    Measured { workload: "tpcc", calls: [100, 900], warm_up: 100, ..SHORT },
];

/// Prints for each workload and variant the instructions of a call, and below, shares in per cent.
pub(super) fn run(only: &str) -> Result<()> {
    tools::build_shipped(&["--package", "hyades-bench", "--example", "cost"])?;
    println!("instructions of a call, and per cent of them");
    let mut any = false;
    for measured in &MEASURED {
        let is_wanted = |logged: &&&str| format!("{} {logged}", measured.workload).contains(only);
        let mut has_head = false;
        for logged in measured.logged.iter().filter(is_wanted) {
            let rooms =
                of_call(measured, logged).with_context(|| format!("{}, {logged}", measured.workload))?;
            if !std::mem::replace(&mut has_head, true) {
                let names = NAMES.map(|name| format!("{name:>10}")).concat();
                println!("\n{:<24}{:>10}{names}", measured.workload, "all");
            }
            print_rooms(logged, &rooms);
        }
        any |= has_head;
    }
    ensure!(any, "no workload and kind of logging has `{only}` in its name");
    Ok(())
}

fn print_rooms(logged: &str, rooms: &Shares) {
    let all: f64 = rooms.iter().sum();
    let instructions = rooms.map(|room| format!("{:>10}", with_commas(room))).concat();
    println!("  {logged:<22}{:>10}{instructions}", with_commas(all));
    let shares = rooms.map(|room| format!("{:>10.1}", room / all * 100.0)).concat();
    println!("{:<24}{:>10}{shares}", "", "");
}

/// A whole number, with a comma after each thousand.
fn with_commas(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = if number <= -0.5 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Instructions of one call by room. Both runs happen at once.
fn of_call(measured: &Measured, logged: &str) -> Result<Shares> {
    let root = tools::repository_root();
    let rooms = |calls: u64| -> Result<Rooms> {
        let Measured { workload, calls: [_, most], warm_up, .. } = *measured;
        let [calls, warm_up, all] = [calls, warm_up, most + warm_up].map(|number| number.to_string());
        divide(&profiled(COUNTED, "cost", &[workload, &calls, &warm_up, &all, logged])?, &root)
    };
    let [fewer, more] = measured.calls;
    let (base, rooms) = std::thread::scope(|scope| {
        let base = scope.spawn(|| rooms(fewer));
        let rooms = rooms(more);
        (base.join(), rooms)
    });
    let base = base.map_err(|_| anyhow::anyhow!("a run has panicked"))??;
    let rooms = rooms?;
    let difference = |room: usize| (rooms[room] as f64 - base[room] as f64) / (more - fewer) as f64;
    Ok(std::array::from_fn(difference))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_decides() {
        assert_eq!(room_of("engine/src/txn/writes/commit.rs"), Some(Room::Control));
        assert_eq!(room_of("engine/src/txn/lock_table/trace.rs"), Some(Room::Tracking));
        assert_eq!(room_of("engine/src/protocol.rs"), Some(Room::Log));
        assert_eq!(room_of("engine/src/protocol/taurus.rs"), Some(Room::Tracking));
        assert_eq!(room_of("engine/src/protocol/taurus/log_choice.rs"), Some(Room::Tracking));
        assert_eq!(room_of("engine/src/storage/ordered_index/node.rs"), Some(Room::Index));
        assert_eq!(room_of("engine/src/storage/row_count.rs"), Some(Room::Rows));
        assert_eq!(room_of("engine/src/sync/threads.rs"), None);
        assert_eq!(room_of("types/src/value.rs"), None);
        assert_eq!(room_of("/rustc/1/library/core/src/cell.rs"), None);
    }

    #[test]
    fn each_root_and_name_of_a_room_is_there() {
        let root = tools::repository_root();
        for (prefix, _) in ROOMS {
            let path = root.join(prefix);
            assert!(path.exists() || path.with_extension("rs").exists(), "{prefix}");
        }
        assert_eq!(NAMES[Room::Libraries as usize], "libraries");
    }

    /// `copy` has no room: a quarter of its 80 instructions is for the log, by a line that was inlined into
    /// `run`, the rest for `run` itself, half of it through `drop`.
    const OUTPUT: &str = "\
events: Ir
fl=(1) /here/engine/src/procedure/interpret.rs
fn=(1) run
1 100
cfn=(2) copy
calls=1 1
2 30
cfn=(3) drop
calls=1 1
2 40
fi=(2) /here/engine/src/log/buffer.rs
7 9
cfn=(2)
calls=1 1
* 20
fi=(3) /rustc/library/core/src/cell.rs
3 5
fl=(3)
fn=(3)
1 10
cfn=(2)
calls=1 1
1 30
cfn=(3)
calls=1 1
1 400
fn=(2)
1 80
fn=(4) start
1 3
totals: 207
";

    #[test]
    fn what_has_no_room_goes_to_its_callers() {
        let profile = Profile::parse(OUTPUT).expect("a profile");
        let rooms = divide(&profile, Path::new("/here")).expect("rooms");
        let mut expected = Rooms::default();
        expected[Room::Logic as usize] = 100 + 5 + 10 + 60;
        expected[Room::Log as usize] = 9 + 20;
        expected[Room::Libraries as usize] = 3;
        assert_eq!(rooms, expected);
        let error = divide(&profile, Path::new("/elsewhere")).expect_err("an error");
        assert!(error.to_string().contains("line tables"), "{error}");
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!(
            [0.4, -0.4, 999.6, -1_234.0, 1_234_567.0].map(with_commas),
            ["0", "0", "1,000", "-1,234", "1,234,567"]
        );
    }
}
