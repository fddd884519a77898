//! A mix of requests that is no picture: so many calls of so many octets, some of them at once,
//! with pauses between. What a client of an interface over HTTP or of a database does.

use std::fmt;
use std::str::FromStr;

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Protocol, REPLY_BYTES, REQUEST_BYTES};

/// Calls of one picture of a mix, which are made one after the other.
const MOST_CALLS: u32 = 10_000;

/// Requests of one call.
const MOST_FAN_OUT: u32 = 1024;

/// Octets of the requests of one call: as many as sockets hold while no process reads. With more,
/// both ends would wait for each other.
const MOST_AT_ONCE: u64 = 64 << 10;

/// Octets of the responses of one call.
const MOST_BACK: u64 = 16 << 20;

/// The longest pause that is allowed.
const LONGEST_THINK: Span = Span::from_seconds(10);

/// Requests by number and size. A call is `fan_out` requests that do not need each other's answers;
/// the next call needs them all, and begins after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Mix(Parts);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Parts {
    calls: u32,
    fan_out: u32,
    #[serde(rename = "request_bytes")]
    request: Bytes,
    #[serde(rename = "response_bytes")]
    response: Bytes,
    #[serde(rename = "think_ns")]
    think: Span,
}

/// Why something is no mix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0}; write calls=20,fan-out=4,request='200 B',response='2 kB',think='5 ms', each of which may be left out"
)]
pub struct MixError(String);

impl Default for Mix {
    /// Twenty calls, one request each.
    fn default() -> Self {
        let (request, response) = (Bytes::new(200), Bytes::new(2000));
        Self(Parts { calls: 20, fan_out: 1, request, response, think: Span::ZERO })
    }
}

impl Mix {
    /// Calls, one after the other.
    pub const fn calls(&self) -> u32 {
        self.0.calls
    }

    /// Requests of each call.
    pub const fn fan_out(&self) -> u32 {
        self.0.fan_out
    }

    /// Requests of all calls.
    pub const fn requests(&self) -> u64 {
        self.0.calls as u64 * self.0.fan_out as u64
    }

    /// Octets of a request.
    pub const fn request(&self) -> Bytes {
        self.0.request
    }

    /// Octets of a response.
    pub const fn response(&self) -> Bytes {
        self.0.response
    }

    /// Between a call's last answer and the next call.
    pub const fn think(&self) -> Span {
        self.0.think
    }

    /// Whether a protocol means anything to it: those of pictures do not.
    pub const fn takes(protocol: Protocol) -> bool {
        matches!(
            protocol,
            Protocol::StopAndWait | Protocol::Window(_) | Protocol::Pipelined | Protocol::Batched
        )
    }

    /// Requests of a call that may be in flight at once, each in a message of its own; `None` if
    /// all are in one message.
    pub fn window(&self, protocol: Protocol) -> Option<u64> {
        let all = u64::from(self.0.fan_out);
        match protocol {
            Protocol::Batched => None,
            _ => Some(protocol.window().map_or(all, |window| all.min(window as u64))),
        }
    }
}

impl TryFrom<Parts> for Mix {
    type Error = MixError;

    fn try_from(parts: Parts) -> Result<Self, MixError> {
        let Parts { calls, fan_out, request, response, think } = parts;
        let (there, back) =
            (u64::from(fan_out) * request.count(), u64::from(fan_out) * response.count());
        let problem = [
            (calls == 0 || calls > MOST_CALLS, format!("{calls} calls are not 1 to {MOST_CALLS}")),
            (
                fan_out == 0 || fan_out > MOST_FAN_OUT,
                format!("a fan-out of {fan_out} is not 1 to {MOST_FAN_OUT}"),
            ),
            (
                request.count() < REQUEST_BYTES as u64 || there > MOST_AT_ONCE,
                format!(
                    "a request has {REQUEST_BYTES} B at least, and those of a call {MOST_AT_ONCE} B together at most"
                ),
            ),
            (
                response.count() < REPLY_BYTES as u64 || back > MOST_BACK,
                format!(
                    "a response has {REPLY_BYTES} B at least, and those of a call {MOST_BACK} B together at most"
                ),
            ),
            (think > LONGEST_THINK, format!("think {think} is longer than {LONGEST_THINK}")),
        ];
        match problem.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, problem)) => Err(MixError(problem)),
            None => Ok(Self(parts)),
        }
    }
}

impl From<Mix> for Parts {
    fn from(mix: Mix) -> Self {
        mix.0
    }
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Self, MixError> {
        let Self(mut parts) = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| MixError(format!("`{part}` has no `=`")))?;
            set(&mut parts, name.trim(), value.trim())?;
        }
        Self::try_from(parts)
    }
}

fn set(parts: &mut Parts, name: &str, value: &str) -> Result<(), MixError> {
    fn read<T: FromStr>(name: &str, value: &str) -> Result<T, MixError>
    where
        T::Err: fmt::Display,
    {
        value.parse().map_err(|error| MixError(format!("{name}: {error}")))
    }
    match name {
        "calls" => parts.calls = read(name, value)?,
        "fan-out" => parts.fan_out = read(name, value)?,
        "request" => parts.request = read(name, value)?,
        "response" => parts.response = read(name, value)?,
        "think" => parts.think = read(name, value)?,
        _ => return Err(MixError(format!("a mix has no `{name}`"))),
    }
    Ok(())
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { calls, fan_out, request, response, think } = self.0;
        write!(
            f,
            "{calls} calls of {fan_out} requests of {} B, answered by {} B, {think} between",
            request.count(),
            response.count()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_with_its_parts() {
        let mix: Mix = "calls=7, fan-out=3,request=100 B,response=1 kB,think=2 ms".parse().unwrap();
        assert_eq!((mix.calls(), mix.fan_out(), mix.requests()), (7, 3, 21));
        assert_eq!((mix.request(), mix.response()), (Bytes::new(100), Bytes::new(1000)));
        assert_eq!("".parse(), Ok(Mix::default()));
        assert_eq!(
            serde_json::from_str::<Mix>(&serde_json::to_string(&mix).unwrap()).unwrap(),
            mix
        );
        for (text, reason) in [
            ("calls", "has no `=`"),
            ("calls=0", "not 1 to 10000"),
            ("fan-out=2000", "not 1 to 1024"),
            ("request=19 B", "20 B at least"),
            ("fan-out=100,request=1 kB", "65536 B together"),
            ("response=7 B", "8 B at least"),
            ("think=11 s", "longer than 10 s"),
            ("colour=red", "no `colour`"),
        ] {
            let error = text.parse::<Mix>().unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn protocols_say_how_many_requests_are_on_their_way() {
        let mix: Mix = "fan-out=6".parse().unwrap();
        let windows =
            [Protocol::StopAndWait, Protocol::Window(4), Protocol::Window(64), Protocol::Pipelined];
        assert_eq!(
            windows.map(|protocol| mix.window(protocol)),
            [Some(1), Some(4), Some(6), Some(6)]
        );
        assert_eq!(mix.window(Protocol::Batched), None);
        assert!(!Mix::takes(Protocol::Bitmap) && Mix::takes(Protocol::Batched));
    }
}
