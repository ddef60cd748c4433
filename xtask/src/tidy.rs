//! `cargo xtask tidy`: the rules of CONTRIBUTING.md that a machine can check, without an exception list.
//!
//! * [`collecting`]: SQL functions ask before they grow;
//! * [`limits`]: heads, file and function lengths, words that must not stay in code;
//! * [`imports`]: which crate may use which, and which module of the engine;
//! * [`circles`]: how many files of a crate may need each other in a circle;
//! * [`heads`]: the head of a room lists its files;
//! * [`documents`]: files named in documents exist, and no file names a path of one machine;
//! * [`prose`]: what is cited is listed, what is overtaken says so, nothing stands twice;
//! * [`seams`]: who uses clocks, threads, chance and files.
//!
//! [`source`] separates code from comments and strings, so that a rule about code is not broken by text about
//! it. [`paths`] reads which paths of the crate the code names.

mod circles;
mod collecting;
mod documents;
mod heads;
mod imports;
mod limits;
mod paths;
mod problem;
mod prose;
mod seams;
mod source;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xtask::tools;

use problem::Problem;

pub(crate) fn run() -> Result<()> {
    let root = tools::repository_root();
    let files = repository_files(&root)?;
    let mut problems = Vec::new();
    let (mut prose, mut seams) = (prose::Prose::default(), seams::Seams::default());
    for file in &files {
        let bytes = std::fs::read(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        check_file(&root, file, &text, &files, &mut problems);
        prose.read(file, &text, &mut problems);
        seams.read(file, &text);
    }
    prose.check(&mut problems);
    seams.check(&mut problems);
    imports::check_crates(&root, &mut problems)?;
    circles::check(&root, &files, &mut problems)?;
    problems.sort();
    for problem in &problems {
        eprintln!("{problem}");
    }
    if !problems.is_empty() {
        bail!("tidy: {} problems in {} files", problems.len(), files.len());
    }
    println!("tidy: {} files in order", files.len());
    Ok(())
}

fn check_file(root: &Path, file: &str, text: &str, files: &[String], problems: &mut Vec<Problem>) {
    if file.ends_with(".rs") {
        let source = source::Source::scan(text);
        limits::check(file, text, &source, problems);
        heads::check(file, text, &source, problems);
        collecting::check(file, text, &source, problems);
        imports::check_modules(file, &source, files, problems);
    }
    if documents::is_document(file) {
        documents::check_paths(root, file, text, problems);
    }
    documents::check_machine_paths(root, file, text, problems);
}

/// Tracked files and new ones that git does not ignore; without git, every file outside build and data
/// directories.
fn repository_files(root: &Path) -> Result<Vec<String>> {
    let listing = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let mut files: Vec<String> = match listing {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
        }
        _ => {
            let mut found = Vec::new();
            walk(root, Path::new(""), &mut found)?;
            found
        }
    };
    // Leaves out files that are deleted but not yet committed.
    files.retain(|file| root.join(file).is_file());
    files.sort();
    Ok(files)
}

fn walk(root: &Path, below: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path: PathBuf = below.join(entry.file_name());
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if !matches!(name.as_str(), ".git" | "target" | "data" | "corpus" | "artifacts") {
                walk(root, &path, found)?;
            }
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}
