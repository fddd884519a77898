//! The head of a message before its content (RFC 9112, section 2.1), read from an untrusted peer.

use btu_traffic::{Flow, Limit};

use super::failed;
use crate::LoadError;

/// The longest head, and the most fields in it.
pub(super) const LONGEST: usize = 16 * 1024;
const MOST_FIELDS: usize = 64;

/// Bytes of a connection: those of a head, and what came with them.
#[derive(Debug, Default)]
pub(super) struct HeadBytes {
    bytes: Vec<u8>,
    /// The end of the head.
    end: usize,
}

/// The result of a search for a head in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed<T> {
    /// A head of so many bytes.
    Whole(T, usize),
    /// The beginning of one.
    Part,
    /// The text is no valid head; the reason follows.
    Wrong(&'static str),
}

impl HeadBytes {
    /// Reads the next head: what is left of the one before comes first.
    pub(super) fn read<T>(
        &mut self,
        flow: &Flow,
        limit: &Limit<'_>,
        doing: &'static str,
        parse: fn(&[u8]) -> Parsed<T>,
    ) -> Result<T, LoadError> {
        self.bytes.drain(..self.end);
        self.end = 0;
        loop {
            match parse(&self.bytes) {
                Parsed::Whole(found, end) => {
                    self.end = end;
                    return Ok(found);
                }
                Parsed::Wrong(why) => return Err(failed(flow, doing, why)),
                Parsed::Part if self.bytes.len() >= LONGEST => {
                    return Err(failed(flow, doing, "its head has no end"));
                }
                Parsed::Part => {}
            }
            let filled = self.bytes.len();
            self.bytes.resize(LONGEST.max(filled), 0);
            let came = flow.read(&mut self.bytes[filled..], limit, doing)?;
            self.bytes.truncate(filled + came);
            if came == 0 {
                return Err(failed(flow, doing, "it hung up before it had said all"));
            }
        }
    }

    /// A head of `end` bytes that has been read, with what came with it.
    pub(super) fn read_already(bytes: Vec<u8>, end: usize) -> Self {
        Self { bytes, end }
    }

    /// The bytes after it.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.end..]
    }
}

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) authorization: Option<String>,
    /// The length of the content, if it is given.
    pub(super) length: Option<u64>,
    /// Whether the client waits for permission to send the content (`Expect: 100-continue`).
    pub(super) waits: bool,
}

/// The head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    /// The length of the content, if it is given.
    pub(super) length: Option<u64>,
}

impl ResponseHead {
    pub(super) const fn is_success(self) -> bool {
        self.status / 100 == 2
    }

    pub(super) const fn is_interim(self) -> bool {
        self.status / 100 == 1
    }

    pub(super) fn parse(bytes: &[u8]) -> Parsed<Self> {
        let mut room = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut answer = httparse::Response::new(&mut room);
        match answer.parse(bytes) {
            Ok(httparse::Status::Complete(end)) => match (answer.code, length(answer.headers)) {
                (Some(status), Ok(length)) => Parsed::Whole(Self { status, length }, end),
                (None, _) => Parsed::Wrong("its answer has no status"),
                (_, Err(why)) => Parsed::Wrong(why),
            },
            Ok(httparse::Status::Partial) => Parsed::Part,
            Err(_) => Parsed::Wrong("its answer is not HTTP/1.1 (RFC 9112)"),
        }
    }
}

impl RequestHead {
    pub(super) fn parse(bytes: &[u8]) -> Parsed<Self> {
        let mut room = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut call = httparse::Request::new(&mut room);
        match call.parse(bytes) {
            Ok(httparse::Status::Complete(end)) => {
                match (call.method, call.path, length(call.headers)) {
                    (Some(method), Some(path), Ok(length)) => {
                        let text = |name| {
                            field(call.headers, name)
                                .and_then(|value| std::str::from_utf8(value).ok())
                        };
                        let (method, path) = (method.to_owned(), path.to_owned());
                        let authorization = text("authorization").map(str::to_owned);
                        let waits = text("expect")
                            .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
                        Parsed::Whole(Self { method, path, authorization, length, waits }, end)
                    }
                    (_, _, Err(why)) => Parsed::Wrong(why),
                    _ => Parsed::Wrong("its request has no method or no path"),
                }
            }
            Ok(httparse::Status::Partial) => Parsed::Part,
            Err(_) => Parsed::Wrong("its request is not HTTP/1.1 (RFC 9112)"),
        }
    }
}

fn field<'a>(fields: &[httparse::Header<'a>], name: &str) -> Option<&'a [u8]> {
    fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// The length of the content. Digits only, and a single field: a sender with two fields may mean
/// two different lengths (RFC 9112, 6.3).
fn length(fields: &[httparse::Header<'_>]) -> Result<Option<u64>, &'static str> {
    if field(fields, "transfer-encoding").is_some() {
        return Err("its content is coded (Transfer-Encoding), instead of having a Content-Length");
    }
    let mut told = fields.iter().filter(|field| field.name.eq_ignore_ascii_case("content-length"));
    let Some(first) = told.next() else { return Ok(None) };
    let digits = std::str::from_utf8(first.value)
        .ok()
        .filter(|text| text.bytes().all(|one| one.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(length) if told.next().is_none() => Ok(Some(length)),
        _ => Err("its length (Content-Length) is none"),
    }
}

/// For fuzzers: any bytes as the head of a request, and of an answer.
pub fn fuzz_head(bytes: &[u8]) {
    std::hint::black_box((RequestHead::parse(bytes), ResponseHead::parse(bytes)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_of_curl() {
        let said = "PUT /copy HTTP/1.1\r\nHost: h:1\r\nUser-Agent: curl/8\r\nauthorization: Bearer 00ff\r\n\
                    Content-Length: 12\r\nExpect: 100-continue\r\n\r\nbeginning";
        let Parsed::Whole(call, end) = RequestHead::parse(said.as_bytes()) else { panic!("whole") };
        assert_eq!(
            (call.method.as_str(), call.path.as_str(), call.length, call.waits),
            ("PUT", "/copy", Some(12), true)
        );
        assert_eq!(call.authorization.as_deref(), Some("Bearer 00ff"));
        assert_eq!(&said[end..], "beginning");
        for shorter in 0..end {
            assert_eq!(RequestHead::parse(&said.as_bytes()[..shorter]), Parsed::Part, "{shorter}");
        }
    }

    #[test]
    fn lengths_mean_one_thing_or_nothing() {
        let answer = |fields: &str| {
            ResponseHead::parse(format!("HTTP/1.0 200 OK\r\n{fields}\r\n").as_bytes())
        };
        let whole = |length| match length {
            Parsed::Whole(ResponseHead { status: 200, length }, _) => length,
            other => panic!("{other:?}"),
        };
        assert_eq!(whole(answer("")), None);
        assert_eq!(whole(answer("content-length: 0\r\n")), Some(0));
        for wrong in ["-1", "+1", "1 2", "0x1", "", "18446744073709551616", "1, 1"] {
            assert!(
                matches!(answer(&format!("Content-Length: {wrong}\r\n")), Parsed::Wrong(_)),
                "{wrong}"
            );
        }
        assert!(matches!(answer("Content-Length: 1\r\nContent-Length: 1\r\n"), Parsed::Wrong(_)));
        assert!(matches!(answer("Transfer-Encoding: chunked\r\n"), Parsed::Wrong(_)));
        assert!(matches!(ResponseHead::parse(b"SSH-2.0-x\r\n"), Parsed::Wrong(_)));
    }

    proptest! {
        #[test]
        fn a_head_ends_within_what_was_said(bytes in prop::collection::vec(any::<u8>(), 0..200), length in 0..80usize) {
            let whole = [&b"PUT /copy HTTP/1.1\r\nContent-Length: 3\r\n\r\n"[..], &bytes].concat();
            let said = &whole[..length.min(whole.len())];
            if let Parsed::Whole(_, end) = RequestHead::parse(said) {
                prop_assert!(end <= said.len());
            }
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), near in "HTTP/1\\.[01] [0-9]{1,4} \\PC{0,20}(\r\n\\PC{0,30}){0,3}") {
            fuzz_head(&bytes);
            fuzz_head(near.as_bytes());
        }
    }
}
