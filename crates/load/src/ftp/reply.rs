//! Replies of an FTP server that name a data port, and how they read with another one (RFC 959 4.2,
//! RFC 2428 3).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A reply line that offers a passive data port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// Reply 227, which answers PASV.
    Passive(u16),
    /// Reply 229, which answers EPSV.
    Extended(u16),
}

impl Offer {
    /// The server's data port.
    pub(super) fn port(self) -> u16 {
        match self {
            Self::Passive(port) | Self::Extended(port) => port,
        }
    }

    /// A reply of the same kind for another address; `None` if the reply cannot hold the address
    /// (an IPv6 address in a 227).
    pub(super) fn rewritten(self, address: SocketAddr) -> Option<String> {
        let port = address.port();
        match (self, address.ip()) {
            (Self::Passive(_), IpAddr::V4(ip)) => Some(passive(ip, port)),
            (Self::Passive(_), IpAddr::V6(_)) => None,
            (Self::Extended(_), _) => {
                Some(format!("229 Entering Extended Passive Mode (|||{port}|)\r\n"))
            }
        }
    }
}

fn passive(ip: Ipv4Addr, port: u16) -> String {
    let ([a, b, c, d], [high, low]) = (ip.octets(), port.to_be_bytes());
    format!("227 Entering Passive Mode ({a},{b},{c},{d},{high},{low})\r\n")
}

/// Reads a reply line that offers a data port; every other line is none.
pub(super) fn offer(line: &[u8]) -> Option<Offer> {
    let text = std::str::from_utf8(line).ok()?;
    match text.split_once(' ')? {
        ("227", rest) => six_numbers(rest).map(Offer::Passive),
        ("229", rest) => between_delimiters(rest).map(Offer::Extended),
        _ => None,
    }
}

/// `h1,h2,h3,h4,p1,p2`, with or without parentheses (RFC 1123, 4.1.2.6, tells clients to look for
/// the digits).
fn six_numbers(text: &str) -> Option<u16> {
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let end = text[digits..]
        .find(|c: char| !c.is_ascii_digit() && c != ',')
        .map_or(text.len(), |end| digits + end);
    let numbers: Vec<u8> =
        text[digits..end].split(',').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let [_, _, _, _, high, low] = numbers[..] else { return None };
    Some(u16::from_be_bytes([high, low]))
}

/// `(<d><d><d>port<d>)`, the delimiter being any of the characters 33 to 126.
fn between_delimiters(text: &str) -> Option<u16> {
    let inside = text.split_once('(')?.1.split_once(')')?.0;
    let delimiter = inside.chars().next().filter(char::is_ascii_graphic)?;
    let fields: Vec<&str> = inside.split(delimiter).collect();
    let ["", "", "", port, ""] = fields[..] else { return None };
    port.parse().ok()
}

/// Follows a server's lines to find the ends of replies: lines inside a reply of several lines are
/// not replies themselves.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The code of the reply of several lines we are in.
    inside: Option<[u8; 3]>,
}

impl Lines {
    /// Whether `line` is a complete reply or ends one (`code SP text`).
    pub(super) fn ends_reply(&mut self, line: &[u8]) -> bool {
        let code = match line {
            [a, b, c, ..] if [a, b, c].iter().all(|digit| digit.is_ascii_digit()) => {
                Some([*a, *b, *c])
            }
            _ => None,
        };
        match (self.inside, code, line.get(3)) {
            (None, Some(code), Some(b'-')) => {
                self.inside = Some(code);
                false
            }
            (Some(open), Some(code), Some(b' ')) if open == code => {
                self.inside = None;
                true
            }
            (inside, ..) => inside.is_none(),
        }
    }
}

/// For fuzzers: any lines of a server.
#[doc(hidden)]
pub fn fuzz_reply(said: &[u8]) {
    let mut lines = Lines::default();
    for line in said.split_inclusive(|byte| *byte == b'\n') {
        if lines.ends_reply(line)
            && let Some(offered) = offer(line)
        {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, offered.port()));
            let again =
                offered.rewritten(address).expect("an IPv4 address can be said in both ways");
            assert_eq!(offer(again.as_bytes()), Some(offered));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn offers_of_many_servers_are_understood() {
        for (line, wanted) in [
            ("227 Entering Passive Mode (192,168,1,2,195,80)\r\n", Offer::Passive(50_000)),
            ("227 Entering Passive Mode (127,0,0,1,4,1).\r\n", Offer::Passive(1025)),
            ("227 Passive mode OK 10,0,0,1,255,255\r\n", Offer::Passive(65_535)),
            ("229 Entering Extended Passive Mode (|||6446|)\r\n", Offer::Extended(6446)),
            ("229 ok (!!!1024!)\r\n", Offer::Extended(1024)),
        ] {
            assert_eq!(offer(line.as_bytes()), Some(wanted), "{line}");
        }
    }

    #[test]
    fn what_is_no_offer_is_none() {
        for line in [
            "226 Done\r\n",
            "227 nothing here\r\n",
            "227 (1,2,3,4,5)\r\n",
            "227 (1,2,3,4,5,256)\r\n",
            "227-(1,2,3,4,5,6)\r\n",
            "229 (||6446|)\r\n",
            "229 (|||65536|)\r\n",
            "229 ()\r\n",
            "229",
            "",
        ] {
            assert_eq!(offer(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn lines_inside_a_reply_are_not_replies() {
        let mut lines = Lines::default();
        let told: Vec<bool> = [
            "220 hello",
            "211-Features",
            " 227 (1,2,3,4,5,6)",
            "227 (1,2,3,4,5,6)",
            "211 End",
            "227 x",
        ]
        .iter()
        .map(|line| lines.ends_reply(line.as_bytes()))
        .collect();
        assert_eq!(told, [true, false, false, false, true, true]);
    }

    proptest! {
        #[test]
        fn rewriting_and_reading_agree(port: u16, ip: [u8; 4], extended: bool, theirs: u16) {
            let before = if extended { Offer::Extended(theirs) } else { Offer::Passive(theirs) };
            let line = before.rewritten(SocketAddr::from((ip, port))).expect("IPv4 can be said in both");
            prop_assert_eq!(offer(line.as_bytes()).map(Offer::port), Some(port));
        }

        #[test]
        fn no_line_panics(line: Vec<u8>) {
            offer(&line);
            Lines::default().ends_reply(&line);
        }

        #[test]
        fn no_near_offer_panics(rest in "22[79][ -]\\(?[|!0-9,()é]*") {
            offer(rest.as_bytes());
        }
    }
}
