//! Models of the protocols: the rules of the papers and of the code, each in a few hundred lines, without
//! files, threads or SQL.
//!
//! A model has a state, a rule, and an oracle that knows what must come of it. It runs many small random
//! cases, or all interleavings of a few transactions. The rule that the code follows must never be wrong.
//! Each model also has broken rules, among them what the papers print and what has once been built, and must
//! find each of them wrong: that shows what a step of the rule is for, and that the model can fail. Where a
//! decision in docs/decisions/ says that an execution goes wrong, the model has it.
//!
//! In reading order:
//! * before the crash, controls: `optimistic_times` (looking again at what was read, and the time at which a
//!   checkpoint cuts), `readlv` (what readers leave);
//! * before the crash, protocols: `cuts` (what stamps and milestones are), with `silor` and `plover`;
//!   `settled` (the dependency graph);
//! * before and after the crash: `vectors` (LSN vectors above the floor, which also order the replay);
//! * after the crash: `graph` (which transactions of the dependency graph count), `logged_history` (logs to
//!   replay), with `dated_replay` (calls at their times), `by_key` (changes of rows, key by key) and
//!   `any_order` (a way that was considered);
//! * `random`: chance from seeds.
//!
//! `cargo test -p hyades-sim --test models -- --nocapture` prints how often each rule has gone wrong.
//!
//! Reference: docs/protocols.md, and the paper or decision that each model names. What a model leaves out
//! (fragments, schema changes, savepoints, memory order) is tested with the engine itself, and with loom.

#[path = "models/any_order.rs"]
mod any_order;
#[path = "models/by_key.rs"]
mod by_key;
#[path = "models/cuts.rs"]
mod cuts;
#[path = "models/dated_replay.rs"]
mod dated_replay;
#[path = "models/graph.rs"]
mod graph;
#[path = "models/logged_history.rs"]
mod logged_history;
#[path = "models/optimistic_times.rs"]
mod optimistic_times;
#[path = "models/plover.rs"]
mod plover;
#[path = "models/random.rs"]
mod random;
#[path = "models/readlv.rs"]
mod readlv;
#[path = "models/settled.rs"]
mod settled;
#[path = "models/silor.rs"]
mod silor;
#[path = "models/vectors.rs"]
mod vectors;
