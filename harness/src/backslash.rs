//! `cargo xtask backslash`: psql's backslash commands print the same for Hyades as for PostgreSQL.
//!
//! `harness/dump/schema.sql` is run on both, then each command of `harness/dump/commands.txt` on both, and
//! psql must print the same text. A line of that file is one of
//!
//! ```text
//! \command                compared as it is printed
//! \command ~ sizes        without the column Size: Hyades has no files, and says NULL
//! \command ~ parentheses  without parentheses: Hyades shows some expressions with more of them than needed
//! ! \command | reason     left out
//! # heading
//! ```

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::dump::{Peer, SCHEMA, hyades, postgresql, same};
use crate::tools;

const COMMANDS: &str = "harness/dump/commands.txt";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mask {
    Nothing,
    Sizes,
    Parentheses,
}

/// A command, and what is masked in its output. `None` for one that is left out.
fn parsed(line: &str) -> Result<Option<(&str, Mask)>> {
    if let Some(left_out) = line.strip_prefix("! ") {
        let reason = left_out.split_once(" | ").map_or("", |(_, reason)| reason);
        if reason.trim().is_empty() {
            bail!("{COMMANDS}: no reason: {line}");
        }
        return Ok(None);
    }
    Ok(Some(match line.split_once(" ~ ") {
        None => (line, Mask::Nothing),
        Some((command, "sizes")) => (command, Mask::Sizes),
        Some((command, "parentheses")) => (command, Mask::Parentheses),
        Some((_, mask)) => bail!("{COMMANDS}: there is no mask {mask}"),
    }))
}

/// The output of psql, including errors.
fn printed(peer: &Peer, command: &str, mask: Mask) -> Result<String> {
    let mut psql = peer.command("psql", &["--no-psqlrc", "--quiet"])?;
    if mask != Mask::Nothing {
        psql.arg("--no-align");
    }
    let output = psql.args(["--command", command]).output().context("cannot start psql")?;
    let said = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    Ok(masked(&said, mask))
}

fn masked(said: &str, mask: Mask) -> String {
    match mask {
        Mask::Nothing => said.to_owned(),
        Mask::Parentheses => said.replace(['(', ')'], ""),
        Mask::Sizes => {
            let mut size = None;
            let mut out = String::new();
            for line in said.lines() {
                let mut fields: Vec<&str> = line.split('|').collect();
                size = size.or_else(|| {
                    let at = fields.iter().position(|field| matches!(*field, "Size" | "Total size"))?;
                    Some((at, fields.len()))
                });
                if let Some((at, count)) = size
                    && fields.len() == count
                {
                    fields[at] = "";
                }
                out.push_str(&fields.join("|"));
                out.push('\n');
            }
            out
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let directory = tools::scratch_directory(None)?;
    let schema = tools::repository_root().join(SCHEMA);
    let ours = Peer::start(hyades(options.server.as_deref())?, &directory.path().join("ours"))?;
    let theirs = Peer::start(postgresql(), &directory.path().join("theirs"))?;
    ours.load(&schema).context("Hyades")?;
    theirs.load(&schema).context("PostgreSQL")?;
    let commands = std::fs::read_to_string(tools::repository_root().join(COMMANDS))?;
    let (mut agree, mut differ, mut left_out) = (0, 0, 0);
    for line in commands.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((command, mask)) = parsed(line)? else {
            left_out += 1;
            continue;
        };
        match same(command, &printed(&theirs, command, mask)?, &printed(&ours, command, mask)?) {
            Ok(()) => agree += 1,
            Err(difference) => {
                differ += 1;
                println!("{difference}\n");
            }
        }
    }
    println!("backslash: {agree} agree, {differ} differ, {left_out} left out");
    if differ > 0 {
        bail!("{differ} of psql's commands print something else");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_masks_and_reasons() {
        assert_eq!(parsed("\\dt").expect("a command"), Some(("\\dt", Mask::Nothing)));
        assert_eq!(parsed("\\dt+ x ~ sizes").expect("a command"), Some(("\\dt+ x", Mask::Sizes)));
        assert_eq!(parsed("! \\l | others").expect("left out"), None);
        assert!(parsed("! \\l").is_err());
        assert!(parsed("\\l ~ everything").is_err());
    }

    #[test]
    fn sizes_are_masked() {
        let said = "List\nName|Size|Owner\na|16 kB|me\n(1 row)\n";
        assert_eq!(masked(said, Mask::Sizes), "List\nName||Owner\na||me\n(1 row)\n");
    }
}
