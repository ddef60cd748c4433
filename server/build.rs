//! Names the commit the binary is built from, for `hyades --version`. Without a repository it is "unknown".

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).map(|commit| {
        // Untracked files say nothing about the commit.
        match git(&["status", "--porcelain", "--untracked-files=no"]).as_deref() {
            Some("") | None => commit,
            Some(_) => format!("{commit}, changed"),
        }
    });
    println!("cargo::rustc-env=HYADES_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
    // The reflog of HEAD grows with every commit and checkout.
    for name in ["logs/HEAD", "HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && std::path::Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
