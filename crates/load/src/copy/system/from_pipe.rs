//! Reads what a program of the system writes to a pipe, as long as it may take.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::LoadError;

/// What a pipe has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Has {
    /// Octets are there, or come within a moment.
    Octets,
    /// There are none and never will be: no process can write to it any more.
    End,
    Nothing,
}

/// What the pipe has, or gets within 2 ms.
pub(super) fn look(pipe: &File) -> Result<Has, LoadError> {
    let mut polled = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, PollTimeout::from(2u8)) {
        Ok(_) | Err(nix::Error::EINTR) => {}
        Err(error) => {
            let operation = "wait for what a program writes";
            return Err(LoadError::Kernel { operation, source: error.into() });
        }
    }
    let events = polled[0].revents().unwrap_or(PollFlags::empty());
    Ok(if events.contains(PollFlags::POLLIN) {
        Has::Octets
    } else if events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
        Has::End
    } else {
        Has::Nothing
    })
}

/// Reads octet by octet until `is_whole` says so of all that came, no more than `most` came, or no
/// more can come: the caller asks `is_whole` again. Gives up when `may_go_on` does.
pub(super) fn read_until(
    pipe: &mut File,
    most: usize,
    is_whole: impl Fn(&[u8]) -> bool,
    may_go_on: impl Fn() -> Result<(), LoadError>,
) -> Result<Vec<u8>, LoadError> {
    let mut read = Vec::new();
    let mut octet = [0];
    while !is_whole(&read) && read.len() < most {
        while look(pipe)? == Has::Nothing {
            may_go_on()?;
        }
        match pipe.read(&mut octet) {
            Ok(0) => break,
            Ok(_) => read.extend(octet),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => {
                let operation = "read what a program writes";
                return Err(LoadError::Kernel { operation, source });
            }
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::super::terminal::pair;
    use super::*;

    const GREETING: &[u8] = b"sixteen byte key";

    fn read(pipe: &mut File) -> Result<Vec<u8>, LoadError> {
        let begun = Instant::now();
        let late = LoadError::Order { what: "it is late" };
        let late = std::cell::Cell::new(Some(late));
        read_until(
            pipe,
            64,
            |read| read.ends_with(GREETING),
            || {
                if begun.elapsed() < Duration::from_millis(50) {
                    return Ok(());
                }
                Err(late.take().expect("asked once"))
            },
        )
    }

    #[test]
    fn a_program_that_is_silent_is_not_waited_for_longer_than_allowed() {
        let (mut reads, mut writes) = pair().expect("a pipe");
        writes.write_all(b"some words, and then").expect("written");
        let begun = Instant::now();
        assert!(read(&mut reads).expect_err("late").to_string().contains("late"));
        assert!(begun.elapsed() >= Duration::from_millis(50));
        assert_eq!(look(&reads).expect("a look"), Has::Nothing);
    }

    #[test]
    fn what_comes_is_read_up_to_its_end_and_no_further() {
        let (mut reads, mut writes) = pair().expect("a pipe");
        writes.write_all(&[b"hello ", GREETING, b"more"].concat()).expect("written");
        assert_eq!(read(&mut reads).expect("read"), [b"hello ", GREETING].concat());
        drop(writes);
        assert_eq!(look(&reads).expect("a look"), Has::Octets);
        assert_eq!(read(&mut reads).expect("read"), b"more");
        assert_eq!(look(&reads).expect("a look"), Has::End);
    }

    #[test]
    fn a_program_that_writes_without_end_is_cut_off() {
        let (mut reads, mut writes) = pair().expect("a pipe");
        writes.write_all(&[b'x'; 1000]).expect("written");
        assert_eq!(read(&mut reads).expect("read").len(), 64);
    }
}
