//! The client of a board: a form or a run goes there, and a short answer comes back.

use std::sync::Arc;
use std::time::Duration;

use btu_units::plain;
use serde::Deserialize;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error, Proxy};

use crate::cli::Board;
use crate::exit::Refusal;

/// No answer of a board is longer, in bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The longest reason that is shown, in characters.
const LONGEST_REASON: usize = 300;

/// The status of what was made.
const CREATED: u16 = 201;

/// How long a board may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// To take the connection, and each part of what is sent.
    step: Duration,
    /// To check what it was sent: it computes the result again.
    answer: Duration,
    /// In all.
    whole: Duration,
}

const LIMITS: Limits = Limits {
    step: Duration::from_secs(10),
    answer: Duration::from_mins(2),
    whole: Duration::from_mins(10),
};

/// What a board is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent<'a> {
    /// The fields of a form.
    Form(&'a [(&'static str, &'a str)]),
    /// A line, and an archive behind it.
    Archive(&'a [u8]),
}

/// Sends something to a path of the board, and returns what it made of it.
///
/// # Errors
/// An address that others could listen to, a board that cannot be reached, and one that refuses.
pub(crate) fn post(board: &Board, path: &str, sent: Sent<'_>) -> anyhow::Result<String> {
    refuse_exposed(board)?;
    post_within(LIMITS, board, path, sent)
}

/// Refuses to send anything by plain HTTP over a network: a token comes back.
pub(crate) fn refuse_exposed(board: &Board) -> Result<(), Refusal> {
    if board.is_exposed() {
        let problem = format!(
            "{board} is plain HTTP, which everybody on the way can read and change; write https://"
        );
        return Err(Refusal::Usage(problem));
    }
    Ok(())
}

fn post_within(
    limits: Limits,
    board: &Board,
    path: &str,
    sent: Sent<'_>,
) -> anyhow::Result<String> {
    let address = format!("{board}/{path}");
    let request = agent(limits, board)?.post(&address);
    let response = match sent {
        Sent::Form(fields) => request.send_form(fields.iter().copied()),
        Sent::Archive(octets) => {
            request.header("content-type", "application/octet-stream").send(octets)
        }
    };
    let mut response = response.map_err(|error| unanswered(&address, &error))?;
    let answer = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
    let answer = answer.map_err(|error| unanswered(&address, &error))?;
    let status = response.status();
    let text = String::from_utf8_lossy(&answer).into_owned();
    if status.as_u16() == CREATED {
        return Ok(text);
    }
    anyhow::bail!(
        "the board refused it: {}",
        reason(&text).unwrap_or_else(|| format!("{address} answered {status}"))
    );
}

fn agent(limits: Limits, board: &Board) -> anyhow::Result<Agent> {
    let is_secure = board.as_str().starts_with("https:");
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("btu/", env!("CARGO_PKG_VERSION")))
        // A board on this machine is not reached by a proxy elsewhere.
        .proxy(if is_secure { Proxy::try_from_env() } else { None })
        .timeout_resolve(Some(limits.step))
        .timeout_connect(Some(limits.step))
        .timeout_per_write(Some(limits.step))
        .timeout_recv_response(Some(limits.answer))
        .timeout_recv_body(Some(limits.step))
        .timeout_global(Some(limits.whole));
    let config = if is_secure { config.tls_config(tls()?) } else { config };
    Ok(config.build().into())
}

/// The authorities are those of this system.
fn tls() -> Result<TlsConfig, Refusal> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let problem = "checking the board's certificate: this system has no certificates of authorities; install \
                       ca-certificates, or name a file with SSL_CERT_FILE";
        return Err(Refusal::Machine(problem.to_owned()));
    }
    let certificates = found.certs.iter().map(|der| Certificate::from_der(der).to_owned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates.collect())))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// Why there is no answer, and what to do.
fn unanswered(address: &str, error: &Error) -> anyhow::Error {
    let why = match error {
        Error::Timeout(_) => "it did not answer in time".to_owned(),
        Error::HostNotFound => "there is no such host".to_owned(),
        Error::BodyExceedsLimit(_) => format!("it answered with more than {LONGEST_ANSWER} bytes"),
        Error::Protocol(error) => format!("its answer is not HTTP ({error})"),
        Error::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    anyhow::anyhow!("sending to {address}: {}; check the address, or try again later", plain(&why))
}

/// The sentence of a refusal, as a terminal can show it.
fn reason(answer: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    let Refused { error } = serde_json::from_str(answer).ok()?;
    Some(plain(&error).chars().take(LONGEST_REASON).collect())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const SHORT: Limits = Limits {
        step: Duration::from_millis(300),
        answer: Duration::from_millis(300),
        whole: Duration::from_secs(2),
    };

    /// What is said of a board that answers with this, and then says no more.
    fn said_of(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let board: Board = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let served = thread::spawn(move || {
            let (mut caller, _) = listener.accept().unwrap();
            let _ = caller.read(&mut [0; 4096]);
            let _ = caller.write_all(answer);
            let _ = caller.read_to_end(&mut Vec::new());
        });
        let said = post_within(SHORT, &board, "x", Sent::Form(&[("a", "b")]));
        served.join().unwrap();
        said.map_or_else(|error| error.to_string(), |answer| format!("made: {answer}"))
    }

    #[test]
    fn what_a_board_answers_is_told_in_one_line() {
        let said = |answer| said_of(answer);
        assert_eq!(said(b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}"), "made: {}");
        for (answer, word) in [
            (&b""[..], "in time"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "is not HTTP"),
            (b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\n{}", "in time"),
            (
                b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
                "answered 302",
            ),
            (b"HTTP/1.1 500 No\r\ncontent-length: 3\r\n\r\n<p>", "answered 500"),
            (
                b"HTTP/1.1 403 No\r\ncontent-length: 30\r\n\r\n{\"error\":\"no \\u001b[2J today\"}",
                "refused it: no ?[2J today",
            ),
        ] {
            let said = said(answer);
            assert!(said.contains(word) && said.lines().count() == 1, "{said}");
        }
        assert!(said_of(LONG.as_slice()).contains("more than 65536 bytes"));
    }

    /// An answer of 70,000 bytes, which does not say how long it is.
    static LONG: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let mut answer = b"HTTP/1.1 201 Created\r\nconnection: close\r\n\r\n".to_vec();
        answer.resize(70_000, b'x');
        answer
    });
}
