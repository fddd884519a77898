//! Reads the standard error of a program of the system.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use btu_units::Time;

use crate::account::now;

/// The longest line, and the most of a line that is told.
const LONGEST: u64 = 4096;
const TOLD: usize = 160;

/// When it said that the other end is let in, and what it said last.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) let_in: Option<Time>,
    pub(super) last: String,
}

/// Reads on until the program is gone.
pub(super) struct Log {
    said: Arc<Mutex<Said>>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    /// Of a child whose standard error is a pipe; a line that begins with `let_in` says that the
    /// other end is.
    pub(super) fn of(child: &mut Child, let_in: &'static str) -> Self {
        let said = Arc::<Mutex<Said>>::default();
        let (shared, from) = (Arc::clone(&said), child.stderr.take());
        // Without a thread, or a pipe, nothing is known of what it said.
        let reader = from.and_then(|from| {
            let read = move || follow(BufReader::new(from), let_in, &shared);
            thread::Builder::new().name("ssh-log".to_owned()).spawn(read).ok()
        });
        Self { said, reader }
    }

    /// All that it said, when it is gone.
    pub(super) fn finish(mut self) -> Said {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn follow(mut from: impl BufRead, let_in: &'static str, said: &Mutex<Said>) {
    let mut line = Vec::new();
    while from.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        let text: String = text.chars().filter(|one| !one.is_control()).take(TOLD).collect();
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if text.starts_with(let_in) && said.let_in.is_none() {
            said.let_in = now().ok();
        }
        if !text.is_empty() {
            said.last = text;
        }
        line.clear();
    }
}
