//! The session with the server, and the files that come out of it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use btu_units::Bytes;

use super::control::{FtpControlConnection, FtpError};
use crate::LoadError;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// How long the server may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// The interval of checks of a silent data connection: a fetch with an end time ends at most this
/// much later.
const TICK: Duration = Duration::from_millis(100);

/// The time limit for closing connections; the results are complete by then.
const GOODBYE: Duration = Duration::from_secs(1);

/// The replies to a transfer that begins, and to one that is complete.
const BEGINS: &[u16] = &[125, 150];
const COMPLETE: &[u16] = &[226, 250];

/// A control connection, logged in.
pub(crate) struct FtpClientSession {
    control: FtpControlConnection,
    server: SocketAddr,
    file: String,
}

impl FtpClientSession {
    /// Connects, logs in, and asks for binary transfers over passive data connections.
    pub(crate) fn log_in(
        server: SocketAddr,
        user: &str,
        password: &str,
    ) -> Result<Self, LoadError> {
        const NEEDS_PASSWORD: u16 = 331;
        let failed =
            |operation: &'static str| move |source: FtpError| ftp_error(server, operation, &source);
        let mut control =
            FtpControlConnection::open(server, CONNECT, SILENCE).map_err(failed("connect"))?;
        let answer = control
            .ask(&format!("USER {user}"), &[230, NEEDS_PASSWORD])
            .map_err(failed("log in"))?;
        if answer == NEEDS_PASSWORD {
            control.ask(&format!("PASS {password}"), &[230, 202]).map_err(failed("log in"))?;
        }
        control.ask("TYPE I", &[200]).map_err(failed("ask for binary transfers"))?;
        Ok(Self { control, server, file: String::new() })
    }

    /// Asks for `file`, which has `expected` bytes.
    pub(crate) fn retrieve(&mut self, file: &str, expected: u64) -> Result<FtpTransfer, LoadError> {
        let data = self.begin("RETR", file);
        let data = data.map_err(|source| self.error(&format!("retrieve `{file}`"), &source))?;
        Ok(self.transfer(data, file, expected))
    }

    /// Begins to store a file.
    pub(crate) fn store(&mut self, file: &str) -> Result<FtpTransfer, LoadError> {
        let data = self.begin("STOR", file);
        let data = data.map_err(|source| self.error(&format!("store `{file}`"), &source))?;
        Ok(self.transfer(data, file, 0))
    }

    /// A data connection, on which the file comes or goes.
    fn begin(&mut self, command: &str, file: &str) -> Result<TcpStream, FtpError> {
        let port = self.control.data_port(self.server.is_ipv4())?;
        let data = open_data(SocketAddr::new(self.server.ip(), port))?;
        self.control.ask(&format!("{command} {file}"), BEGINS)?;
        Ok(data)
    }

    fn transfer(&mut self, data: TcpStream, file: &str, expected: u64) -> FtpTransfer {
        file.clone_into(&mut self.file);
        FtpTransfer {
            data,
            server: self.server,
            file: file.to_owned(),
            expected,
            received: 0,
            ended: false,
            silent_since: None,
        }
    }

    /// Reads the server's reply that the file is sent, and compares the size.
    pub(crate) fn complete(&mut self, transfer: FtpTransfer) -> Result<(), LoadError> {
        let FtpTransfer { data, server, file, expected, received, .. } = transfer;
        drop(data);
        let confirmed = self.control.confirm(COMPLETE);
        confirmed.map_err(|source| self.error(&format!("complete `{file}`"), &source))?;
        if expected != received {
            return Err(LoadError::Size { server, file, expected, received });
        }
        Ok(())
    }

    /// Ends the data connection and waits for the server's reply that it has the file.
    pub(crate) fn complete_store(&mut self, transfer: FtpTransfer) -> Result<(), LoadError> {
        let FtpTransfer { data, file, .. } = transfer;
        drop(data);
        let confirmed = self.control.confirm(COMPLETE);
        confirmed.map_err(|source| self.error(&format!("have `{file}` stored"), &source))
    }

    /// How data connections come about.
    pub(super) fn mode(&self) -> &'static str {
        if self.server.is_ipv4() { "PASV" } else { "EPSV" }
    }

    /// The error for wrong content.
    pub(super) fn wrong_content(&self, offset: u64) -> LoadError {
        LoadError::Content { server: self.server, file: self.file.clone(), offset }
    }

    /// Aborts the `unfinished` transfer and closes the session. Failures now come after the
    /// measurement, and the server sees the connections close in any case.
    pub(crate) fn log_out(mut self, unfinished: Option<FtpTransfer>) {
        let _ = self.leave(unfinished);
    }

    fn leave(&mut self, unfinished: Option<FtpTransfer>) -> Result<(), FtpError> {
        self.control.set_silence(GOODBYE)?;
        if let Some(transfer) = unfinished {
            self.control.send("ABOR")?;
            drop(transfer);
            // The transfer's own reply, then that to ABOR, unless the transfer was complete.
            self.control.confirm(&[225, 226, 426])?;
            self.control.confirm(&[225, 226])?;
        }
        self.control.ask("QUIT", &[221]).map(drop)
    }

    fn error(&self, operation: &str, source: &FtpError) -> LoadError {
        ftp_error(self.server, operation, source)
    }
}

/// A file during its transfer.
#[derive(Debug)]
pub(crate) struct FtpTransfer {
    data: TcpStream,
    server: SocketAddr,
    file: String,
    /// The size of a file that is received.
    expected: u64,
    received: u64,
    ended: bool,
    silent_since: Option<Instant>,
}

impl FtpTransfer {
    /// Reads the available data, up to the length of `bytes`; 0 when the file has ended or no data
    /// arrived for a tick.
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, LoadError> {
        match self.data.read(bytes) {
            Ok(0) => self.ended = true,
            Ok(length) => {
                self.received += length as u64;
                self.silent_since = None;
                return Ok(length);
            }
            Err(error) => self.excuse(error)?,
        }
        Ok(0)
    }

    /// Silence is accepted for a while; the clock is read only when there is no data.
    fn excuse(&mut self, error: io::Error) -> Result<(), LoadError> {
        let (server, file, received) = (self.server, self.file.clone(), Bytes::new(self.received));
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                if self.silent_since.get_or_insert_with(Instant::now).elapsed() < SILENCE {
                    return Ok(());
                }
                Err(LoadError::Silent { server, file, received, silence: SILENCE.into() })
            }
            _ => Err(LoadError::Data { server, file, received, source: error }),
        }
    }

    /// Sends all of `bytes`; silence of the network is accepted for a while.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        let failed = |source: io::Error| {
            ftp_error(self.server, &format!("send `{}`", self.file), &source.into())
        };
        self.data.write_all(bytes).map_err(failed)
    }

    /// Whether the server has ended the data connection.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

/// A data connection with timeouts.
fn open_data(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(SILENCE))?;
    Ok(stream)
}

fn ftp_error(server: SocketAddr, operation: &str, source: &FtpError) -> LoadError {
    LoadError::Ftp { server, operation: operation.to_owned(), reason: source.to_string() }
}
