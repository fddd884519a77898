//! A host without an agent. The user's own OpenSSH copies this program there, and the agent uses
//! that connection.
//!
//! One connection does it all. A small shell script takes the program from the connection, checks
//! it, runs it with the rest of the connection as its input and output, and removes it when it has
//! ended. The agent ends with its input, so nothing stays behind when this side ends in any way;
//! the next start there removes the remains of a host's own crash.
//!
//! Where the host's sshd starts an agent of the host's owner instead of the script (`command=` in
//! `authorized_keys`), that one is used, and nothing is copied.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use btu_units::{controls, hexadecimal};
use futures_util::FutureExt as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::super::error::ControllerError;
use super::pipe::AgentPipe;
use super::program::Program;
use crate::agent::READY;

/// The timeout from the call to the agent's first message, the copying included.
const START_LIMIT: Duration = Duration::from_mins(2);

/// The timeouts from a login shell's first output to the script's: of a shell that has printed a line
/// without an end, which may be an unanswered question; and in addition of one that may still
/// read its start files (modules, quotas, a home on a slow server).
const SHELL_LIMITS: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(100)];

/// The ends of the script's lines: that it has begun, [`READY`], and why it has failed. Login shells
/// may print anything before, without an end of line, too.
const BEGUN: &str = "btu-agent-is-on-its-way";
const FAILED: &str = "btu-agent-failed: ";

/// Octets of greetings and the like that are skipped, and how many a line may have.
const MOST_OCTETS: usize = 1 << 20;
const LONGEST_LINE: u64 = 4096;

/// The program is sent in blocks of this, which `dd` takes exactly.
const BLOCK: usize = 65536;

/// The settings of a call by ssh.
#[derive(Debug, Clone)]
pub(super) struct SshCall {
    pub(super) host: String,
    pub(super) destination: String,
    pub(super) program: PathBuf,
    pub(super) binary: Program,
}

impl SshCall {
    fn lost(&self, message: impl Into<String>) -> ControllerError {
        let message = format!("ssh {}: {}", self.destination, message.into());
        ControllerError::OutOfReach { host: self.host.clone(), message }
    }

    fn refused(&self, message: impl Into<String>) -> ControllerError {
        let message = format!("ssh {}: {}", self.destination, message.into());
        ControllerError::Host { host: self.host.clone(), message }
    }
}

/// Starts an agent on the remote host.
pub(super) async fn start(call: &SshCall) -> Result<AgentPipe, ControllerError> {
    let copied = call.binary.read().map_err(|error| {
        call.refused(format!(
            "reading the program that is to be copied, {}: {error}",
            call.binary.path().display()
        ))
    })?;
    let mut pipe = open(call, &copied.script)?;
    match timeout(START_LIMIT, begin(&mut pipe, &copied.octets)).await {
        Ok(Ok(())) => Ok(pipe),
        Ok(Err(Trouble::Said(message))) => Err(call.refused(message)),
        Ok(Err(Trouble::Broken(error))) => Err(call.lost(last_words(&mut pipe, &error).await)),
        Err(_) => Err(call.lost(format!("no agent after {} s", START_LIMIT.as_secs()))),
    }
}

/// Why a login shell that has printed `noise` has started no script in this time.
fn held_up(noise: &str, waited: Duration) -> Trouble {
    Trouble::Said(format!(
        "its login shell prints `{}` and has not run the command that ssh gives it for {} s: look for a ForceCommand in \
         its sshd's configuration, or for what its shell's start files ask or start when no terminal is there",
        noise.trim(),
        waited.as_secs()
    ))
}

/// Why there is no agent.
enum Trouble {
    /// The script reported it.
    Said(String),
    /// The connection to the host broke.
    Broken(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// The script that the host's shell runs. It has no single quotation mark, so that any login shell
/// can pass it on.
pub(super) fn script(binary: &[u8]) -> String {
    let digest = digest(binary);
    let version = env!("CARGO_PKG_VERSION");
    let short = &digest[..16];
    [
        format!("echo {BEGUN}"),
        "umask 077".to_owned(),
        format!("fail() {{ echo \"{FAILED}$1\"; exit 1; }}"),
        "c=\"${XDG_CACHE_HOME:-$HOME/.cache}/btu\"".to_owned(),
        "n=\"$(uname -n)\"".to_owned(),
        "t=\"${TMPDIR:-/tmp}\"".to_owned(),
        format!("name=\"{version}-{short}@$n@pid$$\""),
        "made=\"$(mkdir -p \"$c\" 2>&1)\"".to_owned(),
        // The remains of a crash: the directory is named after the shell that made it, and after
        // its host, because hosts may share a home.
        "for old in \"$c\"/*\"@$n@pid\"* \"$t\"/btu-*\"@$n@pid\"*; do \
         test -O \"$old\" && { p=\"${old##*@pid}\"; kill -0 \"$p\" 2>/dev/null || rm -rf \"$old\"; }; done"
            .to_owned(),
        // In the home directory; where programs may not run there (noexec), or it cannot be written,
        // among temporary files. No other user has made the directory.
        "try() { d=\"$1\"; why=\"$(mkdir \"$d\" 2>&1)\" || return 1; \
         why=\"$({ echo : >\"$d/btu\" && chmod 700 \"$d/btu\" && \"$d/btu\"; } 2>&1)\" && return; rm -rf \"$d\"; return 1; }"
            .to_owned(),
        "try \"$c/$name\" || { home=\"$why\"; try \"$t/btu-$name\"; } || \
         fail \"no program can run there: $home; $why; is there a home directory with room?\""
            .to_owned(),
        "trap \"rm -rf \\\"$d\\\"\" EXIT".to_owned(),
        "trap : HUP INT TERM PIPE".to_owned(),
        // Its last lines are counts.
        format!(
            "said=\"$({{ {}; }} 2>&1 >\"$d/btu\")\" || fail \"copying to $d: $(echo \"$said\" | grep dd: | tail -n 1)\"",
            taking(binary.len())
        ),
        format!(
            "s=\"$(sha256sum <\"$d/btu\" | cut -c 1-64)\"; test \"$s\" = {digest} || fail \"the copy in $d is damaged\""
        ),
        "chmod 700 \"$d/btu\"".to_owned(),
        "said=\"$(\"$d/btu\" --version 2>&1)\" || fail \"$(uname -s) on $(uname -m) cannot run it: $(echo \"$said\" | tail -n 1)\""
            .to_owned(),
        // The agent's own command was not replaced, even if sshd has replaced the one before it.
        "unset SSH_ORIGINAL_COMMAND".to_owned(),
        format!("echo {READY}"),
        "\"$d/btu\" hosts agent --stdio".to_owned(),
    ]
    .join("; ")
}

/// Reads exactly this number of octets and leaves those after them.
fn taking(octets: usize) -> String {
    let parts = [(BLOCK, octets / BLOCK), (octets % BLOCK, 1)];
    let parts = parts.iter().filter(|(size, count)| size * count > 0);
    parts
        .map(|(size, count)| format!("dd bs={size} count={count} iflag=fullblock"))
        .collect::<Vec<_>>()
        .join(" && ")
}

fn digest(binary: &[u8]) -> String {
    hexadecimal(ring::digest::digest(&ring::digest::SHA256, binary).as_ref())
}

/// An ssh connection with an agent at its end, once [`begin`] is through.
fn open(call: &SshCall, script: &str) -> Result<AgentPipe, ControllerError> {
    AgentPipe::spawn(command(&call.program, &call.destination, script)).map_err(|error| {
        let program = call.program.display();
        call.refused(format!(
            "starting {program}: {error}; is OpenSSH installed? See --ssh-program"
        ))
    })
}

/// Sends the program, if it is wanted, and waits for the agent.
async fn begin(pipe: &mut AgentPipe, binary: &[u8]) -> Result<(), Trouble> {
    let AgentPipe { words, orders, .. } = pipe;
    let send = async {
        let sent = orders.write_all(binary).await;
        sent.and(orders.flush().await)
    };
    hear(words, SHELL_LIMITS, send).await
}

async fn last_words(pipe: &mut AgentPipe, error: &io::Error) -> String {
    match pipe.last_words().await {
        Some(last) => {
            format!("{}; does `ssh -o BatchMode=yes` work there without a question?", shown(&last))
        }
        None => error.to_string(),
    }
}

/// Options that would keep the agent's connection from being its standard input and output, and
/// what prompts, forwardings and timeouts have to be. An older ssh, before 8.7 of 2021, lacks some
/// of them, and then no configuration of its user has them either.
const OPTIONS: [&str; 11] = [
    "IgnoreUnknown=*",
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ClearAllForwardings=yes",
    "ServerAliveInterval=2",
    "ServerAliveCountMax=4",
    "ForwardAgent=no",
    "RemoteCommand=none",
    "SessionType=default",
    "StdinNull=no",
    "ForkAfterAuthentication=no",
];

/// The user's own configuration decides all other options.
fn command(program: &Path, destination: &str, script: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("-T");
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    command.arg("--").arg(destination).arg(format!("exec sh -c '{script}'"));
    command
}

/// Waits for the agent among other output, and sends the program when the script has begun;
/// `limits` are those of a login shell.
async fn hear(
    words: &mut (impl AsyncBufRead + Unpin),
    limits: [Duration; 2],
    send: impl Future<Output = io::Result<()>>,
) -> Result<(), Trouble> {
    // Until something is printed, ssh may be connecting, or the host thinking.
    words.fill_buf().await?;
    let mut noise = Noise::default();
    let mut waited = Duration::ZERO;
    for limit in limits {
        waited += limit;
        match timeout(limit, noise.skip(words, &[BEGUN, READY])).await {
            Ok(found) => {
                if found? == READY {
                    return Ok(());
                }
                // A script that has failed stops reading: its message counts, not the closed
                // connection.
                let (_, found) = tokio::join!(send, noise.skip(words, &[READY]));
                return found.map(drop);
            }
            Err(_) if noise.is_unfinished() => break,
            Err(_) => {}
        }
    }
    Err(held_up(&noise.shown(), waited))
}

/// Output that is not the script's.
#[derive(Default)]
struct Noise {
    octets: usize,
    /// The line that has no end yet, or the end of it.
    line: Vec<u8>,
    last: String,
}

impl Noise {
    /// Skips everything up to the line that ends with one of `awaited`, and returns that one.
    async fn skip(
        &mut self,
        words: &mut (impl AsyncBufRead + Unpin),
        awaited: &[&'static str],
    ) -> Result<&'static str, Trouble> {
        loop {
            // What is read stays here if a timeout ends this.
            let mut limited = (&mut *words).take(LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut self.line).await?;
            if read == 0 {
                return Err(self.ended().into());
            }
            self.octets += read;
            let line = String::from_utf8_lossy(&self.line);
            let found = awaited.iter().find(|word| line.trim_end().ends_with(**word));
            if let Some(found) = found {
                self.line.clear();
                return Ok(found);
            }
            if let Some((_, why)) = line.split_once(FAILED) {
                return Err(Trouble::Said(remedy(why.trim_end())));
            }
            if self.octets > MOST_OCTETS {
                return Err(Trouble::Said("it says a lot, but no agent starts".to_owned()));
            }
            self.next_line();
        }
    }

    /// Of a line without an end, keeps what may be the beginning of a word.
    fn next_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        if !line.trim().is_empty() {
            self.last = shown(&line);
        }
        let kept = if self.line.ends_with(b"\n") { 0 } else { BEGUN.len().max(FAILED.len()) };
        self.line.drain(..self.line.len().saturating_sub(kept));
    }

    /// The end of a connection before the word, with what was heard: an account without a shell says so.
    fn ended(&self) -> io::Error {
        match self.shown().trim() {
            "" => io::ErrorKind::UnexpectedEof.into(),
            heard => io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "it prints `{heard}` and ends, without running the command that ssh gives it"
                ),
            ),
        }
    }

    /// Whether a line was begun and not ended, as a question is.
    fn is_unfinished(&self) -> bool {
        !String::from_utf8_lossy(&self.line).trim().is_empty()
    }

    /// The last of it, for a terminal.
    fn shown(&self) -> String {
        let unfinished = shown(&String::from_utf8_lossy(&self.line));
        if unfinished.trim().is_empty() { self.last.clone() } else { unfinished }
    }
}

/// Advice for a program that cannot run there.
fn remedy(why: &str) -> String {
    let shown = shown(why);
    if shown.contains("cannot run it") {
        format!(
            "{shown}; give it one that can with --ssh-binary FILE: `scripts/static` makes one for every Linux on x86-64"
        )
    } else {
        shown
    }
}

/// Another machine's text, made safe for a terminal.
fn shown(said: &str) -> String {
    said.chars().filter(|c| !controls(*c)).take(300).collect()
}

/// For fuzzers: any octets as ssh output before the agent's first.
pub(crate) fn fuzz_messages(octets: &[u8]) {
    let mut octets = octets;
    let mut noise = Noise::default();
    let mut heard = async || {
        noise.skip(&mut octets, &[BEGUN, READY]).await?;
        noise.skip(&mut octets, &[READY]).await
    };
    // No wait is needed.
    if let Some(Err(Trouble::Said(said))) = heard().now_or_never() {
        assert!(!said.contains(char::is_control), "{said:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_can_be_passed_on_by_any_shell() {
        let script = script(&vec![7; BLOCK * 2 + 5]);
        assert!(!script.contains(['\'', '!', '\n']), "{script}");
        assert!(script.contains("count=2 ") && script.contains("bs=5 "), "{script}");
    }

    /// The host's side, run by this machine's shell; the program is a script that prints its input.
    #[tokio::test]
    async fn the_script_runs_what_it_was_sent_and_tidies_up() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("program");
        std::fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] || cat\n").unwrap();
        let ssh = home.path().join("ssh");
        let greeting = "echo welcome; printf \"no end of line: \"";
        std::fs::write(
            &ssh,
            format!(
                "#!/bin/sh\n{greeting}\nfor last in \"$@\"; do :; done\nexec sh -c \"$last\"\n"
            ),
        )
        .unwrap();
        let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
        std::fs::set_permissions(&ssh, mode).unwrap();
        let call = SshCall {
            host: "a".to_owned(),
            destination: "a".to_owned(),
            program: ssh,
            binary: Program::at(program),
        };
        // The remains of crashed agents: of this host, and of another one that shares the home.
        let here = Command::new("uname").arg("-n").output().await.unwrap().stdout;
        let here = String::from_utf8(here).unwrap();
        let cache = home.path().join("btu");
        let [crashed, elsewhere] = [here.trim(), "elsewhere"]
            .map(|node| format!("0.1.0-0123456789abcdef@{node}@pid4194305"));
        for old in [&crashed, &elsewhere] {
            std::fs::create_dir_all(cache.join(old)).unwrap();
        }
        // The test's own home must not be touched; an environment cannot be set in a process with
        // threads.
        let mut pipe = start_with_home(&call, home.path()).await;
        pipe.write_all(b"ping").await.unwrap();
        let mut answer = [0; 4];
        pipe.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"ping");
        let cached = || {
            let entries = std::fs::read_dir(&cache).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect::<Vec<_>>()
        };
        let there = cached();
        assert!(there.len() == 2 && !there.contains(&crashed), "{there:?}");
        let AgentPipe { orders, mut child, .. } = pipe;
        drop(orders);
        child.wait().await.unwrap();
        assert_eq!(cached(), [elsewhere], "nothing else stays");
    }

    fn nothing_to_send() -> impl Future<Output = io::Result<()>> {
        std::future::ready(Ok(()))
    }

    async fn heard(printed: &[u8]) -> Result<(), String> {
        let (mut shell, host) = tokio::io::duplex(1 << 16);
        shell.write_all(printed).await.unwrap();
        let mut host = tokio::io::BufReader::new(host);
        let heard = hear(&mut host, [Duration::from_millis(50); 2], nothing_to_send()).await;
        heard.map_err(|why| match why {
            Trouble::Said(said) => said,
            Trouble::Broken(error) => error.to_string(),
        })
    }

    /// A login shell may print anything before the script's words, of any length, in any pieces.
    #[tokio::test]
    async fn the_script_is_found_wherever_it_begins() {
        let words = format!("{BEGUN}\n{READY}\n");
        for length in [0, 1, 4070, 4096, 4097, 8190, 10_000] {
            let noise = "x".repeat(length);
            for between in ["", "\n", "\r\n", ": "] {
                let printed = format!("{noise}{between}{words}");
                assert_eq!(heard(printed.as_bytes()).await, Ok(()), "{length} {between:?}");
            }
        }
        // An agent of the host's owner, in the place of the script.
        let owners = format!("welcome\n{READY}\n");
        assert_eq!(heard(owners.as_bytes()).await, Ok(()));
        let failed = format!("prompt> {BEGUN}\n{FAILED}no room\n");
        assert_eq!(heard(failed.as_bytes()).await, Err("no room".to_owned()));
    }

    #[tokio::test]
    async fn a_shell_that_starts_nothing_is_named_by_what_it_prints() {
        for (printed, shown) in
            [("welcome\nMenu: ", "`Menu:`"), ("This is a menu\n\n", "`This is a menu`")]
        {
            let said = heard(printed.as_bytes()).await.unwrap_err();
            assert!(said.contains(shown) && said.contains("ForceCommand"), "{said}");
        }
    }

    /// Modules, quotas and homes on slow servers: a greeting, then nothing for longer than a question
    /// may take.
    #[tokio::test]
    async fn slow_start_files_are_waited_for() {
        let (mut shell, host) = tokio::io::duplex(1 << 16);
        shell.write_all(b"Welcome to the cluster\n").await.unwrap();
        let mut host = tokio::io::BufReader::new(host);
        let limits = [Duration::from_millis(20), Duration::from_mins(1)];
        let late = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            shell.write_all(format!("{BEGUN}\n{READY}\n").as_bytes()).await.unwrap();
        };
        let (heard, ()) = tokio::join!(hear(&mut host, limits, nothing_to_send()), late);
        assert!(heard.is_ok());
    }

    /// What the account says before it ends the connection is the reason.
    #[tokio::test]
    async fn an_account_without_a_shell_is_named_by_what_it_says() {
        let mut host: &[u8] = b"This account is currently not available.\n";
        let heard = hear(&mut host, SHELL_LIMITS, nothing_to_send()).await;
        let Err(Trouble::Broken(error)) = heard else { panic!("an agent was heard") };
        assert!(error.to_string().contains("This account is currently not available."), "{error}");
    }

    /// What the script says on a host with this home and these temporary files.
    fn said(home: &Path, temporary: &Path) -> String {
        let program = b"#!/bin/sh\necho it runs\n";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script(program)]).env("XDG_CACHE_HOME", home).env("TMPDIR", temporary);
        shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        std::io::Write::write_all(&mut shell.stdin.take().unwrap(), program).unwrap();
        String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_home_that_runs_no_programs_is_passed_over() {
        let temporary = tempfile::tempdir().unwrap();
        // A directory in which nothing can be made, for the superuser neither.
        let none = Path::new("/proc/1");
        let heard = said(none, temporary.path());
        assert!(heard.contains(READY) && heard.ends_with("it runs\n"), "{heard}");
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "nothing stays");
        let heard = said(none, none);
        assert!(
            heard.contains(FAILED) && heard.contains("no program can run there: mkdir"),
            "{heard}"
        );
    }

    async fn start_with_home(call: &SshCall, home: &Path) -> AgentPipe {
        let copied = call.binary.read().unwrap();
        let mut command = command(&call.program, &call.destination, &copied.script);
        command.env("XDG_CACHE_HOME", home);
        let mut pipe = AgentPipe::spawn(command).unwrap();
        match begin(&mut pipe, &copied.octets).await {
            Ok(()) => pipe,
            Err(Trouble::Said(said)) => panic!("{said}"),
            Err(Trouble::Broken(error)) => panic!("{}", last_words(&mut pipe, &error).await),
        }
    }
}
