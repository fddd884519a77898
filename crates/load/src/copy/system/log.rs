//! Reads the standard error of a program of the system.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use btu_units::{Time, controls};

use crate::account::now;

/// The longest line, and the longest part of a line that is reported.
const LONGEST: u64 = 4096;
const TOLD: usize = 160;

/// The beginning of rsync's last line, which has less information than the one before it.
const SUMMARY: &str = "rsync error: ";

/// The time at which it reported the admission of the other end, and its last line.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) let_in: Option<Time>,
    pub(super) last: String,
}

/// Whether a line reports the admission of the other end.
pub(super) type LetIn = fn(&str) -> bool;

/// Reads on until the program is gone.
pub(super) struct Log {
    said: Arc<Mutex<Said>>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    /// The log of a child with a pipe as its standard error.
    pub(super) fn of(child: &mut Child, let_in: LetIn) -> Self {
        let said = Arc::<Mutex<Said>>::default();
        let (shared, from) = (Arc::clone(&said), child.stderr.take());
        // Without a thread, or a pipe, its output is unknown.
        let reader = from.and_then(|from| {
            let read = move || follow(BufReader::new(from), let_in, &shared);
            thread::Builder::new().name("copy-log".to_owned()).spawn(read).ok()
        });
        Self { said, reader }
    }

    /// Its whole output, when it has ended.
    pub(super) fn finish(&mut self) -> Said {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn follow(mut from: impl BufRead, let_in: LetIn, said: &Mutex<Said>) {
    let mut line = Vec::new();
    while from.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        let text: String = text.chars().filter(|one| !controls(*one)).take(TOLD).collect();
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if let_in(&text) {
            // Such a line of vsftpd's has the password in it, and is not kept.
            if said.let_in.is_none() {
                said.let_in = now().ok();
            }
        } else if !text.is_empty() && (said.last.is_empty() || !text.starts_with(SUMMARY)) {
            said.last = text;
        }
        line.clear();
    }
}

/// For fuzzers: any words of a program of the system, some of which are its peer's.
#[doc(hidden)]
pub fn fuzz_log(words: &[u8]) {
    let said = Mutex::default();
    follow(words, |line| line.contains("Accepted"), &said);
    let Said { last, .. } = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(last.chars().count() <= TOLD && !last.contains(char::is_control));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Said {
        let said = Mutex::default();
        follow(text.as_bytes(), |line| line.contains("OK LOGIN"), &said);
        said.into_inner().expect("no panic")
    }

    #[test]
    fn what_says_more_is_kept_and_no_password() {
        let said = read("1 CONNECT: x\n2 OK LOGIN: secret\n");
        assert!(said.let_in.is_some() && said.last == "1 CONNECT: x", "{said:?}");
        let said = read("@ERROR: auth failed\nrsync error: (code 5)\n\n");
        assert!(said.let_in.is_none() && said.last == "@ERROR: auth failed", "{said:?}");
        assert_eq!(read("rsync error: \x07only this").last, "rsync error: only this");
        assert!(read(&"x".repeat(9_000)).last.len() <= TOLD);
    }
}
