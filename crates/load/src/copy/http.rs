//! A copy by HTTP/1.1, on a connection of its own (RFC 9110, RFC 9112): PUT, with an answer when
//! the file is durable, or GET.
//!
//! The token is the credential of the `Bearer` scheme (RFC 6750), in hexadecimal digits. Lengths
//! are explicit; there are no chunks, no compression, no redirects and no further requests.

mod head;

use btu_contract::activity::Token;
use btu_traffic::{Flow, FlowDoor, Limit, WaitingCallers};
use btu_units::{Span, hexadecimal};
use subtle::ConstantTimeEq;

use super::Over;
use super::store::Stored;
use super::stream::{other_size, receive_after, send};
use crate::LoadError;
use crate::account::now;
use head::{HeadBytes, Parsed, RequestHead, ResponseHead};

#[doc(hidden)]
pub use head::fuzz_head;

/// The name of the file.
const PATH: &str = "/copy";

/// The time for an unknown caller to send a request.
const HESITATION: Span = Span::from_seconds(2);

/// Most interim answers before the final one.
const MOST_INTERIM: usize = 8;

const STORE: &str = "store the file";
const FETCH: &str = "get the file";

fn failed(flow: &Flow, operation: &'static str, reason: impl Into<String>) -> LoadError {
    LoadError::Http { peer: flow.peer(), operation, reason: reason.into() }
}

fn request(flow: &Flow, token: &Token, method: &str, length: &str) -> String {
    let (peer, token) = (flow.peer(), hexadecimal(token));
    format!(
        "{method} {PATH} HTTP/1.1\r\nHost: {peer}\r\nAuthorization: Bearer {token}\r\n{length}Connection: close\r\n\r\n"
    )
}

/// Puts the file; it is durable when the answer arrives.
pub(super) fn http_put(
    flow: &Flow,
    token: &Token,
    source: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let connected = now()?;
    let length = format!("Content-Length: {}\r\n", source.size());
    flow.write(request(flow, token, "PUT", &length).as_bytes(), limit, STORE)?;
    let sent = match send(flow, source, limit) {
        // The server waits for the rest, and has no answer.
        Err(error @ LoadError::SourceChanged { .. }) => return Err(error),
        sent => sent,
    };
    // A server that refuses sends the reason before it has read all data, and closes: its answer
    // has more information than the failed write.
    let (answer, _) = match (&sent, answer(flow, STORE, limit)) {
        (_, Ok(answer)) => answer,
        (Ok(_), Err(error)) => return Err(error),
        (Err(_), Err(_)) => return sent.map(|_| unreachable!("it is an error")),
    };
    if !answer.is_success() {
        return Err(failed(flow, STORE, format!("it answered {}", answer.status)));
    }
    Ok(Over { connected, moved: sent?, durable: now()?, tcp: None })
}

/// Gets the file and makes it durable.
pub(super) fn http_get(
    flow: &Flow,
    token: &Token,
    copy: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let connected = now()?;
    flow.write(request(flow, token, "GET", "").as_bytes(), limit, FETCH)?;
    let (answer, head) = answer(flow, FETCH, limit)?;
    if !answer.is_success() {
        return Err(failed(flow, FETCH, format!("it answered {}", answer.status)));
    }
    match answer.length {
        Some(length) if length == copy.size() => {}
        Some(length) => return Err(other_size(flow, copy, format!("announced {length}"))),
        None => return Err(failed(flow, FETCH, "it did not send the length (Content-Length)")),
    }
    let moved = receive_after(flow, copy, head.rest(), limit)?;
    copy.make_durable()?;
    Ok(Over { connected, moved, durable: now()?, tcp: None })
}

/// The final answer: interim ones may precede it (RFC 9110, 15.2).
fn answer(
    flow: &Flow,
    doing: &'static str,
    limit: &Limit<'_>,
) -> Result<(ResponseHead, HeadBytes), LoadError> {
    let mut head = HeadBytes::default();
    for _ in 0..MOST_INTERIM {
        let answer = head.read(flow, limit, doing, ResponseHead::parse)?;
        if !answer.is_interim() {
            return Ok((answer, head));
        }
    }
    Err(failed(flow, doing, "it said again and again that an answer will come"))
}

/// Takes the file that is put.
pub(super) fn http_take(
    door: &FlowDoor,
    token: &Token,
    copy: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let (flow, call, head) = hear(door, token, "PUT", limit)?;
    let connected = now()?;
    if call.length != Some(copy.size()) {
        let (status, told) = match call.length {
            Some(length) => ("413 Content Too Large", format!("announced {length}")),
            None => ("411 Length Required", "announced no length".to_owned()),
        };
        say(&flow, status, 0, limit)?;
        return Err(other_size(&flow, copy, told));
    }
    if call.waits {
        flow.write(b"HTTP/1.1 100 Continue\r\n\r\n", limit, STORE)?;
    }
    let moved = receive_after(&flow, copy, head.rest(), limit)?;
    copy.make_durable()?;
    let durable = now()?;
    say(&flow, "201 Created", 0, limit)?;
    Ok(Over { connected, moved, durable, tcp: Some(flow.info()?) })
}

/// Sends the file to the client that gets it; the last mark is the end of the client's connection.
pub(super) fn http_offer(
    door: &FlowDoor,
    token: &Token,
    source: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let (flow, _, _) = hear(door, token, "GET", limit)?;
    let connected = now()?;
    say(&flow, "200 OK", source.size(), limit)?;
    let moved = send(&flow, source, limit)?;
    flow.finish_sending()?;
    // Further data from a client are not part of the protocol.
    while flow.read(&mut [0; 64], limit, "wait for the client to hang up")? > 0 {}
    Ok(Over { connected, moved, durable: now()?, tcp: Some(flow.info()?) })
}

/// The first caller with the token and this method; the others get a status, and no more.
fn hear(
    door: &FlowDoor,
    token: &Token,
    method: &str,
    limit: &Limit<'_>,
) -> Result<(Flow, RequestHead, HeadBytes), LoadError> {
    let is_whole = |said: &[u8]| !matches!(RequestHead::parse(said), Parsed::Part);
    let mut waiting = WaitingCallers::default();
    loop {
        let (flow, said) =
            door.hear(&mut waiting, (head::LONGEST, HESITATION), &is_whole, limit)?;
        let status = match RequestHead::parse(&said) {
            Parsed::Part | Parsed::Wrong(_) => "400 Bad Request",
            Parsed::Whole(call, _) if !presents(&call, token) => {
                door.refuse(flow.peer());
                "401 Unauthorized"
            }
            Parsed::Whole(call, _) if call.path != PATH => "404 Not Found",
            Parsed::Whole(call, _) if call.method != method => "405 Method Not Allowed",
            Parsed::Whole(call, end) => {
                return Ok((flow, call, HeadBytes::read_already(said, end)));
            }
        };
        // A client that has gone does not get it.
        let _ = say(&flow, status, 0, &limit.within(now()?, HESITATION));
    }
}

fn presents(call: &RequestHead, token: &Token) -> bool {
    let right = format!("Bearer {}", hexadecimal(token));
    call.authorization
        .as_ref()
        .is_some_and(|said| bool::from(said.as_bytes().ct_eq(right.as_bytes())))
}

fn say(flow: &Flow, status: &str, length: u64, limit: &Limit<'_>) -> Result<(), LoadError> {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    Ok(flow.write(head.as_bytes(), limit, "answer a request")?)
}
