//! An agent at the other end of a child's standard input and output: an ssh, or an agent of this
//! machine itself.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, BufReader, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The size of the child's error output that is kept.
const COMPLAINTS: usize = 4096;

/// The time for reading a child's last error output.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The child with its input and output. Dropping it ends both.
pub(super) struct AgentPipe {
    pub(super) words: BufReader<ChildStdout>,
    pub(super) orders: ChildStdin,
    complaints: Complaints,
    pub(super) child: Child,
}

impl AgentPipe {
    /// Starts the command with pipes to its standard streams.
    pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for btu: the host is released in order.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let ((orders, words), complaints) =
            pipes.ok_or_else(|| io::Error::other("its pipes are missing"))?;
        Ok(Self { words: BufReader::new(words), orders, complaints: listen(complaints), child })
    }

    /// Starts an agent of this machine, which ends with its input.
    pub(super) fn here(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["hosts", "agent", "--stdio"]);
        Self::spawn(command)
    }

    /// The last line of the child's error output, when it has ended.
    pub(super) async fn last_words(&mut self) -> Option<String> {
        let _ = timeout(LAST_WORDS, self.child.wait()).await;
        self.complaints.last_line(|_| true)
    }
}

/// The end of a child's error output.
#[derive(Debug, Clone, Default)]
pub(super) struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    pub(super) fn add(&self, octets: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(octets);
        let excess = kept.len().saturating_sub(COMPLAINTS);
        kept.drain(..excess);
    }

    /// What a launcher complains of: the message in its frame, else the last line.
    pub(super) fn reason(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        framed(&String::from_utf8_lossy(&kept)).or_else(|| self.last_line(|_| true))
    }

    /// The last line of a kind that is not empty.
    pub(super) fn last_line(&self, is_meant: impl Fn(&str) -> bool) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&kept);
        said.lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty() && is_meant(line))
            .map(str::to_owned)
    }
}

/// The first paragraph between lines of dashes, as Open MPI and PRRTE frame their messages.
fn framed(said: &str) -> Option<String> {
    let is_frame = |line: &&str| line.len() > 10 && line.trim_matches(['-', '=']).is_empty();
    let message = said.lines().map(str::trim).skip_while(|line| !is_frame(line));
    let message = message.skip_while(|line| line.is_empty() || is_frame(line));
    let paragraph: Vec<&str> =
        message.take_while(|line| !line.is_empty() && !is_frame(line)).collect();
    (!paragraph.is_empty()).then(|| paragraph.join(" "))
}

fn listen(mut complaints: ChildStderr) -> Complaints {
    let kept = Complaints::default();
    let to = kept.clone();
    tokio::spawn(async move {
        let mut buffer = [0; 1024];
        while let Ok(read @ 1..) = complaints.read(&mut buffer).await {
            to.add(&buffer[..read]);
        }
    });
    kept
}

impl AsyncRead for AgentPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.words).poll_read(context, into)
    }
}

impl AsyncWrite for AgentPipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.orders).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.orders).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.orders).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Open MPI 4.1 refuses; the words of a launcher without frames are its last line.
    #[test]
    fn the_reason_of_a_framed_message_is_no_line_of_dashes() {
        let frame = "-".repeat(74);
        let said = format!(
            "{frame}\nThere are not enough slots available in the system to satisfy the 3\nslots that were requested by the \
             application:\n\n  /usr/bin/btu\n\nEither request fewer procs ...\n{frame}\n"
        );
        let complaints = Complaints::default();
        complaints.add(said.as_bytes());
        let reason = "There are not enough slots available in the system to satisfy the 3 slots that were requested by the application:";
        assert_eq!(complaints.reason().as_deref(), Some(reason));
        let plain = Complaints::default();
        plain.add(b"srun: warning\nsrun: error: Unable to allocate\n\n");
        assert_eq!(plain.reason().as_deref(), Some("srun: error: Unable to allocate"));
    }
}
