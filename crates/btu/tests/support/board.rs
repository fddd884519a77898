//! A board that answers what a test wants.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A board that takes one request.
pub(crate) struct Board {
    pub(crate) address: String,
    taken: JoinHandle<Vec<u8>>,
}

impl Board {
    /// One that answers with this status and text.
    pub(crate) fn answering(status: &str, text: &str) -> Self {
        let length = text.len();
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{text}");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let taken = thread::spawn(move || {
            let (mut caller, _) = listener.accept().expect("a caller");
            let request = request(&mut caller);
            let _ = caller.write_all(answer.as_bytes());
            request
        });
        Self { address, taken }
    }

    /// The body of the request that it was sent.
    pub(crate) fn body(self) -> Vec<u8> {
        let request = self.taken.join().expect("a request");
        let head = find(&request, b"\r\n\r\n").expect("a head");
        request[head + 4..].to_vec()
    }
}

/// A whole request with a body of known length.
fn request(caller: &mut TcpStream) -> Vec<u8> {
    caller.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    let (mut all, mut some) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(head) = find(&all, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&all[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().expect("a number");
            if all.len() >= head + 4 + length {
                return all;
            }
        }
        match caller.read(&mut some).expect("a request") {
            0 => return all,
            count => all.extend_from_slice(&some[..count]),
        }
    }
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}
