//! A base section and the changes to it, merged into the resulting rows.

use std::collections::BTreeMap;

use hyades_types::error::Result;

use super::contents::KeyRange;
use super::part::{PartReader, SectionBytes};

/// The sections of a range, read and checked.
pub(crate) struct Sections(Vec<SectionBytes>);

/// Memory for sections, kept for reuse.
pub(crate) type Spares = Vec<Vec<u8>>;

impl Sections {
    pub(crate) fn read(reader: &PartReader, range: &KeyRange, spares: &mut Spares) -> Result<Sections> {
        let mut read = |section| reader.read(section, spares.pop().unwrap_or_default());
        range.sections.iter().map(&mut read).collect::<Result<_>>().map(Sections)
    }

    /// Gives the memory back for reuse.
    pub(crate) fn leave(self, spares: &mut Spares) {
        spares.extend(self.0.into_iter().map(SectionBytes::into_memory));
    }

    /// Passes each key that has a row to `see`, with the row, in the order of the sections. If there are
    /// several sections, they all have the same order.
    pub(crate) fn for_each(&self, mut see: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let Some((base, changes)) = self.0.split_first() else { return Ok(()) };
        let mut changed: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
        for change in changes {
            change.for_each(|key, row| {
                changed.insert(key, row);
                Ok(())
            })?;
        }
        let mut changed = changed.into_iter().peekable();
        base.for_each(|key, mut row| {
            while let Some((changed, now)) = changed.next_if(|(changed, _)| *changed <= key) {
                if changed == key {
                    row = now;
                } else if let Some(now) = now {
                    see(changed, now)?;
                }
            }
            row.map_or(Ok(()), |row| see(key, row))
        })?;
        for (key, row) in changed {
            if let Some(row) = row {
                see(key, row)?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use uuid::Uuid;

    use super::{Sections, Spares};
    use crate::checkpoint::contents::KeyRange;
    use crate::checkpoint::part::{PartNumber, PartReader, PartWriter};
    use crate::disk::{Disk, MemoryDisk};

    type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

    /// A base of this many rows with this many changes, and the resulting rows.
    fn range(disk: &Arc<dyn Disk>, number: u32, rows: u32, changes: usize) -> (KeyRange, Rows) {
        let mut random = StdRng::seed_from_u64(u64::from(number));
        let file = PartNumber { checkpoint: 1, writer: number };
        let mut writer =
            PartWriter::create(disk, Path::new("parts"), Uuid::nil(), file).expect("there is room");
        let (mut expected, mut sections) = (Rows::new(), Vec::new());
        for section in 0..=changes {
            let mut changed = BTreeMap::new();
            for _ in 0..rows {
                let key = random.random_range(0..3 * rows).to_be_bytes().to_vec();
                let row = vec![section as u8; random.random_range(0..50)];
                changed.insert(key, (section == 0 || random.random_bool(0.6)).then_some(row));
            }
            for (key, row) in changed {
                writer.add(&key, row.as_deref()).expect("there is room");
                match row {
                    Some(row) => expected.insert(key, row),
                    None => expected.remove(&key),
                };
            }
            sections.extend(writer.end_section().expect("there is room"));
        }
        writer.finish().expect("there is room");
        (KeyRange { from: Box::default(), rows: expected.len() as u64, sections }, expected)
    }

    #[test]
    fn a_base_and_its_changes_come_to_rows_in_order() {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
        let reader = PartReader { disk: Arc::clone(&disk), directory: "parts".into(), database: Uuid::nil() };
        let mut spares = Spares::new();
        for (number, (rows, changes)) in
            (0..).zip([(0, 0), (1, 0), (1, 1), (1, 5), (500, 0), (500, 1), (500, 7), (30_000, 2)])
        {
            let (range, expected) = range(&disk, number, rows, changes);
            let sections = Sections::read(&reader, &range, &mut spares).expect("it is whole");
            let mut found = Vec::new();
            let merged = sections.for_each(|key, row| {
                found.push((key.to_vec(), row.to_vec()));
                Ok(())
            });
            merged.expect("it is whole");
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{rows} rows, {changes} changes");
            sections.leave(&mut spares);
            assert!(spares.len() >= range.sections.len());
        }
    }
}
