//! A process manager for an MPI library: the Process Management Interface, version 1, with messages
//! that are lines of `name=value` and begin with `cmd=` (MPICH's source:
//! `src/pmi/simple/simple_pmi.c`, and Hydra's server for it).
//!
//! The manager stores the data that a library publishes, sends them to the other process when the
//! library waits for all processes (`barrier_in`), and returns them on request.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

use thiserror::Error;

/// The longest line; a value that a library publishes has at most [`LONGEST_VALUE`] bytes.
const LONGEST_LINE: u64 = 4096;

/// Limits that the library gets.
const LONGEST_NAME: usize = 256;
const LONGEST_KEY: usize = 64;
const LONGEST_VALUE: usize = 1024;

/// More entries than a library publishes for two processes.
const MOST_ENTRIES: usize = 1024;

/// The name of the two processes' common store.
const STORE: &str = "btu";

/// Ends the message from one process to the other.
const THAT_IS_ALL: &str = "all";

/// Why a library was not served.
#[derive(Debug, Error)]
pub enum ManagerError {
    /// The library or the other process closed its connection.
    #[error("talk about addresses: {0}")]
    Talk(#[from] io::Error),
    /// The other process or the library sent an invalid message.
    #[error("`{0}` is not a word of a process manager")]
    Word(String),
    /// The MPI library ended the process.
    #[error("the MPI library gave up: {0}")]
    Abort(String),
}

/// Serves the library of one process.
#[derive(Debug)]
pub struct Manager {
    rank: u32,
    store: BTreeMap<String, String>,
    /// The data that the other process does not have yet.
    news: Vec<String>,
}

impl Manager {
    /// The manager of the process with this rank of two; `local` means that both are on one
    /// machine, so that they may share memory.
    pub fn new(rank: u32, is_one_machine: bool) -> Self {
        // Blocks of (first node, nodes, processes on each); see MPICH's
        // `MPIR_NODEMAP_parse_mapping`.
        let mapping = if is_one_machine { "(vector,(0,1,2))" } else { "(vector,(0,2,1))" };
        let store = BTreeMap::from([("PMI_process_mapping".to_owned(), mapping.to_owned())]);
        Self { rank, store, news: Vec::new() }
    }

    /// Answers `library` until it ends its connection; sends its published data over `peer`.
    ///
    /// # Errors
    /// The library or the peer is gone, or sends invalid messages.
    pub fn serve(
        &mut self,
        library: &mut (impl Read + Write),
        peer: &mut (impl Read + Write),
    ) -> Result<(), ManagerError> {
        while let Some(line) = read_line(library)? {
            if let Some(answer) = self.answer(&line, peer)? {
                library.write_all(answer.as_bytes())?;
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        line: &str,
        peer: &mut (impl Read + Write),
    ) -> Result<Option<String>, ManagerError> {
        let value = |name: &str| value(line, name).unwrap_or_default();
        Ok(Some(match value("cmd") {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n".to_owned(),
            "get_maxes" => format!(
                "cmd=maxes kvsname_max={LONGEST_NAME} keylen_max={LONGEST_KEY} vallen_max={LONGEST_VALUE} rc=0\n"
            ),
            "get_appnum" => "cmd=appnum appnum=0 rc=0\n".to_owned(),
            "get_universe_size" => "cmd=universe_size size=2 rc=0\n".to_owned(),
            "get_my_kvsname" => format!("cmd=my_kvsname kvsname={STORE} rc=0\n"),
            "get_ranks2hosts" => "cmd=put_ranks2hosts 0 0\n".to_owned(),
            "put" => {
                let entry = format!("{}={}", value("key"), rest(line, "value"));
                self.keep(&entry)?;
                self.news.push(entry);
                "cmd=put_result rc=0 msg=success\n".to_owned()
            }
            "get" => match self.store.get(value("key")) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}\n"),
                None => "cmd=get_result rc=-1 msg=unknown_key value=unknown\n".to_owned(),
            },
            "barrier_in" => {
                self.tell_each_other(peer)?;
                "cmd=barrier_out rc=0\n".to_owned()
            }
            "finalize" => "cmd=finalize_ack rc=0\n".to_owned(),
            "abort" => return Err(ManagerError::Abort(line.to_owned())),
            _ => return Err(ManagerError::Word(line.to_owned())),
        }))
    }

    /// Both send their new data; the process of rank 0 sends first, so that neither has to receive
    /// while it sends.
    fn tell_each_other(&mut self, peer: &mut (impl Read + Write)) -> Result<(), ManagerError> {
        if self.rank == 0 {
            self.tell(peer)?;
            return self.hear(peer);
        }
        self.hear(peer)?;
        self.tell(peer)
    }

    fn tell(&mut self, peer: &mut impl Write) -> Result<(), ManagerError> {
        let lines: String =
            self.news.drain(..).chain([THAT_IS_ALL.to_owned()]).map(|line| line + "\n").collect();
        Ok(peer.write_all(lines.as_bytes())?)
    }

    fn hear(&mut self, peer: &mut impl Read) -> Result<(), ManagerError> {
        loop {
            match read_line(peer)? {
                Some(line) if line == THAT_IS_ALL => return Ok(()),
                Some(line) => self.keep(&line)?,
                None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            }
        }
    }

    fn keep(&mut self, entry: &str) -> Result<(), ManagerError> {
        let (key, value) =
            entry.split_once('=').ok_or_else(|| ManagerError::Word(entry.to_owned()))?;
        if key.is_empty()
            || key.len() > LONGEST_KEY
            || value.len() > LONGEST_VALUE
            || self.store.len() >= MOST_ENTRIES
        {
            return Err(ManagerError::Word(entry.to_owned()));
        }
        self.store.insert(key.to_owned(), value.to_owned());
        Ok(())
    }
}

/// The value of this name in a line.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ')
        .filter_map(|part| part.split_once('='))
        .find_map(|(found, value)| (found == name).then_some(value))
}

/// The text that follows this name, which is the last one.
fn rest<'a>(line: &'a str, name: &str) -> &'a str {
    line.split_once(&format!(" {name}=")).map_or("", |(_, rest)| rest)
}

/// A line without its end, read octet by octet, because the following octets belong to other
/// readers. `None` at the end.
fn read_line(from: &mut impl Read) -> Result<Option<String>, ManagerError> {
    let mut line = Vec::new();
    io::BufReader::with_capacity(1, from).take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => match String::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => Err(ManagerError::Word(error.to_string())),
        },
        Some(_) => {
            Err(ManagerError::Word(String::from_utf8_lossy(&line).chars().take(80).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    /// Sends a line as a library does; returns the answer.
    fn ask(library: &mut UnixStream, line: &str) -> String {
        writeln!(library, "{line}").expect("said");
        read_line(library).expect("a line").expect("an answer")
    }

    #[test]
    fn two_libraries_hear_what_the_other_said() {
        let (mut to_one, mut to_other) = UnixStream::pair().expect("a pair");
        thread::scope(|scope| {
            for rank in 0..2 {
                let (mut library, mut served) = UnixStream::pair().expect("a pair");
                let mut peer = if rank == 0 { to_one.try_clone() } else { to_other.try_clone() }
                    .expect("a copy");
                scope.spawn(move || {
                    Manager::new(rank, rank == 0).serve(&mut served, &mut peer).expect("served");
                });
                scope.spawn(move || {
                    assert!(
                        ask(&mut library, "cmd=init pmi_version=1 pmi_subversion=1")
                            .contains("response_to_init")
                    );
                    let mapping = ask(&mut library, "cmd=get kvsname=btu key=PMI_process_mapping");
                    assert!(mapping.ends_with(
                        ["value=(vector,(0,1,2))", "value=(vector,(0,2,1))"][rank as usize]
                    ));
                    let put = format!("cmd=put kvsname=btu key=card-{rank} value=a=b c={rank}");
                    assert_eq!(ask(&mut library, &put), "cmd=put_result rc=0 msg=success");
                    assert!(
                        ask(&mut library, &format!("cmd=get kvsname=btu key=card-{}", 1 - rank))
                            .contains("rc=-1")
                    );
                    assert!(ask(&mut library, "cmd=barrier_in").starts_with("cmd=barrier_out"));
                    let got =
                        ask(&mut library, &format!("cmd=get kvsname=btu key=card-{}", 1 - rank));
                    assert_eq!(
                        got,
                        format!("cmd=get_result rc=0 msg=success value=a=b c={}", 1 - rank)
                    );
                });
            }
        });
        // The octets after the last line are left to other readers.
        to_one.write_all(b"x").expect("said");
        let mut next = [0];
        to_other.read_exact(&mut next).expect("heard");
        assert_eq!(&next, b"x");
    }

    #[test]
    fn nonsense_is_refused() {
        let (mut peer, far) = UnixStream::pair().expect("a pair");
        for line in [
            "",
            "cmd=",
            "cmd=spawn",
            "key=1",
            "cmd=put kvsname=btu key= value=1",
            "cmd=abort exitcode=1",
        ] {
            assert!(Manager::new(0, true).answer(line, &mut peer).is_err(), "{line}");
        }
        drop(far);
        assert!(Manager::new(1, true).answer("cmd=barrier_in", &mut peer).is_err());
        let long = vec![b'x'; 10_000];
        assert!(read_line(&mut &long[..]).is_err());
        assert!(read_line(&mut &b"\xff\n"[..]).is_err());
        assert!(matches!(read_line(&mut &b""[..]), Ok(None)));
    }
}
