//! A client's session with the embedded server: the part of FTP that clients use to get and store
//! files over passive data connections (RFC 959; RFC 2428 for IPv6; RFC 3659 for sizes and for going
//! on from the middle).

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use btu_contract::peers::{Callers, Refused};
use subtle::ConstantTimeEq;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::super::USER;
use super::super::virtual_files::{VirtualFiles, is_root};
use super::control::{Command, FtpControlConnection};

/// A connection is closed at its third wrong login.
const WRONG_LOGINS: u32 = 3;

/// A connection is closed when it has not logged in for so long.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that is silent between transfers for so long has gone.
const IDLE: Duration = Duration::from_mins(10);

/// The time for a client to come to its data port.
const DATA_TIMEOUT: Duration = Duration::from_secs(10);

/// What FEAT lists.
const FEATURES: [&str; 4] = ["EPSV", "PASV", "REST STREAM", "SIZE"];

const NO_FILE: &str = "no such file";

/// How a login ended.
enum Login {
    Done,
    /// The client has left.
    Left,
    /// It has guessed too often.
    Refused,
}

/// Serves one client until it leaves.
///
/// # Errors
/// Its connection failed, or it broke the rules.
pub(super) async fn serve(
    connection: TcpStream,
    client: IpAddr,
    files: VirtualFiles,
    password: &str,
    callers: &Callers,
) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let local = connection.local_addr()?.ip();
    let control = FtpControlConnection::over(connection);
    let mut session =
        FtpServerSession { control, client, local, files, port: None, offset: 0, held: None };
    match timeout(LOGIN_TIMEOUT, session.log_in(password)).await {
        Ok(Ok(Login::Done)) => session.obey_all().await,
        Ok(Ok(Login::Left)) => Ok(()),
        Ok(Ok(Login::Refused)) | Err(_) => {
            callers.refuse(client, Refused::NoLogin);
            Ok(())
        }
        Ok(Err(error)) => Err(error),
    }
}

struct FtpServerSession {
    control: FtpControlConnection,
    client: IpAddr,
    local: IpAddr,
    files: VirtualFiles,
    /// Where the next data connection comes in.
    port: Option<TcpListener>,
    /// Where the next transfer begins.
    offset: u64,
    /// A command that came during a transfer.
    held: Option<Command>,
}

impl FtpServerSession {
    async fn log_in(&mut self, password: &str) -> io::Result<Login> {
        self.control.reply(220, "btu: N.bin has N random bytes, for every N").await?;
        let (mut user, mut wrong) = (String::new(), 0);
        while let Some(Command { word, argument }) = self.control.command().await? {
            match word.as_str() {
                "USER" => {
                    user = argument;
                    self.control.reply(331, "and the password?").await?;
                }
                "PASS" if user == USER && is_right(&argument, password) => {
                    self.control.reply(230, "logged in").await?;
                    return Ok(Login::Done);
                }
                "PASS" => {
                    wrong += 1;
                    self.control.reply(530, "not logged in").await?;
                    // Guesses that came in one packet with the last one are not judged.
                    if wrong == WRONG_LOGINS {
                        return Ok(Login::Refused);
                    }
                }
                "QUIT" => break,
                _ => self.control.reply(530, "log in first").await?,
            }
        }
        Ok(Login::Left)
    }

    async fn obey_all(&mut self) -> io::Result<()> {
        loop {
            let command = match self.held.take() {
                Some(command) => Some(command),
                None => timeout(IDLE, self.control.command()).await??,
            };
            let Some(Command { word, argument }) = command else { return Ok(()) };
            match word.as_str() {
                "QUIT" => return self.control.reply(221, "goodbye").await,
                "PASV" | "EPSV" => self.open_port(&word).await?,
                "RETR" => self.retrieve(&argument).await?,
                "STOR" => self.store(&argument).await?,
                "LIST" | "NLST" => self.list(&argument, word == "NLST").await?,
                "REST" => self.restart(&argument).await?,
                "SIZE" => match self.files.find(&argument) {
                    Some(file) => self.control.reply(213, &file.size().to_string()).await?,
                    None => self.control.reply(550, NO_FILE).await?,
                },
                "FEAT" => self.control.list(211, "features", &FEATURES).await?,
                _ => {
                    let (code, text) = short_answer(&word, &argument);
                    self.control.reply(code, text).await?;
                }
            }
        }
    }

    /// Opens a port for the next data connection; the kernel chooses a free one.
    async fn open_port(&mut self, word: &str) -> io::Result<()> {
        let listener = TcpListener::bind(SocketAddr::new(self.local, 0)).await?;
        let port = listener.local_addr()?.port();
        self.port = Some(listener);
        match (word, self.local.to_canonical()) {
            ("EPSV", _) => self.control.reply(229, &format!("port (|||{port}|)")).await,
            (_, IpAddr::V4(address)) => {
                let [a, b, c, d] = address.octets();
                let [high, low] = port.to_be_bytes();
                let text = format!("port ({a},{b},{c},{d},{high},{low})");
                self.control.reply(227, &text).await
            }
            (_, IpAddr::V6(_)) => {
                self.port = None;
                self.control.reply(522, "use EPSV").await
            }
        }
    }

    async fn restart(&mut self, argument: &str) -> io::Result<()> {
        match argument.parse() {
            Ok(offset) => {
                self.offset = offset;
                self.control.reply(350, "and the transfer?").await
            }
            Err(_) => self.control.reply(501, "this is not a number of bytes").await,
        }
    }

    async fn retrieve(&mut self, path: &str) -> io::Result<()> {
        let offset = std::mem::take(&mut self.offset);
        let Some(file) = self.files.find(path) else {
            return self.control.reply(550, NO_FILE).await;
        };
        let files = self.files.clone();
        self.transfer(|data| async move { files.send(file, offset, data).await }).await
    }

    async fn store(&mut self, path: &str) -> io::Result<()> {
        self.offset = 0;
        if !self.files.may_store(path) {
            return self.control.reply(553, "not under this name").await;
        }
        let (files, client) = (self.files.clone(), self.client);
        self.transfer(|data| async move { files.receive(data, client).await }).await
    }

    /// Lists the directory, or a file; options of `ls`, as some clients send them, are ignored.
    async fn list(&mut self, argument: &str, only_names: bool) -> io::Result<()> {
        let path = if argument.starts_with('-') { "" } else { argument };
        let Some(lines) = self.files.list(path, only_names) else {
            return self.control.reply(550, NO_FILE).await;
        };
        self.transfer(|mut data| async move {
            data.write_all(lines.as_bytes()).await?;
            data.shutdown().await
        })
        .await
    }

    /// Moves data over the connection of the client at the open port. Meanwhile it may give up
    /// (ABOR); other commands wait.
    async fn transfer<F: Future<Output = io::Result<()>>>(
        &mut self,
        work: impl FnOnce(TcpStream) -> F,
    ) -> io::Result<()> {
        let Some(data) = self.connected().await? else {
            return self.control.reply(425, "no data connection").await;
        };
        self.control.reply(150, "here it goes").await?;
        let data = data.into_std()?;
        let to_close = data.try_clone()?;
        let mut work = pin!(work(TcpStream::from_std(data)?));
        let (mut is_aborted, mut has_left) = (false, false);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                command = self.control.command(), if self.held.is_none() && !has_left => match command? {
                    Some(command) if command.word == "ABOR" => {
                        is_aborted = true;
                        // The work ends with its connection, which may be closed already.
                        let _ = to_close.shutdown(Shutdown::Both);
                    }
                    Some(command) => self.held = Some(command),
                    None => has_left = true,
                },
            }
        };
        match done {
            Ok(()) => self.control.reply(226, "all of it went").await?,
            Err(_) => self.control.reply(426, "it broke off").await?,
        }
        if is_aborted { self.control.reply(226, "aborted").await } else { Ok(()) }
    }

    /// The data connection; only the client of the session may make it.
    async fn connected(&mut self) -> io::Result<Option<TcpStream>> {
        let Some(port) = self.port.take() else { return Ok(None) };
        let client = self.client;
        let coming = async move {
            loop {
                match port.accept().await? {
                    (data, from) if from.ip().to_canonical() == client => {
                        return Ok::<_, io::Error>(data);
                    }
                    _ => {}
                }
            }
        };
        timeout(DATA_TIMEOUT, coming).await.ok().transpose()
    }
}

fn is_right(given: &str, password: &str) -> bool {
    bool::from(given.as_bytes().ct_eq(password.as_bytes()))
}

/// The answer to commands that change nothing.
fn short_answer(word: &str, argument: &str) -> (u16, &'static str) {
    match word {
        "NOOP" | "ALLO" => (200, "done"),
        // Text is sent as it is.
        "TYPE" if argument.starts_with(['A', 'I', 'a', 'i']) => (200, "done"),
        "MODE" if argument.eq_ignore_ascii_case("S") => (200, "done"),
        "STRU" if argument.eq_ignore_ascii_case("F") => (200, "done"),
        "OPTS" if argument.eq_ignore_ascii_case("UTF8 ON") => (200, "done"),
        "TYPE" | "MODE" | "STRU" | "OPTS" => (504, "not with this"),
        "SYST" => (215, "UNIX Type: L8"),
        "PWD" | "XPWD" => (257, "\"/\" is the one directory"),
        "CWD" if is_root(argument) => (250, "done"),
        "CDUP" => (250, "done"),
        "CWD" => (550, "no such directory"),
        "ABOR" => (226, "nothing to abort"),
        "DELE" | "MKD" | "RMD" | "RNFR" | "RNTO" | "APPE" | "STOU" => (550, "not allowed"),
        "PORT" | "EPRT" => (502, "passive transfers only: PASV or EPSV"),
        "USER" | "PASS" => (503, "logged in already"),
        _ => (502, "unknown"),
    }
}
