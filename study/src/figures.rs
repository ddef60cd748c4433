//! Tables in a document that are written from results.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::page;
use crate::results::Results;
use crate::study::{Size, Study};

/// Where the table of a study begins and ends.
fn marks(name: &str) -> (String, String) {
    (format!("<!-- begin: hyades study {name} -->"), format!("<!-- end: hyades study {name} -->"))
}

/// Puts the tables of these studies into a document, in place of those between its marks.
///
/// # Errors
/// The document cannot be read or written, or has no mark for any of them.
pub(crate) fn write(path: &Path, studies: &[&'static Study], size: Size, results: &Results) -> Result<()> {
    let shown = path.display();
    let mut text = fs::read_to_string(path).with_context(|| format!("could not read {shown}"))?;
    let mut count = 0;
    for study in studies {
        let (begin, end) = marks(study.name);
        let Some((before, rest)) = text.split_once(&begin) else { continue };
        let Some((_, after)) = rest.split_once(&end) else { bail!("{shown} has no \"{end}\"") };
        let Some(table) = page::table(study, size, results) else { continue };
        text = format!("{before}{begin}\n{table}{end}{after}");
        count += 1;
    }
    if count == 0 {
        bail!("{shown} has no place for a table of these studies, such as \"{}\"", marks("protocols").0);
    }
    fs::write(path, text).with_context(|| format!("could not write {shown}"))
}
