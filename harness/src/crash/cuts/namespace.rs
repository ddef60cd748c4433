//! Runs the command again in namespaces of its own, so that it leaves nothing, however it ends.
//!
//! The outer process makes the scratch directory, and starts itself again below `unshare`, with mounts and
//! processes of its own. However the outer process ends (Ctrl-C, SIGKILL, a panic), the kernel then ends all
//! inner processes, and with the last of them the mounts and the loop devices disappear. In the worst case a
//! directory with logs remains, which the next run removes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::disks::FileSystem;

const PREFIX: &str = "hyades-cuts-";
const PROGRAMS: [&str; 7] = ["setpriv", "unshare", "losetup", "mount", "umount", "mkfs.ext4", "python3"];

/// Checks that this machine can do it. The error is a sentence.
pub(super) fn check_machine(file_system: Option<FileSystem>) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("this machine cannot cut: only root may mount file systems and shut them down");
    }
    for program in PROGRAMS.into_iter().chain(file_system.map(FileSystem::maker)) {
        if !has_program(program) {
            bail!("this machine cannot cut: it has no {program}");
        }
    }
    if !Path::new("/dev/loop-control").exists() {
        bail!("this machine cannot cut: it has no loop devices (/dev/loop-control)");
    }
    Ok(())
}

/// The file systems that can be made here.
pub(super) fn file_systems() -> Vec<FileSystem> {
    [FileSystem::Ext4, FileSystem::Xfs].into_iter().filter(|kind| has_program(kind.maker())).collect()
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).any(|directory| directory.join(name).is_file())
}

/// Runs this program again, with the same arguments and `more`. Returns the scratch directory if it failed.
pub(super) fn run_inside(parent: Option<&Path>, more: &[String]) -> Result<std::result::Result<(), PathBuf>> {
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
    std::fs::create_dir_all(&parent)?;
    let parent = parent.canonicalize()?;
    remove_leftovers(&parent)?;
    let directory = parent.join(format!("{PREFIX}{}", std::process::id()));
    std::fs::create_dir(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"]);
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    command.arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    command.args(more).arg("--inside").arg(&directory);
    let status = command.status().context("cannot start setpriv")?;
    if status.success() {
        std::fs::remove_dir_all(&directory)
            .with_context(|| format!("cannot remove {}", directory.display()))?;
        return Ok(Ok(()));
    }
    let kept = tempfile::Builder::new().prefix("cuts-kept-").tempdir_in(&parent)?.keep();
    std::fs::rename(&directory, &kept)?;
    Ok(Err(kept))
}

/// Removes what earlier runs have left whose process is gone.
fn remove_leftovers(parent: &Path) -> Result<()> {
    for entry in std::fs::read_dir(parent)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let process = name.and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unused_namespaces_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let own = format!("{PREFIX}{}", std::process::id());
        // This number belongs to no process.
        for name in ["hyades-cuts-4294967295", &own, "hyades-cuts-kept", "else"] {
            std::fs::create_dir(parent.path().join(name)).unwrap();
        }
        remove_leftovers(parent.path()).unwrap();
        let exists = |name: &str| parent.path().join(name).exists();
        assert!(!exists("hyades-cuts-4294967295"));
        assert!(exists(&own) && exists("hyades-cuts-kept") && exists("else"));
    }

    #[test]
    fn programs_are_found_by_their_name() {
        assert!(has_program("sh") && !has_program("no such program"));
    }
}
