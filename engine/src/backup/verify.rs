//! Which of the points that a backup advertises it can be restored to: reads everything that any of them
//! needs, as a restore would.

use hyades_types::error::Result;

use super::place::Place;
use super::span::{Beginning, Chooser, is_whole};
use super::windows::{Window, read_backup, window_of};
use crate::log::manifest::Manifest;

/// What was found of a backup.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// What it advertises.
    pub windows: Vec<Window>,
    /// The stretches of time that it can be restored to, in order.
    pub restorable: Vec<Restorable>,
    /// The checkpoints in it that it cannot be restored to.
    pub lost_checkpoints: Vec<u64>,
    /// Whether it can be restored to its end.
    pub has_end: bool,
    /// What is wrong. Empty if it can be restored to every point that it advertises.
    pub damages: Vec<String>,
}

/// A stretch of time, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restorable {
    /// `None`: from the beginning of the database on.
    pub from_us: Option<u64>,
    /// Without this moment itself.
    pub before_us: u64,
}

impl Verified {
    /// Whether the backup can be restored as it was at this time.
    pub fn has(&self, time_us: u64) -> bool {
        let covers = |one: &Restorable| {
            one.from_us.is_none_or(|from_us| from_us <= time_us) && time_us < one.before_us
        };
        self.restorable.iter().any(covers)
    }

    fn note(&mut self, damage: String) {
        if !self.damages.contains(&damage) {
            self.damages.push(damage);
        }
    }

    fn add(&mut self, from_us: Option<u64>, before_us: u64) {
        match self.restorable.last_mut() {
            Some(last) if from_us.is_some_and(|from_us| from_us == last.before_us) => {
                last.before_us = before_us
            }
            _ => self.restorable.push(Restorable { from_us, before_us }),
        }
    }
}

/// Reads all of a backup.
///
/// # Errors
/// No backup, a manifest that is damaged, any error of the disk. Other damage is part of the result.
pub fn verify(source: Place<'_>) -> Result<Verified> {
    let backup = read_backup(source)?;
    let mut verified = Verified::default();
    for span in backup.spans() {
        verify_span(source, &span, &mut verified)?;
    }
    Ok(verified)
}

fn verify_span(source: Place<'_>, span: &Manifest, verified: &mut Verified) -> Result<()> {
    let window = window_of(source, span)?;
    let chooser = Chooser::new(source, span);
    let beginnings = chooser.beginnings()?;
    for (place, Beginning { checkpoint, from_us }) in beginnings.iter().enumerate() {
        let next_us = beginnings.get(place + 1).map(|next| next.from_us);
        let (until_us, before_us) = match next_us {
            Some(next_us) => (next_us.saturating_sub(1), next_us),
            None => (u64::MAX, window.to_us.saturating_add(1)),
        };
        let files = chooser.check_files(*checkpoint);
        if let Some(checkpoint) = checkpoint
            && (files.is_err() || chooser.read_checkpoint(checkpoint).is_err())
        {
            verified.lost_checkpoints.push(checkpoint.number);
        }
        let mut good_until_us = before_us;
        if let Err(error) = files {
            verified.note(error.to_string());
            good_until_us = *from_us;
        }
        verified.has_end = good_until_us == before_us;
        // Another checkpoint may serve from the same moment on.
        if next_us.is_none_or(|next_us| next_us > *from_us) {
            match chooser.read(*checkpoint, until_us, u64::MAX) {
                Ok((chosen, _)) if checkpoint.is_none_or(|one| is_whole(one, &chosen)) => {}
                Ok(_) => {
                    verified.note("the logs end before what a checkpoint holds".to_owned());
                    good_until_us = *from_us;
                    verified.has_end = false;
                }
                Err(broken) => {
                    verified.note(broken.error.to_string());
                    good_until_us = good_until_us.min(broken.whole_before_us);
                    verified.has_end = false;
                }
            }
            if good_until_us > *from_us {
                verified.add(checkpoint.map(|_| *from_us), good_until_us);
            }
        }
    }
    verified.windows.push(window);
    Ok(())
}
