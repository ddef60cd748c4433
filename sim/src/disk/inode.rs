//! One simulated file: which bytes are durable and which are only written, sector by sector.
//!
//! A sector's pending versions are kept in the order of the writes, each as the whole sector after the write,
//! so a torn sector is a mix of two of them (or of one and the durable content). Sectors that were never
//! written read as zeroes.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyades_engine::disk::SECTOR_BYTES;
use rand::RngExt;
use rand::rngs::StdRng;

use super::PowerCut;

type Sector = Arc<[u8; SECTOR_BYTES]>;

/// One unsynced content of a sector.
#[derive(Clone)]
struct Version {
    content: Sector,
    /// False after a failed sync: the page is marked clean although the medium never got it.
    is_syncable: bool,
}

#[derive(Clone, Default)]
pub(super) struct Inode {
    durable: BTreeMap<u64, Sector>,
    pending: BTreeMap<u64, Vec<Version>>,
    length: u64,
    durable_length: u64,
    /// The name given at creation, for messages.
    pub(super) label: std::path::PathBuf,
}

fn zeroes() -> Sector {
    Arc::new([0; SECTOR_BYTES])
}

impl Inode {
    pub(super) fn new(label: std::path::PathBuf) -> Inode {
        Inode { label, ..Inode::default() }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    fn current(&self, sector: u64) -> Option<&Sector> {
        let written = self.pending.get(&sector).and_then(|versions| versions.last());
        written.map(|version| &version.content).or_else(|| self.durable.get(&sector))
    }

    /// The space that the file takes, in whole sectors.
    pub(super) fn allocated_bytes(&self) -> u64 {
        let extra = self.pending.keys().filter(|sector| !self.durable.contains_key(sector)).count();
        let durable = self.durable.range(..self.length.div_ceil(SECTOR_BYTES as u64)).count();
        ((durable + extra) * SECTOR_BYTES) as u64
    }

    /// A file with this content, all of it durable.
    pub(super) fn with_content(label: std::path::PathBuf, content: &[u8]) -> Inode {
        let mut inode = Inode::new(label);
        inode.write_at(0, content);
        inode.sync();
        inode
    }

    /// Discards the bytes after the first `bytes`. Until the next sync a power cut may bring them back. (A
    /// truncated file is not written beyond its end afterwards.)
    pub(super) fn truncate(&mut self, bytes: u64) {
        let within = (bytes % SECTOR_BYTES as u64) as usize;
        if within != 0 && bytes < self.length {
            self.write_at(bytes, &vec![0; SECTOR_BYTES - within]);
        }
        self.pending.retain(|number, _| number * (SECTOR_BYTES as u64) < bytes);
        self.length = bytes;
    }

    /// Whether writing this sector takes new space.
    pub(super) fn is_allocated(&self, sector: u64) -> bool {
        self.durable.contains_key(&sector) || self.pending.contains_key(&sector)
    }

    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let available = self.length.saturating_sub(offset);
        let wanted = (buffer.len() as u64).min(available) as usize;
        let mut done = 0;
        while done < wanted {
            let position = offset + done as u64;
            let within = (position % SECTOR_BYTES as u64) as usize;
            let count = (SECTOR_BYTES - within).min(wanted - done);
            match self.current(position / SECTOR_BYTES as u64) {
                Some(sector) => buffer[done..done + count].copy_from_slice(&sector[within..within + count]),
                None => buffer[done..done + count].fill(0),
            }
            done += count;
        }
        done
    }

    /// Puts bytes into the page cache.
    pub(super) fn write_at(&mut self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let position = offset + done as u64;
            let number = position / SECTOR_BYTES as u64;
            let within = (position % SECTOR_BYTES as u64) as usize;
            let count = (SECTOR_BYTES - within).min(bytes.len() - done);
            let mut content = self.current(number).map_or([0; SECTOR_BYTES], |sector| **sector);
            content[within..within + count].copy_from_slice(&bytes[done..done + count]);
            let version = Version { content: Arc::new(content), is_syncable: true };
            self.pending.entry(number).or_default().push(version);
            done += count;
        }
        self.length = self.length.max(offset + bytes.len() as u64);
    }

    fn make_sector_durable(&mut self, number: u64) {
        let Some(versions) = self.pending.remove(&number) else { return };
        match versions.last() {
            Some(version) if version.is_syncable => {
                self.durable.insert(number, Arc::clone(&version.content));
            }
            _ => {
                self.pending.insert(number, versions);
            }
        }
    }

    /// Makes the sectors of a durable write durable, and the length that covers them.
    pub(super) fn make_range_durable(&mut self, offset: u64, length: usize) {
        let end = offset + length as u64;
        for number in offset / SECTOR_BYTES as u64..end.div_ceil(SECTOR_BYTES as u64) {
            self.make_sector_durable(number);
        }
        self.durable_length = self.durable_length.max(end);
    }

    pub(super) fn sync(&mut self) {
        for number in self.pending.keys().copied().collect::<Vec<_>>() {
            self.make_sector_durable(number);
        }
        self.durable_length = self.length;
        let length = self.length;
        self.durable.retain(|number, _| number * (SECTOR_BYTES as u64) < length);
    }

    /// A sync that was cut: some sectors became durable.
    pub(super) fn sync_in_part(&mut self, random: &mut StdRng) {
        for number in self.pending.keys().copied().collect::<Vec<_>>() {
            if random.random_bool(0.5) {
                self.make_sector_durable(number);
            }
        }
    }

    /// A sync that failed: a later one can never make durable what is pending now.
    pub(super) fn forget_dirty(&mut self) {
        for version in self.pending.values_mut().flatten() {
            version.is_syncable = false;
        }
    }

    pub(super) fn flip_bit(&mut self, offset: u64, bit: u32) {
        let (number, within) = (offset / SECTOR_BYTES as u64, (offset % SECTOR_BYTES as u64) as usize);
        let flip = |sector: &mut Sector| Arc::make_mut(sector)[within] ^= 1 << bit;
        self.durable.get_mut(&number).map(flip);
        for version in self.pending.get_mut(&number).into_iter().flatten() {
            flip(&mut version.content);
        }
    }

    /// The file as the medium has it after a power cut, with everything in it durable.
    pub(super) fn after_power_cut(&self, cut: PowerCut, random: &mut StdRng) -> Inode {
        let length = match cut {
            PowerCut::LoseUnsynced => self.durable_length,
            PowerCut::KeepUnsynced => self.length,
            PowerCut::Seeded(_) => match random.random_range(0..4) {
                0 => self.durable_length,
                1 => {
                    let lengths = [self.durable_length, self.length];
                    random.random_range(lengths[0].min(lengths[1])..=lengths[0].max(lengths[1]))
                }
                _ => self.length,
            },
        };
        let mut durable = self.durable.clone();
        for (number, versions) in &self.pending {
            let before = self.durable.get(number).cloned();
            let found = match cut {
                PowerCut::LoseUnsynced => before,
                PowerCut::KeepUnsynced => versions.last().map(|version| Arc::clone(&version.content)),
                PowerCut::Seeded(_) => Some(choose(before.unwrap_or_else(zeroes), versions, random)),
            };
            found.map(|content| durable.insert(*number, content));
        }
        durable.retain(|number, _| number * (SECTOR_BYTES as u64) < length);
        clear_beyond(&mut durable, length);
        Inode { durable, pending: BTreeMap::new(), length, durable_length: length, label: self.label.clone() }
    }
}

/// Lost, kept or torn: one of the contents, or a mix of two of them.
fn choose(before: Sector, versions: &[Version], random: &mut StdRng) -> Sector {
    let mut contents = vec![before];
    contents.extend(versions.iter().map(|version| Arc::clone(&version.content)));
    let first = Arc::clone(&contents[random.random_range(0..contents.len())]);
    if random.random_bool(0.3) {
        let second = &contents[random.random_range(0..contents.len())];
        let boundary = match random.random_bool(0.5) {
            true => random.random_range(1..SECTOR_BYTES / 512) * 512,
            false => random.random_range(1..SECTOR_BYTES),
        };
        let mut torn = *first;
        torn[boundary..].copy_from_slice(&second[boundary..]);
        return Arc::new(torn);
    }
    first
}

/// Bytes beyond the end read as zeroes if the file grows again.
fn clear_beyond(durable: &mut BTreeMap<u64, Sector>, length: u64) {
    let within = (length % SECTOR_BYTES as u64) as usize;
    if within != 0
        && let Some(sector) = durable.get_mut(&(length / SECTOR_BYTES as u64))
    {
        Arc::make_mut(sector)[within..].fill(0);
    }
}
