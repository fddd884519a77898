//! The first line of each side: the version of the protocol, and of btu. It never changes, so that
//! every version can name every other one.
//!
//! Up to version 2 the protocol was gRPC. Its controllers get an answer that they understand; its
//! agents are known by their first frame of HTTP/2 (RFC 9113).

use std::io;

use super::PROTOCOL;
use super::ends::{Incoming, Outgoing};

/// What a line begins with.
const NAME: &str = "btu-control";

/// A line has no more octets than this.
const LONGEST_LINE: usize = 64;

/// The last version that was gRPC.
const LAST_OF_GRPC: u32 = 2;

/// The first line of a client of HTTP/2 (section 3.4), and what follows it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";
const AFTER_PREFACE: usize = 8;

/// An older controller's first call comes within this.
const MOST_BEFORE_CALL: usize = 64 << 10;

/// The header of a frame, and the types of those that matter here (sections 4.1 and 6).
const FRAME_HEADER: usize = 9;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
/// The flags of a frame of headers that is all that there is.
const ALL: u8 = 0x1 | 0x4;

/// A side's versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) protocol: u32,
    /// Empty where it is not known.
    btu: String,
}

impl Version {
    fn own() -> Self {
        Self { protocol: PROTOCOL, btu: env!("CARGO_PKG_VERSION").to_owned() }
    }

    fn line(&self) -> String {
        format!("{NAME} {} {}\n", self.protocol, self.btu)
    }

    /// The versions in the first line of `said`; `None` while it is not whole.
    fn read(said: &[u8]) -> io::Result<Option<(Self, usize)>> {
        let Some(end) = said.iter().take(LONGEST_LINE).position(|octet| *octet == b'\n') else {
            let begins = NAME.bytes().zip(said).all(|(due, octet)| due == *octet);
            return if begins && said.len() < LONGEST_LINE { Ok(None) } else { Err(unknown()) };
        };
        let line = std::str::from_utf8(&said[..end]).map_err(|_| unknown())?;
        let version = Self::parse(line).ok_or_else(unknown)?;
        Ok(Some((version, end + 1)))
    }

    fn parse(line: &str) -> Option<Self> {
        let [protocol, btu]: [&str; 2] = line
            .strip_prefix(NAME)?
            .strip_prefix(' ')?
            .split(' ')
            .collect::<Vec<_>>()
            .try_into()
            .ok()?;
        let is_plain = btu.chars().all(|c| c.is_ascii_alphanumeric() || ".+-".contains(c));
        is_plain.then_some(Self { protocol: protocol.parse().ok()?, btu: btu.to_owned() })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.btu.as_str() {
            "" => write!(f, "{}", self.protocol),
            btu => write!(f, "{} (btu {btu})", self.protocol),
        }
    }
}

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what answers speaks no protocol of btu")
}

/// The sentence for two sides of different versions.
fn mismatch(agent: &Version, controller: &Version) -> String {
    format!(
        "this agent speaks protocol {agent} and the controller {controller}: use the same btu on both"
    )
}

/// The agent's side. False when the controller is of another version, and was told.
pub(super) async fn answer(incoming: &mut Incoming, outgoing: &mut Outgoing) -> io::Result<bool> {
    let version = loop {
        let said = incoming.waiting();
        if said.starts_with(PREFACE) {
            refuse_older(incoming, outgoing).await?;
            return Ok(false);
        }
        let may_be_older = PREFACE.starts_with(said);
        if let Some((version, length)) = if may_be_older { None } else { Version::read(said)? } {
            incoming.take(length);
            break version;
        }
        more(incoming).await?;
    };
    outgoing.put_octets(Version::own().line().as_bytes());
    outgoing.write_all().await?;
    Ok(version.protocol == PROTOCOL)
}

/// The controller's side. The sentence when the agent is of another version.
pub(super) async fn ask(
    incoming: &mut Incoming,
    outgoing: &mut Outgoing,
) -> io::Result<Result<(), String>> {
    let own = Version::own();
    outgoing.put_octets(own.line().as_bytes());
    // Where it cannot be written, what the agent has said before it left is worth more than that.
    let _ = outgoing.write_all().await;
    let agent = loop {
        let said = incoming.waiting();
        if is_older(said) {
            break Version { protocol: LAST_OF_GRPC, btu: String::new() };
        }
        let may_be_older = said.first().is_none_or(|first| *first == 0) && said.len() < 4;
        if let Some((version, length)) = if may_be_older { None } else { Version::read(said)? } {
            incoming.take(length);
            break version;
        }
        more(incoming).await?;
    };
    Ok(if agent.protocol == PROTOCOL { Ok(()) } else { Err(mismatch(&agent, &own)) })
}

async fn more(incoming: &mut Incoming) -> io::Result<()> {
    if incoming.read().await? {
        return Ok(());
    }
    let what = "the connection ended at the greeting";
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, what))
}

/// Whether an agent of gRPC has begun: with its settings, or with a refusal of our line.
fn is_older(said: &[u8]) -> bool {
    matches!(said, [0, _, _, SETTINGS | GOAWAY, ..])
}

/// Waits for the first call of a controller of gRPC, and refuses it.
async fn refuse_older(incoming: &mut Incoming, outgoing: &mut Outgoing) -> io::Result<()> {
    let mut at = PREFACE.len() + AFTER_PREFACE;
    let stream = loop {
        match incoming.waiting().get(at..at + FRAME_HEADER) {
            Some([_, _, _, HEADERS, _, stream @ ..]) => break stream.to_vec(),
            Some([high, middle, low, ..]) => {
                at += FRAME_HEADER + u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            }
            _ if at > MOST_BEFORE_CALL => return Err(unknown()),
            _ => more(incoming).await?,
        }
    };
    outgoing.put_octets(&refusal(&stream));
    outgoing.write_all().await?;
    // Closing with unread data would take the answer back; the caller closes when it has read it.
    while incoming.read().await? {
        incoming.take(usize::MAX);
    }
    Ok(())
}

/// Settings, and an answer to the call on `stream` that is a status of gRPC alone: failed
/// precondition, and the sentence.
fn refusal(stream: &[u8]) -> Vec<u8> {
    let older = Version { protocol: LAST_OF_GRPC, btu: String::new() };
    let message = mismatch(&Version::own(), &older);
    // The status 200 is number 8 of the static table; the others are literals that are not indexed,
    // and shorter than 127 octets (RFC 7541 sections 5 and 6).
    let mut fields = vec![0x80 | 8];
    for (name, value) in
        [("content-type", "application/grpc"), ("grpc-status", "9"), ("grpc-message", &message)]
    {
        fields.push(0);
        for text in [name, value] {
            fields.push(text.len().min(126) as u8);
            fields.extend_from_slice(&text.as_bytes()[..text.len().min(126)]);
        }
    }
    let length = (fields.len() as u32).to_be_bytes();
    let settings = [0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];
    [&settings[..], &length[1..], &[HEADERS, ALL], stream, &fields].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_when_it_is_whole_and_nothing_else_is() {
        let line = Version::own().line();
        for cut in 0..line.len() {
            assert_eq!(Version::read(&line.as_bytes()[..cut]).unwrap(), None, "{cut}");
        }
        let (own, length) = Version::read(line.as_bytes()).unwrap().unwrap();
        assert_eq!((own, length), (Version::own(), line.len()));
        for wrong in [
            "SSH-2.0-OpenSSH_9.2p1\r\n",
            "btu-control 3\n",
            "btu-control x 0.1.0\n",
            "btu-control 3 0.1.0 and more\n",
            "btu-control 3 \x1b[2J\n",
            "btu-control 4294967296 0.1.0\n",
            &format!("btu-control 3 {}", "0".repeat(LONGEST_LINE)),
        ] {
            assert!(Version::read(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_mismatch_names_both_versions_in_a_line_that_fits_an_answer_of_grpc() {
        let later = Version { protocol: 12, btu: "12.34.56".to_owned() };
        let older = Version { protocol: 2, btu: String::new() };
        let said = mismatch(&later, &older);
        assert_eq!(
            said,
            "this agent speaks protocol 12 (btu 12.34.56) and the controller 2: use the same btu on both"
        );
        assert!(said.len() < 127);
    }
}
