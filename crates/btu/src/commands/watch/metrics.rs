//! The newest numbers over HTTP, for Prometheus, on this machine only.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Callers at a time, a thread each. All of them are this machine, so beyond that the one that has been here for
/// longest leaves: an answer takes a millisecond.
const MOST_CALLERS: usize = 32;

/// When the system gives no connection, the pause until the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Answers requests as long as the process lives.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
}

/// The callers that have no answer yet, in the order in which they came.
#[derive(Debug, Clone, Default)]
struct Callers(Arc<Mutex<BTreeMap<u64, TcpStream>>>);

impl Callers {
    /// Answers a caller in a thread of its own. How that ends is the caller's concern.
    fn begin(&self, number: u64, caller: TcpStream, text: &Arc<Mutex<String>>) -> io::Result<()> {
        self.admit(number, caller.try_clone()?);
        let (callers, text) = (self.clone(), Arc::clone(text));
        let work = move || {
            drop(answer(caller, &text));
            callers.lock().remove(&number);
        };
        let begun = thread::Builder::new().name("metrics".to_owned()).spawn(work).map(drop);
        begun.inspect_err(|_| drop(self.lock().remove(&number)))
    }

    fn admit(&self, number: u64, caller: TcpStream) {
        let mut callers = self.lock();
        callers.insert(number, caller);
        if callers.len() > MOST_CALLERS
            && let Some((_, oldest)) = callers.pop_first()
        {
            // It ends the wait of the thread; a caller that is gone already has ended it.
            drop(oldest.shutdown(Shutdown::Both));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Listens there.
    pub(super) fn open(listen: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let text = Arc::new(Mutex::new(Metrics::default().text()));
        let served = Arc::clone(&text);
        thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            let callers = Callers::default();
            for (number, caller) in (0..).zip(listener.incoming()) {
                // Without a connection or a thread, it must not spin.
                if caller.and_then(|caller| callers.begin(number, caller, &served)).is_err() {
                    thread::sleep(RETRY_INTERVAL);
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
        _ if !names_this_machine(&head) => {
            ("421 Misdirected Request", "text/plain", "call localhost\n".to_owned())
        }
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

/// Whether each `Host` of a request is this machine's, whatever its port. A page of another site could have its own
/// name lead here, and a browser would let it read the answer; a client without the header is no browser.
fn names_this_machine(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut hosts = headers.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
    hosts.all(|(_, host)| is_loopback(host.trim()))
}

fn is_loopback(host: &str) -> bool {
    // A colon within brackets is one of an IPv6 address.
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let name = if port.ends_with(']') { host } else { name };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
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
    use btu_conditions::{Conditions, judge};

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
        let get = b"GET /metrics HTTP/1.1\r\nHost: localhost:9417\r\n\r\n";
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
        let query =
            asked(&server, b"GET /metrics?format=x HTTP/1.1\r\nHost: localhost:9417\r\n\r\n");
        assert_eq!(query, said);
        let head = asked(&server, b"HEAD /metrics HTTP/1.1\r\nHost: localhost:9417\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n") && said.starts_with(&head), "{head}");
        assert_eq!(said.matches("# EOF").count(), 1, "{said}");
    }

    /// As many as one after the other would keep a scrape waiting for minutes.
    #[test]
    fn silent_callers_keep_no_scrape_waiting() {
        let conditions = Conditions::begin();
        let server = Server::open(([127, 0, 0, 1], 0).into()).unwrap();
        let connect = || TcpStream::connect(server.address()).unwrap();
        let mut silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
        let begun = Instant::now();
        assert!(asked(&server, b"GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
        judge!(conditions, begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0, "the oldest leaves");
    }

    #[test]
    fn pages_of_other_sites_read_nothing() {
        let server = Server::open(([127, 0, 0, 1], 0).into()).unwrap();
        let status = |hosts: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\n{hosts}\r\n");
            asked(&server, request.as_bytes())[9..12].to_owned()
        };
        for host in ["localhost", "LOCALHOST:9417", "127.0.0.1:9417", "127.1.2.3", "[::1]:9417"] {
            assert_eq!(status(&format!("Host: {host}\r\n")), "200", "{host}");
        }
        for host in ["evil.example", "evil.example:9417", "192.0.2.1", "127.0.0.1.evil.example", ""]
        {
            assert_eq!(status(&format!("host:{host}\r\n")), "421", "{host}");
        }
        assert_eq!(status("Host: localhost\r\nHost: evil.example\r\n"), "421");
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
