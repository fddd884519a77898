//! The output of a program: read at once, kept up to a limit.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};

use btu_contract::program::{KEPT, Printed};

/// The size that is kept of the beginning, and equally of the end.
const HALF: usize = KEPT / 2;

/// The largest number of bytes in one read.
const CHUNK: usize = 16 << 10;

/// One stream of a program.
pub(super) struct OutputStream<R> {
    from: Option<R>,
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    all: u64,
}

impl<R: Read> OutputStream<R> {
    /// A stream without data so far; reading must not block.
    pub(super) fn new(from: Option<R>) -> Self {
        Self { from, beginning: Vec::new(), end: VecDeque::new(), all: 0 }
    }

    /// The file descriptor of the stream, until it has ended.
    pub(super) fn source(&self) -> Option<&R> {
        self.from.as_ref()
    }

    /// Reads once; returns whether more may be available.
    pub(super) fn read(&mut self) -> bool {
        let Some(from) = &mut self.from else { return false };
        let mut chunk = [0; CHUNK];
        match from.read(&mut chunk) {
            Ok(0) => self.from = None,
            Ok(count) => self.keep(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            // The stream has ended.
            Err(_) => self.from = None,
        }
        self.from.is_some()
    }

    /// Whether the kept output contains this text.
    pub(super) fn has(&self, text: &str) -> bool {
        self.printed().text.contains(text)
    }

    /// The output so far.
    pub(super) fn printed(&self) -> Printed {
        let end: Vec<u8> = self.end.iter().copied().collect();
        let between = self.all - (self.beginning.len() + end.len()) as u64;
        let gap =
            if between > 0 { format!("\n[{between} bytes are not kept]\n") } else { String::new() };
        let [beginning, end] =
            [&self.beginning, &end].map(|part| String::from_utf8_lossy(part).into_owned());
        // The output has one cut or none: without a cut, a character must not be split.
        let text = if between > 0 { beginning + &gap + &end } else { self.whole() };
        Printed { text, all: self.all }
    }

    fn whole(&self) -> String {
        let all: Vec<u8> = self.beginning.iter().chain(&self.end).copied().collect();
        String::from_utf8_lossy(&all).into_owned()
    }

    fn keep(&mut self, chunk: &[u8]) {
        self.all += chunk.len() as u64;
        let (first, rest) = chunk.split_at(chunk.len().min(HALF - self.beginning.len()));
        self.beginning.extend_from_slice(first);
        self.end.extend(&rest[rest.len().saturating_sub(HALF)..]);
        let excess = self.end.len().saturating_sub(HALF);
        self.end.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(bytes: &[u8]) -> Printed {
        let mut stream = OutputStream::new(Some(bytes));
        while stream.read() {}
        stream.printed()
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let text = "ü".repeat(KEPT / 2);
        let kept = printed(text.as_bytes());
        assert_eq!((kept.text.as_str(), kept.all), (text.as_str(), KEPT as u64));
        assert!(kept.is_whole());
    }

    #[test]
    fn of_a_long_one_beginning_and_end_are_kept() {
        let mut bytes = vec![b'a'; 10 << 20];
        bytes.extend_from_slice(b"the end");
        let kept = printed(&bytes);
        assert_eq!(kept.all, bytes.len() as u64);
        assert!(kept.text.starts_with("aaa") && kept.text.ends_with("the end"));
        assert!(kept.text.contains("[10420231 bytes are not kept]"), "{}", bytes.len() - KEPT);
        assert!(!kept.is_whole() && kept.text.len() < KEPT + 100);
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(printed(&[b'a', 0xff, b'b']).text, "a\u{fffd}b");
        assert!(OutputStream::new(Some(&b"x"[..])).source().is_some());
    }
}
