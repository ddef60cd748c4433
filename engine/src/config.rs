//! The settings with which a database is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyades_types::error::FatalError;
use hyades_types::memory::Limits;

use crate::disk::{Disk, RealDisk};

/// The logging protocol (`--protocol`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolKind {
    /// No log at all: nothing survives the process.
    None,
    /// One log, one LSN.
    Serial,
    /// Parallel logs ordered by LSN vectors.
    #[default]
    Taurus,
    /// Parallel logs whose records name those that they follow.
    TaurusGraph,
    /// Parallel logs ordered by epochs.
    SiloR,
    /// Parallel logs, each of a part of the data, ordered by global sequence numbers.
    Plover,
}

impl ProtocolKind {
    pub const ALL: [ProtocolKind; 6] = [
        ProtocolKind::None,
        ProtocolKind::Serial,
        ProtocolKind::Taurus,
        ProtocolKind::TaurusGraph,
        ProtocolKind::SiloR,
        ProtocolKind::Plover,
    ];

    /// The name on the command line, in the manifest and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ProtocolKind::None => "none",
            ProtocolKind::Serial => "serial",
            ProtocolKind::Taurus => "taurus",
            ProtocolKind::TaurusGraph => "taurus_graph",
            ProtocolKind::SiloR => "silor",
            ProtocolKind::Plover => "plover",
        }
    }

    /// A one-line description, for help texts.
    pub const fn about(self) -> &'static str {
        match self {
            ProtocolKind::None => "No log: nothing survives the process",
            ProtocolKind::Serial => "One log",
            ProtocolKind::Taurus => "Parallel logs ordered by LSN vectors",
            ProtocolKind::TaurusGraph => {
                "Parallel logs whose records name those that they follow; for comparison"
            }
            ProtocolKind::SiloR => "Parallel logs ordered by epochs, of data only; for comparison",
            ProtocolKind::Plover => "Parallel logs, each of a part of the data; for comparison",
        }
    }

    /// Whether it writes as many logs as are configured.
    pub const fn has_parallel_logs(self) -> bool {
        !matches!(self, ProtocolKind::None | ProtocolKind::Serial)
    }

    pub fn named(name: &str) -> Option<ProtocolKind> {
        ProtocolKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The concurrency control (`--control`): how SERIALIZABLE transactions read (`txn::reads`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlKind {
    /// They lock what they read.
    #[default]
    TwoPhaseLocking,
    /// They read the newest rows, and check that when they commit.
    Optimistic,
    /// They read at a snapshot, and check that when they commit.
    MultiVersion,
}

impl ControlKind {
    pub const ALL: [ControlKind; 3] =
        [ControlKind::TwoPhaseLocking, ControlKind::Optimistic, ControlKind::MultiVersion];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ControlKind::TwoPhaseLocking => "2pl",
            ControlKind::Optimistic => "occ",
            ControlKind::MultiVersion => "mvcc",
        }
    }

    /// A one-line description, for help texts.
    pub const fn about(self) -> &'static str {
        match self {
            ControlKind::TwoPhaseLocking => "Serializable transactions lock what they read",
            ControlKind::Optimistic => "They read the newest rows and fail if these are outdated at the end",
            ControlKind::MultiVersion => "They read at a snapshot and fail if it is outdated at the end",
        }
    }

    pub fn named(name: &str) -> Option<ControlKind> {
        ControlKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Which tables are taken for written where calls are replayed slice by slice, one slice after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slicing {
    /// All of them.
    AllTables,
    /// Those that the call may write. Each slice reads the others itself.
    OwnTables,
}

/// How many workers replay at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryMode {
    /// `recovery_workers`, until the log records turn out to wait for each other most of the time. Then one.
    #[default]
    Auto,
    /// `recovery_workers`, to the end.
    Parallel,
    /// One.
    Serial,
}

/// When a restart lets transactions in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestartMode {
    /// When everything is restored.
    #[default]
    Complete,
    /// When the contents of the files are known. Each table opens when its rows are restored, the tables that
    /// transactions wait for first, and the rest follows in the background.
    OnDemand,
}

/// See [`Config::on_failure`].
pub type OnFailure = Arc<dyn Fn(&Arc<FatalError>) + Send + Sync>;

/// How far recovery has come.
#[derive(Clone, Debug, Default)]
pub struct RecoveryProgress {
    pub bytes_done: u64,
    pub bytes_total: u64,
    pub transactions: u64,
    pub seconds: f64,
}

/// Called now and then while a recovery runs, by one of its threads, and once at the end of each incarnation.
pub type OnRecoveryProgress = Arc<dyn Fn(&RecoveryProgress) + Send + Sync>;

/// See the fields. [`Config::new`] gives the defaults.
#[derive(Clone)]
pub struct Config {
    /// The data directory: manifest, lock file and, unless `log_directories` says otherwise, the logs.
    pub data_directory: PathBuf,
    /// Directories of the logs. Log i lives in directory i modulo their number. The one log of serial logging
    /// is striped over all of them. Empty: `<data>/logs`.
    pub log_directories: Vec<PathBuf>,
    pub protocol: ProtocolKind,
    pub control: ControlKind,
    /// For comparison, under a control without read locks: a transaction fails if others are writing what it
    /// has read, or have changed it at whatever time, as in Silo (`txn::writes::look`).
    pub fails_beside_writers: bool,
    /// Number of logs of the next incarnation, if it has parallel logs.
    pub logs: usize,
    /// How long an epoch lasts (Silo-R).
    pub epoch: Duration,
    /// A record names at most this many transactions that it follows, and beyond that positions (the
    /// dependency graph).
    pub predecessors: usize,
    /// Size of one segment file, a multiple of 4096.
    pub segment_bytes: u64,
    /// What a block of a log is padded to, a power of two from 512 to 4096. `None`: a sector of the device
    /// ([`Disk::sector_bytes`]).
    pub log_sector_bytes: Option<usize>,
    /// Size of one log's buffer in memory, a power of two.
    pub log_buffer_bytes: usize,
    /// While a worker's log is written in blocks of fewer bytes than this, the worker shares logs with
    /// others, so that blocks become longer. 0: it always appends to its own log.
    pub shared_block_bytes: u64,
    /// After this many row locks on one table a transaction tries to lock the table instead.
    pub row_locks_before_table: u32,
    /// A checkpoint is taken when the logs since the last one occupy this many bytes of disk. 0: only on
    /// request.
    pub checkpoint_log_bytes: u64,
    /// The digest of the logs for the next restart on demand is renewed when a segment is full
    /// (`recovery::digester`). The digester checks for that after each pause of this length. Only used where
    /// `restart` is on demand.
    pub digest_pause: Duration,
    /// A checkpoint is taken when replaying the logs would take about half as long as this.
    pub recovery_target: Option<Duration>,
    /// Threads that write a checkpoint, each with a file of its own.
    pub checkpoint_workers: usize,
    /// About this many bytes of rows make one range of keys in a checkpoint, which is either rewritten as a
    /// whole or not at all. `None`: 4 MiB.
    pub checkpoint_range_bytes: Option<u64>,
    /// Workers that replay. 0 means one for each core.
    pub recovery_workers: usize,
    pub recovery_mode: RecoveryMode,
    /// For comparison: changes of rows, too, are replayed in the order in which records follow each other, as
    /// in the papers, and not key by key.
    pub replays_by_position: bool,
    /// For tests of recovery: each logged call is replayed slice by slice.
    pub replays_slices: Option<Slicing>,
    pub restart: RestartMode,
    /// When versions of rows that only old snapshots can see take more memory than this, in bytes, the oldest
    /// snapshot is given up (72000 for transactions that read at it).
    pub version_bytes: u64,
    /// The memory limits. They need [`hyades_types::memory::Counted`] as the program's allocator.
    pub memory: Limits,
    /// All access to files goes through this.
    pub disk: Arc<dyn Disk>,
    /// Called when the database is poisoned, with the reason, by the thread that found it, before any waiter
    /// learns of it.
    pub on_failure: Option<OnFailure>,
    /// Called now and then during recovery.
    pub on_recovery_progress: Option<OnRecoveryProgress>,
    /// Start with the checkpoint before the last one, because the files of the last one are damaged.
    pub previous_checkpoint: bool,
    /// Also open a backup, in order to check it.
    pub reads_backups: bool,
    /// For tests of recovery: a logged call is followed by its after-images, which only `replay_images`
    /// reads.
    pub command_images: bool,
    /// For tests of recovery: where a logged call is followed by its after-images, these are replayed and the
    /// call is not run.
    pub replay_images: bool,
}

impl Config {
    pub fn new(data_directory: impl Into<PathBuf>) -> Config {
        Config {
            data_directory: data_directory.into(),
            log_directories: Vec::new(),
            protocol: ProtocolKind::default(),
            control: ControlKind::default(),
            fails_beside_writers: false,
            logs: 2,
            epoch: Duration::from_millis(40),
            predecessors: 16,
            segment_bytes: 64 << 20,
            log_sector_bytes: None,
            log_buffer_bytes: 16 << 20,
            shared_block_bytes: 8 << 10,
            row_locks_before_table: 10_000,
            checkpoint_log_bytes: 1 << 30,
            digest_pause: Duration::from_millis(250),
            recovery_target: None,
            checkpoint_workers: 1,
            checkpoint_range_bytes: None,
            recovery_workers: 0,
            recovery_mode: RecoveryMode::default(),
            replays_by_position: false,
            replays_slices: None,
            restart: RestartMode::default(),
            version_bytes: 1 << 30,
            memory: Limits::NONE,
            disk: Arc::new(RealDisk),
            on_failure: None,
            on_recovery_progress: None,
            previous_checkpoint: false,
            reads_backups: false,
            command_images: false,
            replay_images: false,
        }
    }
}
