//! Which other owners were there during an owner's life: each names itself in its own file, and a
//! newcomer names itself in the files of those who are there already.
//!
//! No owner has to look again and again, and an owner that has come and gone is known, too.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{OWNER, inside, is_mine, is_name, open_directory, open_private};

/// The most bytes of such a file that are read: thousands of owners.
const MOST_BYTES: u64 = 1 << 18;

/// The first words of a line about the owner itself, and about one that came later.
const OWN: &str = "owner";
const MET: &str = "met";

/// Another process of this user that had a directory at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherOwner {
    /// Its process id.
    pub process: u32,
    /// Its command, without options: `btu rate`.
    pub command: String,
}

/// Names this process in its file, and in the files of the others next to its directory; and those
/// in its own.
pub(super) fn introduce(directory: &File, path: &Path) -> io::Result<()> {
    let mut own = append(directory)?;
    let me = format!("{} {}\n", std::process::id(), command());
    own.write_all(format!("{OWN} {me}").as_bytes())?;
    let Some(parent) = path.parent() else { return Ok(()) };
    let parent = open_directory(parent)?;
    for entry in std::fs::read_dir(inside(&parent, ""))? {
        let name = entry?.file_name();
        let is_another = Some(name.as_os_str()) != path.file_name();
        if !is_another || !name.to_str().is_some_and(is_name) {
            continue;
        }
        // One that ends meanwhile is met all the same, or not at all.
        if let Ok(Some(other)) = meet(&inside(&parent, &name), &me) {
            own.write_all(format!("{MET} {other}\n").as_bytes())?;
        }
    }
    Ok(())
}

/// Names this process in the file of a living owner, and returns that owner's name.
fn meet(path: &Path, me: &str) -> io::Result<Option<String>> {
    let directory = open_private(path)?;
    let mut file = append(&directory)?;
    let about = file.metadata()?;
    if !about.is_file() || !is_mine(&about) || file.try_lock_shared().is_ok() {
        return Ok(None);
    }
    file.write_all(format!("{MET} {me}").as_bytes())?;
    let text = read(&directory)?;
    Ok(text.lines().find_map(|line| line.strip_prefix(OWN)).map(|line| line.trim().to_owned()))
}

/// All others since this directory was claimed, each once, without this process: first those that
/// still run, and of these first those that were met first, which overlap this process longest.
pub(super) fn met(directory: &File) -> io::Result<Vec<OtherOwner>> {
    let mut others = told(&read(directory)?, std::process::id());
    // The sort keeps the order within both groups.
    others.sort_by_key(|other| !Path::new(&format!("/proc/{}", other.process)).exists());
    Ok(others)
}

/// In the order in which they were met.
fn told(text: &str, me: u32) -> Vec<OtherOwner> {
    let other = |line: &str| {
        let (process, command) = line.strip_prefix(MET)?.trim().split_once(' ')?;
        Some(OtherOwner { process: process.parse().ok()?, command: command.to_owned() })
    };
    let mut others: Vec<OtherOwner> = Vec::new();
    for other in text.lines().filter_map(other).filter(|other| other.process != me) {
        if !others.contains(&other) {
            others.push(other);
        }
    }
    others
}

/// Neither a link is followed nor a partner of a pipe waited for.
fn append(directory: &File) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().append(true).custom_flags(flags).open(inside(directory, OWNER))
}

fn read(directory: &File) -> io::Result<String> {
    let mut text = String::new();
    File::open(inside(directory, OWNER))?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// This program's name, and its first argument if that is a plain word.
fn command() -> String {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let subcommand = words.next().into_iter();
    let all: Vec<String> =
        std::iter::once(program).chain(subcommand).filter(|word| is_name(word)).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_other_process_is_told_once() {
        let text = "met 7 btu pipe\nowner 5 btu rate\nmet 5 btu rate\nmet 7 btu pipe\nmet x y\nmet 6 btu speed\n";
        let other = |process, command: &str| OtherOwner { process, command: command.to_owned() };
        assert_eq!(told(text, 5), [other(7, "btu pipe"), other(6, "btu speed")]);
    }

    /// Process 1 is always there; none has the number 0, or one above the greatest, 2^22.
    #[test]
    fn those_that_still_run_come_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let (living, dead) = (1, [(1 << 22) + 1, 0]);
        let text = format!("met {} btu pipe\nmet {living} btu rate\nmet 0 btu app\n", dead[0]);
        std::fs::write(directory.path().join(OWNER), text).expect("written");
        let met = met(&File::open(directory.path()).expect("opened")).expect("read");
        let processes: Vec<u32> = met.iter().map(|other| other.process).collect();
        assert_eq!(processes, [living, dead[0], dead[1]]);
    }
}
