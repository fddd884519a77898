//! The newest numbers over HTTP, for Prometheus, on this machine only.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What is served.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Runs that are complete.
    pub(super) complete: u64,
    /// Commands that ended without such a run.
    pub(super) failed: u64,
    /// Whether the last command ended with a complete run; `None` before the first.
    pub(super) succeeded: Option<bool>,
    /// The newest complete run in the text format of `OpenMetrics`; empty before the first.
    pub(super) newest: String,
}

/// The last line of that format.
const END: &str = "# EOF\n";

impl Metrics {
    fn text(&self) -> String {
        let Self { complete, failed, newest, .. } = self;
        let succeeded = self.succeeded.map_or_else(String::new, |succeeded| {
            let value = u8::from(succeeded);
            format!("# TYPE btu_watch_last_attempt_succeeded gauge\nbtu_watch_last_attempt_succeeded {value}\n")
        });
        let newest = newest.trim_end().trim_end_matches(END.trim_end());
        format!(
            "{newest}{succeeded}# TYPE btu_watch_runs counter\nbtu_watch_runs_total{{result=\"complete\"}} {complete}\n\
             btu_watch_runs_total{{result=\"failed\"}} {failed}\n{END}"
        )
    }
}

/// The time for a request and its answer.
const LIMIT: Duration = Duration::from_secs(2);

/// The most octets of a request.
const LONGEST: usize = 8192;

/// When the system gives no connection, the pause until the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Answers one request after the other, as long as the process lives.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
}

impl Server {
    /// Listens there.
    pub(super) fn open(listen: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let text = Arc::new(Mutex::new(Metrics::default().text()));
        let served = Arc::clone(&text);
        thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for connection in listener.incoming() {
                match connection {
                    // How it ended is its client's concern.
                    Ok(connection) => drop(answer(connection, &served)),
                    Err(_) => thread::sleep(RETRY_INTERVAL),
                }
            }
        })?;
        Ok(Self { address, text })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves these from now on.
    pub(super) fn show(&self, metrics: &Metrics) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = metrics.text();
    }
}

fn answer(mut connection: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let head = head(&mut connection)?;
    let mut words = head.split(u8::is_ascii_whitespace);
    let (method, target) = (words.next(), words.next());
    // Scrapes may have parameters (RFC 9110 section 4.2.1), which mean nothing here.
    let path = target.and_then(|target| target.split(|octet| *octet == b'?').next());
    let (status, kind, body) = match (method, path) {
        (Some(b"GET" | b"HEAD"), Some(b"/metrics")) => (
            "200 OK",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        ),
        (Some(b"GET" | b"HEAD"), _) => ("404 Not Found", "text/plain", "see /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "GET /metrics\n".to_owned()),
    };
    connection.set_write_timeout(Some(LIMIT))?;
    let length = body.len();
    // An answer to HEAD has no content (RFC 9110 section 9.3.2).
    let body = if method == Some(b"HEAD") { String::new() } else { body };
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// A request up to the empty line (RFC 9112 section 2.1).
fn head(connection: &mut TcpStream) -> io::Result<Vec<u8>> {
    let end = Instant::now() + LIMIT;
    let (mut head, mut room) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST {
            return Err(io::ErrorKind::TimedOut.into());
        }
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut room)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend_from_slice(&room[..read]),
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(server: &Server, request: &[u8]) -> String {
        let mut connection = TcpStream::connect(server.address()).unwrap();
        connection.write_all(request).unwrap();
        let mut said = String::new();
        // A client that said too much may find the connection reset.
        let _ = connection.read_to_string(&mut said);
        said
    }

    #[test]
    fn prometheus_gets_the_newest_run_and_the_counts() {
        let server = Server::open(([127, 0, 0, 1], 0).into()).unwrap();
        let get = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        assert!(asked(&server, get).ends_with("\r\n\r\n# TYPE btu_watch_runs counter\nbtu_watch_runs_total{result=\"complete\"} 0\nbtu_watch_runs_total{result=\"failed\"} 0\n# EOF\n"));
        let newest = "# TYPE btu_x gauge\nbtu_x{} 1\n# EOF\n".to_owned();
        server.show(&Metrics { complete: 2, failed: 1, succeeded: Some(false), newest });
        let said = asked(&server, get);
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        assert!(
            said.contains("btu_x{} 1\n# TYPE btu_watch_last_attempt_succeeded gauge\n"),
            "{said}"
        );
        assert!(
            said.contains("\nbtu_watch_last_attempt_succeeded 0\n# TYPE btu_watch_runs counter\n"),
            "{said}"
        );
        let query = asked(&server, b"GET /metrics?format=x HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(query, said);
        let head = asked(&server, b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n") && said.starts_with(&head), "{head}");
        assert_eq!(said.matches("# EOF").count(), 1, "{said}");
    }

    #[test]
    fn what_is_no_request_keeps_nobody_out() {
        let server = Server::open(([127, 0, 0, 1], 0).into()).unwrap();
        let _silent = TcpStream::connect(server.address()).unwrap();
        assert!(asked(&server, b"POST /metrics HTTP/1.1\r\n\r\n").contains("405"));
        assert!(asked(&server, b"GET / HTTP/1.1\r\n\r\n").contains("404"));
        assert_eq!(asked(&server, &vec![b'x'; 3 * LONGEST]), "");
        assert!(asked(&server, b"GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
    }
}
