//! A worker as a process with pipes.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use btu_contract::activity::Word;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::protocol::MESSAGE_LIMIT_BYTES;

/// The time for a worker to exit after its last message.
pub(super) const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// A child process with its pipes.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) orders: ChildStdin,
    pub(super) words: Words,
}

impl Process {
    pub(super) fn spawn(executable: &Path) -> std::io::Result<Self> {
        let mut child = Command::new(executable)
            .args(["internal", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || std::io::Error::other("the worker's pipes are missing");
        let orders = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        Ok(Self {
            child,
            orders,
            words: Words { output: BufReader::new(output), line: Vec::new() },
        })
    }

    pub(super) async fn exchange(&mut self, order_json: &str) -> Result<Word, String> {
        // An order is one line; JSON strings never hold a raw line break, but a foreign formatter
        // may add some.
        tell(&mut self.orders, &order_json.replace('\n', " "))
            .await
            .map_err(|error| error.to_string())?;
        match self.words.next().await? {
            Some((word, _)) => Ok(word),
            None => Err(exit_reason(&mut self.child).await),
        }
    }
}

/// A worker's messages, line by line.
pub(super) struct Words {
    output: BufReader<ChildStdout>,
    /// The part of the next line that has been read already.
    line: Vec<u8>,
}

impl Words {
    /// The next message, parsed and as text; `None` at the end. It is cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<(Word, String)>, String> {
        let room = (MESSAGE_LIMIT_BYTES - self.line.len()) as u64;
        let mut limited = (&mut self.output).take(room);
        limited
            .read_until(b'\n', &mut self.line)
            .await
            .map_err(|error| format!("reading its messages: {error}"))?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap_or_default();
        let word = serde_json::from_str(&line)
            .map_err(|error| format!("it said something unknown: {error}"))?;
        Ok(Some((word, line.trim_end().to_owned())))
    }
}

pub(super) async fn tell(orders: &mut ChildStdin, line: &str) -> std::io::Result<()> {
    orders.write_all(format!("{line}\n").as_bytes()).await?;
    orders.flush().await
}

pub(super) async fn exit_reason(child: &mut Child) -> String {
    match timeout(EXIT_LIMIT, child.wait()).await {
        Ok(Ok(status)) => describe(status),
        Ok(Err(error)) => format!("its end could not be seen: {error}"),
        Err(_) => "it closed its output and went on".to_owned(),
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ => status.to_string(),
    }
}
