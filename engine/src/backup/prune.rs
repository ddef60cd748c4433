//! Gives up what leaves the window that a backup keeps.
//!
//! The manifest that no longer names something is durable before that is removed. A removal that is cut short
//! leaves files that nothing names; the next one removes them, too. Nothing is removed that is newer than
//! what the manifest names: another backup may be bringing it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use hyades_types::error::{Error, Result};

use super::files::begun_at;
use super::place::Place;
use crate::checkpoint::contents::{self, Contents, contents_number, part_number};
use crate::log::manifest::{Checkpoint, DEFAULT_LOG_DIRECTORY, Incarnation, Manifest};
use crate::log::store::parse_segment_name;

/// Removes from the manifest of a backup what no point from this time on needs. Returns whether there was
/// anything.
pub(super) fn prune(backup: &mut Manifest, target: Place<'_>, from_us: u64) -> Result<bool> {
    let before = backup.clone();
    let Some(mut note) = backup.backup.take() else { return Ok(false) };
    note.earlier.retain(|span| span.to_us >= from_us);
    let whole_from_us = note.whole_from_us.clone();
    let begins_before = |one: &Checkpoint| whole_from_us.get(&one.number).is_some_and(|us| *us <= from_us);
    for span in &mut note.earlier {
        prune_span(&before, target, &mut span.incarnations, &mut span.checkpoints, begins_before)?;
    }
    prune_span(&before, target, &mut backup.incarnations, &mut backup.checkpoints, begins_before)?;
    let earlier = note.earlier.iter().flat_map(|span| &span.checkpoints);
    let kept: HashSet<u64> = earlier.chain(&backup.checkpoints).map(|one| one.number).collect();
    note.whole_from_us.retain(|number, _| kept.contains(number));
    backup.backup = Some(note);
    Ok(*backup != before)
}

fn prune_span(
    backup: &Manifest,
    target: Place<'_>,
    incarnations: &mut Vec<Incarnation>,
    checkpoints: &mut Vec<Checkpoint>,
    begins_before: impl Fn(&Checkpoint) -> bool,
) -> Result<()> {
    let Some(place) = checkpoints.iter().rposition(begins_before) else { return Ok(()) };
    checkpoints.drain(..place);
    let Some(first) = checkpoints.first() else { return Ok(()) };
    incarnations.retain(|incarnation| incarnation.number >= first.incarnation);
    if let Some(incarnation) = incarnations.first_mut()
        && incarnation.number == first.incarnation
        && incarnation.starts != first.from
    {
        *incarnation = begun_at(target, backup, incarnation, &first.from)?;
    }
    Ok(())
}

/// Removes the files that the manifest of a backup, which is durable, does not name any more.
pub(super) fn remove_unneeded(backup: &Manifest, target: Place<'_>) -> Result<()> {
    let mut unneeded = unneeded_checkpoint_files(backup, target)?;
    unneeded.extend(unneeded_segments(backup, target)?);
    for path in unneeded {
        target.disk.remove(&path).map_err(|error| {
            Error::io(format_args!("could not remove \"{}\" from the backup", path.display()), &error)
        })?;
    }
    Ok(())
}

fn unneeded_checkpoint_files(backup: &Manifest, target: Place<'_>) -> Result<Vec<PathBuf>> {
    let directory = contents::directory(target.directory);
    let spans = backup.spans();
    let checkpoints: Vec<&Checkpoint> = spans.iter().flat_map(|span| &span.checkpoints).collect();
    let Some(newest) = checkpoints.iter().map(|one| one.number).max() else { return Ok(Vec::new()) };
    let mut parts = HashSet::new();
    for checkpoint in &checkpoints {
        let contents = match Contents::load(target.disk.as_ref(), &directory, checkpoint) {
            Ok(contents) => contents,
            Err(error) => {
                tracing::warn!(%error, "parts of older checkpoints stay in the backup");
                return Ok(Vec::new());
            }
        };
        parts.extend(contents.files.iter().map(|file| file.number));
    }
    let is_unneeded = |name: &String| match (contents_number(name), part_number(name)) {
        (Some(number), _) => number <= newest && checkpoints.iter().all(|one| one.number != number),
        (_, Some(part)) => part.checkpoint <= newest && !parts.contains(&part),
        // Not one of our files.
        _ => false,
    };
    let names = list(target, &directory)?;
    Ok(names.into_iter().filter(is_unneeded).map(|name| directory.join(name)).collect())
}

fn unneeded_segments(backup: &Manifest, target: Place<'_>) -> Result<Vec<PathBuf>> {
    // The first segment that is needed, by directory and incarnation.
    let mut needed: HashMap<(PathBuf, u64), u64> = HashMap::new();
    let mut newest = 0;
    for incarnation in backup.spans().iter().flat_map(|span| &span.incarnations) {
        newest = newest.max(incarnation.number);
        for log in 0..incarnation.logs {
            for stripe in 0..incarnation.stripes {
                let directory = incarnation.stripe_directory(target.directory, log, stripe);
                let first = incarnation.first_segments[log * incarnation.stripes + stripe];
                let known = needed.entry((directory, incarnation.number)).or_insert(first);
                *known = first.min(*known);
            }
        }
    }
    let logs = target.directory.join(DEFAULT_LOG_DIRECTORY);
    let mut unneeded = Vec::new();
    for log in list(target, &logs)? {
        let directory = logs.join(log);
        for name in list(target, &directory)? {
            let Some((incarnation, sequence)) = parse_segment_name(&name) else { continue };
            let first = needed.get(&(directory.clone(), incarnation));
            if incarnation <= newest && first.is_none_or(|first| sequence < *first) {
                unneeded.push(directory.join(name));
            }
        }
    }
    Ok(unneeded)
}

fn list(target: Place<'_>, directory: &Path) -> Result<Vec<String>> {
    match target.disk.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(|error| {
            Error::io(format_args!("could not read directory \"{}\"", directory.display()), &error)
        }),
    }
}
