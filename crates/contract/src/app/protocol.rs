//! How an application draws on a display: which end waits for which, and the carrier of the
//! requests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Workload;
use crate::pipe::Kind;
use crate::text::{named, stored_as_text};

/// Requests that one send takes when the sender does not wait for each reply: as many as fit a full
/// TCP segment of Ethernet.
pub const TOGETHER: usize = 72;

/// Octets of every reply: the request's number and what came of it.
pub const REPLY_BYTES: usize = 8;

/// Octets of the bitmap that one request carries.
pub const BITMAP_PIECE: usize = 1420;

/// The widest window: more items on their way than any picture of btu has.
const WIDEST: u16 = 1024;

/// The protocol: which end waits for which. The study's levels (its section 5), with a window
/// between the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Protocol {
    /// Each item is shown and answered before the next one leaves: a remote procedure call for
    /// each.
    StopAndWait,
    /// Each item is shown and answered; so many may wait for their answer.
    Window(u16),
    /// Items are shown as they come; the last one is answered.
    Pipelined,
    /// Items are kept and not shown; the last one is answered. What the study calls construction.
    Construction,
    /// Items are kept; a last request shows them all and is answered.
    Batched,
    /// The display has the items already: one request draws them again.
    Redraw,
    /// The application draws, and sends pixels.
    Bitmap,
}

/// A text that names no protocol.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no protocol `{0}`; there are stop-and-wait, window-N with N from 2 to 1024, pipelined, construction, batched, \
     redraw, bitmap"
)]
pub struct ProtocolError(String);

impl Protocol {
    /// Those of a first table.
    pub const USUAL: [Self; 6] = [
        Self::StopAndWait,
        Self::Window(8),
        Self::Pipelined,
        Self::Batched,
        Self::Redraw,
        Self::Bitmap,
    ];

    /// The number of requests that may wait for their answers; `None` if only the last one is
    /// answered.
    pub const fn window(self) -> Option<usize> {
        match self {
            Self::StopAndWait => Some(1),
            Self::Window(window) => Some(window as usize),
            Self::Pipelined | Self::Construction | Self::Batched | Self::Redraw | Self::Bitmap => {
                None
            }
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StopAndWait => f.pad("stop-and-wait"),
            Self::Window(window) => f.pad(&format!("window-{window}")),
            Self::Pipelined => f.pad("pipelined"),
            Self::Construction => f.pad("construction"),
            Self::Batched => f.pad("batched"),
            Self::Redraw => f.pad("redraw"),
            Self::Bitmap => f.pad("bitmap"),
        }
    }
}

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let error = || ProtocolError(text.to_owned());
        Ok(match text {
            "stop-and-wait" => Self::StopAndWait,
            "pipelined" => Self::Pipelined,
            "construction" => Self::Construction,
            "batched" => Self::Batched,
            "redraw" => Self::Redraw,
            "bitmap" => Self::Bitmap,
            _ => {
                let window = text.strip_prefix("window-").and_then(|number| number.parse().ok());
                Self::Window(
                    window.filter(|window| (2..=WIDEST).contains(window)).ok_or_else(error)?,
                )
            }
        })
    }
}

stored_as_text!(Protocol);

btu_units::named! {
    /// The carrier of the requests.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Carrier {
        /// TCP; every send leaves at once (`TCP_NODELAY`).
        Tcp = "tcp",
        /// TCP with Nagle's algorithm, the system's own choice: small sends wait for the answer to
        /// those before them.
        TcpNagle = "tcp-nagle",
        /// TLS 1.3 over TCP.
        Tls = "tls",
        /// A stream of a QUIC connection.
        Quic = "quic",
        /// UDP, one datagram for each request, repeated until it is answered.
        Udp = "udp",
        /// A request and its answer over HTTP/2.
        Http2 = "http2",
        /// TCP through a relay on a third station; every send leaves at once.
        Relay = "relay",
        /// The system's ssh, with a terminal in raw mode at the display, which is the heir of the study's
        /// TELNET.
        Ssh = "ssh",
        /// Requests to the system's X server, Xvfb, at the display.
        X11 = "x11",
        /// The test of x11perf that comes closest, in place of the application, to the same server.
        X11perf = "x11perf",
        /// A Unix socket: the application is on the display's own host.
        Unix = "unix",
        /// No transport: the application is in the display's own process.
        InProcess = "in-process",
    }
}

impl Carrier {
    /// The one that a text names.
    ///
    /// # Errors
    /// Says which there are.
    pub fn named(text: &str) -> Result<Self, String> {
        named(text, "transport", &Self::ALL, Self::name)
    }

    /// The way to move bytes.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Tcp | Self::TcpNagle | Self::Relay | Self::Ssh | Self::X11 | Self::X11perf => {
                Kind::Tcp
            }
            Self::Tls => Kind::Tls,
            Self::Quic => Kind::Quic,
            Self::Udp => Kind::Udp,
            Self::Http2 => Kind::Http2,
            Self::Unix | Self::InProcess => Kind::UnixStream,
        }
    }

    /// Whether a closed form knows it, as far as packets and who waits for whom.
    pub const fn has_form(self) -> bool {
        matches!(self, Self::Tcp | Self::Tls | Self::Relay)
    }

    /// Whether both ends are on one host.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Unix | Self::InProcess)
    }

    /// Whether the display is an X server of the system's.
    pub const fn is_x11(self) -> bool {
        matches!(self, Self::X11 | Self::X11perf)
    }

    /// Whether it carries this protocol: those of requests and answers carry only what is answered
    /// one by one.
    pub fn carries(self, protocol: Protocol) -> bool {
        match self {
            Self::Tcp
            | Self::TcpNagle
            | Self::Tls
            | Self::Quic
            | Self::Relay
            | Self::Ssh
            | Self::X11
            | Self::Unix
            | Self::InProcess => true,
            Self::X11perf => matches!(protocol, Protocol::StopAndWait | Protocol::Batched),
            Self::Udp | Self::Http2 => matches!(protocol, Protocol::StopAndWait | Protocol::Redraw),
        }
    }
}

/// Arguments of the test of x11perf(1) that comes closest to a way of drawing; one of its units is
/// one item. A vector of the picture is 458 pixels long on average, and most rectangles are smaller
/// than 16 x 16 and stippled. Where each item waits for its answer, the item is of no account: the
/// test is a request that does nothing, and waits.
pub const fn x11perf_test(
    workload: Workload,
    protocol: Protocol,
) -> Option<&'static [&'static str]> {
    match (workload, protocol) {
        (Workload::Vectors, Protocol::Batched) => Some(&["-seg500"]),
        (Workload::Rectangles, Protocol::Batched) => Some(&["-srect10"]),
        (Workload::Vectors | Workload::Rectangles | Workload::Text, Protocol::StopAndWait) => {
            Some(&["-sync", "-noop"])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for protocol in Protocol::USUAL.into_iter().chain([
            Protocol::Window(2),
            Protocol::Window(1024),
            Protocol::Construction,
        ]) {
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
        for text in ["", "window", "window-1", "window-1025", "window--3", "rpc"] {
            assert!(
                text.parse::<Protocol>().unwrap_err().to_string().contains("window-N"),
                "{text}"
            );
        }
    }

    /// 72 requests fill a segment of 1448 octets, the payload of Ethernet's frame under TCP with
    /// time stamps.
    #[test]
    fn requests_go_together_as_a_segment_holds_them() {
        let segment = 1448;
        assert_eq!(segment / crate::app::REQUEST_BYTES, TOGETHER);
        assert!(crate::app::REQUEST_BYTES + BITMAP_PIECE <= segment);
    }
}
