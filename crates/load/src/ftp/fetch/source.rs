//! The session with the server, and the files that come out of it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use btu_units::Bytes;
use suppaftp::types::{FileType, Mode};
use suppaftp::{FtpError, FtpStream, ImplFtpStream, Status, TlsStream, TransferStream};

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

/// Names the type parameter of [`FtpStream`], which its crate keeps to itself.
trait Parameter {
    type Tls: TlsStream;
}

impl<T: TlsStream> Parameter for ImplFtpStream<T> {
    type Tls = T;
}

/// A data connection of [`FtpStream`].
type DataConnection = TransferStream<<FtpStream as Parameter>::Tls>;

/// A control connection, logged in.
pub(crate) struct FtpClientSession {
    ftp: Option<FtpStream>,
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
        let failed = |operation: &'static str| move |source| ftp_error(server, operation, source);
        let mut ftp = FtpStream::connect_timeout(server, CONNECT).map_err(failed("connect"))?;
        set_timeout(&ftp, SILENCE).map_err(failed("set a time-out"))?;
        ftp = ftp.passive_stream_builder(open_data);
        // PASV cannot express IPv6 addresses (RFC 2428), but more servers support it. The client
        // ignores the address in its reply: behind a relay or a translator it is not reachable, and
        // it could be that of any machine.
        ftp.set_mode(if server.is_ipv4() { Mode::Passive } else { Mode::ExtendedPassive });
        ftp.set_passive_nat_workaround(true);
        ftp.login(user, password).map_err(failed("log in"))?;
        ftp.transfer_type(FileType::Binary).map_err(failed("ask for binary transfers"))?;
        Ok(Self { ftp: Some(ftp), server, file: String::new() })
    }

    /// Asks for `file`, which has `expected` bytes.
    pub(crate) fn retrieve(&mut self, file: &str, expected: u64) -> Result<FtpTransfer, LoadError> {
        let server = self.server;
        file.clone_into(&mut self.file);
        let data = self
            .ftp()?
            .retr_as_stream(file)
            .map_err(|source| ftp_error(server, &format!("retrieve `{file}`"), source))?;
        Ok(FtpTransfer {
            data,
            server,
            file: file.to_owned(),
            expected,
            received: 0,
            ended: false,
            silent_since: None,
        })
    }

    /// Begins to store a file.
    pub(crate) fn store(&mut self, file: &str) -> Result<FtpTransfer, LoadError> {
        let server = self.server;
        file.clone_into(&mut self.file);
        let data = self
            .ftp()?
            .put_with_stream(file)
            .map_err(|source| ftp_error(server, &format!("store `{file}`"), source))?;
        Ok(FtpTransfer {
            data,
            server,
            file: file.to_owned(),
            expected: 0,
            received: 0,
            ended: false,
            silent_since: None,
        })
    }

    /// After a failure: do not wait long for the server's last reply.
    pub(crate) fn hurry(&mut self) {
        if let Some(ftp) = &self.ftp
            && set_timeout(ftp, GOODBYE).is_err()
        {
            self.ftp = None;
        }
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
        let Some(mut ftp) = self.ftp.take() else { return };
        if set_timeout(&ftp, GOODBYE).is_err() {
            return;
        }
        let aborted = unfinished.map_or(Ok(()), |transfer| ftp.abort(transfer.data));
        if aborted.is_ok() {
            let _ = ftp.quit();
        }
    }

    fn ftp(&mut self) -> Result<&mut FtpStream, LoadError> {
        let gone = || ftp_error(self.server, "use the connection", FtpError::BadResponse);
        self.ftp.as_mut().ok_or_else(gone)
    }
}

/// A file during its transfer.
#[derive(Debug)]
pub(crate) struct FtpTransfer {
    data: DataConnection,
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
        let failed = |source| {
            ftp_error(
                self.server,
                &format!("send `{}`", self.file),
                FtpError::ConnectionError(source),
            )
        };
        self.data.write_all(bytes).map_err(failed)
    }

    /// Ends the data connection and waits for the server's reply that it has the file.
    pub(crate) fn complete_store(self) -> Result<(), LoadError> {
        let Self { data, server, file, .. } = self;
        data.finish().map_err(|source| ftp_error(server, &format!("have `{file}` stored"), source))
    }

    /// Whether the server has ended the data connection.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads the server's reply that the file is sent, and compares the size.
    pub(crate) fn complete(self) -> Result<(), LoadError> {
        let Self { data, server, file, expected, received, .. } = self;
        data.finish().map_err(|source| ftp_error(server, &format!("complete `{file}`"), source))?;
        if expected != received {
            return Err(LoadError::Size { server, file, expected, received });
        }
        Ok(())
    }
}

/// A data connection with timeouts.
fn open_data(address: SocketAddr) -> Result<TcpStream, FtpError> {
    let open = || {
        let stream = TcpStream::connect_timeout(&address, CONNECT)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(stream)
    };
    open().map_err(FtpError::ConnectionError)
}

fn set_timeout(ftp: &FtpStream, timeout: Duration) -> Result<(), FtpError> {
    ftp.get_ref().set_read_timeout(Some(timeout)).map_err(FtpError::ConnectionError)
}

fn ftp_error(server: SocketAddr, operation: &str, source: FtpError) -> LoadError {
    LoadError::Ftp { server, operation: operation.to_owned(), reason: reason(source) }
}

/// The error, without the text of the server's reply.
fn reason(error: FtpError) -> String {
    match error {
        FtpError::ConnectionError(error) => error.to_string(),
        FtpError::UnexpectedResponse(answer) if answer.status == Status::Unknown => {
            "its answer has no code of FTP (RFC 959)".to_owned()
        }
        FtpError::UnexpectedResponse(answer) => format!("it answered {}", answer.status.code()),
        _ => "its answer is none of FTP (RFC 959)".to_owned(),
    }
}
