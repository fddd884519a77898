//! Commands and replies of a control connection (RFC 959 sections 4 and 5.3).

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// A command has no more octets than this.
const LONGEST_COMMAND: usize = 4096;

/// A command as it came: its word, in capitals, and what follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) word: String,
    pub(super) argument: String,
}

impl Command {
    fn parse(line: &str) -> Self {
        let line = line.trim_end_matches(['\r', '\n']);
        let (word, argument) = line.split_once(' ').unwrap_or((line, ""));
        Self { word: word.to_ascii_uppercase(), argument: argument.to_owned() }
    }
}

/// Both directions of the connection.
#[derive(Debug)]
pub(super) struct FtpControlConnection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
}

impl FtpControlConnection {
    pub(super) fn over(connection: TcpStream) -> Self {
        let (reader, writer) = connection.into_split();
        Self { reader: BufReader::new(reader), writer, line: Vec::new() }
    }

    /// The next command; `None` when the client has gone. Nothing is lost when it is dropped.
    pub(super) async fn command(&mut self) -> io::Result<Option<Command>> {
        let room = LONGEST_COMMAND.saturating_sub(self.line.len()) as u64;
        (&mut self.reader).take(room).read_until(b'\n', &mut self.line).await?;
        if !self.line.ends_with(b"\n") {
            let is_long = self.line.len() >= LONGEST_COMMAND;
            return if is_long { Err(io::ErrorKind::InvalidData.into()) } else { Ok(None) };
        }
        let line = std::mem::take(&mut self.line);
        Ok(Some(Command::parse(&String::from_utf8_lossy(&line))))
    }

    pub(super) async fn reply(&mut self, code: u16, text: &str) -> io::Result<()> {
        self.writer.write_all(format!("{code} {text}\r\n").as_bytes()).await
    }

    /// A reply of several lines.
    pub(super) async fn list(&mut self, code: u16, title: &str, lines: &[&str]) -> io::Result<()> {
        let lines = lines.join("\r\n ");
        let text = format!("{code}-{title}\r\n {lines}\r\n{code} end\r\n");
        self.writer.write_all(text.as_bytes()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_a_word_and_the_rest() {
        let command = |line| {
            let Command { word, argument } = Command::parse(line);
            (word, argument)
        };
        assert_eq!(command("retr a b.bin\r\n"), ("RETR".to_owned(), "a b.bin".to_owned()));
        assert_eq!(command("Pasv\n"), ("PASV".to_owned(), String::new()));
        assert_eq!(command("\r\n"), (String::new(), String::new()));
    }
}
