//! Segments that no checkpoint needs any more, kept to become segments again, so that the file system need
//! neither take their blocks back nor find new ones.
//!
//! Invariants:
//! 1. The durable manifest no longer names them (pitfall 28) before they are renamed to spares.
//! 2. Nothing in them is overwritten before that. So a reader that has read a segment and still finds it
//!    under its name has read its true content.
//! 3. They become segments again when they durably hold zeroes and nothing else (`segment`, invariant 1).
//! 4. In total they take at most as many bytes as the logs between two checkpoints may take, or one segment.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::parse_segment_name;
use crate::disk::Disk;

/// The spares of one stripe of a log.
pub(super) struct Spares {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    incarnation: u64,
    most: usize,
    kept: Mutex<Vec<PathBuf>>,
}

/// The path of a spare that was the segment with this number.
fn spare_path(directory: &Path, incarnation: u64, sequence: u64) -> PathBuf {
    directory.join(format!("{incarnation:08}-{sequence:08}.spare"))
}

/// The incarnation in the name of a spare.
pub(super) fn parse_spare_name(name: &str) -> Option<u64> {
    let segment = format!("{}.segment", name.strip_suffix(".spare")?);
    parse_segment_name(&segment).map(|(incarnation, _)| incarnation)
}

impl Spares {
    pub(super) fn new(disk: &Arc<dyn Disk>, directory: &Path, incarnation: u64, most: usize) -> Spares {
        let (disk, directory) = (Arc::clone(disk), directory.to_owned());
        Spares { disk, directory, incarnation, most, kept: Mutex::default() }
    }

    /// The durable manifest no longer names the segments before this one: keeps some, removes the others.
    /// Removals that fail are tried again by the next checkpoint.
    pub(super) fn add_before(&self, first: u64) {
        if let Err(error) = self.try_add_before(first) {
            tracing::warn!(%error, "could not remove unneeded segments in \"{}\"", self.directory.display());
        }
    }

    fn try_add_before(&self, first: u64) -> io::Result<()> {
        for name in self.disk.list(&self.directory)? {
            let segment = parse_segment_name(&name);
            let Some((_, sequence)) = segment
                .filter(|(incarnation, sequence)| *incarnation == self.incarnation && *sequence < first)
            else {
                continue;
            };
            let path = self.directory.join(&name);
            let mut kept = self.kept.lock();
            if kept.len() >= self.most {
                drop(kept);
                self.disk.remove(&path)?;
                continue;
            }
            let spare = spare_path(&self.directory, self.incarnation, sequence);
            self.disk.rename(&path, &spare)?;
            kept.push(spare);
        }
        Ok(())
    }

    /// Takes out a spare to become a segment. The caller owns it.
    pub(super) fn take(&self) -> Option<PathBuf> {
        self.kept.lock().pop()
    }

    /// Gives their space back. What remains is removed by the next start.
    pub(super) fn remove(&self) {
        while let Some(path) = self.take() {
            let _ = self.disk.remove(&path);
        }
    }
}
