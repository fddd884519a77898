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
    complaints: Arc<Mutex<Vec<u8>>>,
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
        command.args(["agent", "--stdio"]);
        Self::spawn(command)
    }

    /// The last line of the child's error output, when it has ended.
    pub(super) async fn last_words(&mut self) -> Option<String> {
        let _ = timeout(LAST_WORDS, self.child.wait()).await;
        let said = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }
}

/// Keeps the end of a child's error output.
fn listen(mut complaints: ChildStderr) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&kept);
    tokio::spawn(async move {
        let mut buffer = [0; 1024];
        while let Ok(read @ 1..) = complaints.read(&mut buffer).await {
            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
            to.extend_from_slice(&buffer[..read]);
            let excess = to.len().saturating_sub(COMPLAINTS);
            to.drain(..excess);
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
