//! The answers of a server (RFC 1813, section 3.3): a status, and the result of the call.

use super::protocol::{Handle, MOST_DATA};
use super::xdr::{Garbled, Writer, XdrReader};
use crate::volume::Fault;

/// Why a call was not done (section 2.6, `nfsstat3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub(super) u32);

impl Status {
    const OK: u32 = 0;
    pub(super) const BAD_HANDLE: Self = Self(10_001);
    pub(super) const NOT_SUPPORTED: Self = Self(10_004);

    pub(super) fn of(fault: &Fault) -> Self {
        Self(match fault {
            Fault::NoSuchName => 2,
            Fault::Device(_) => 5,
            Fault::NotADirectory => 20,
            Fault::IsADirectory => 21,
            Fault::BadName => 22,
            Fault::NoRoom => 28,
            Fault::NotEmpty => 66,
            Fault::Gone => 70,
            Fault::Exists => 17,
        })
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = match self.0 {
            1 | 13 => "not permitted",
            2 => "no such file",
            5 => "an error of its device",
            17 => "it exists already",
            20 => "not a directory",
            21 => "it is a directory",
            22 => "not a name it takes",
            27 | 28 => "no room",
            66 => "not empty",
            70 | 10_001 => "it has no such file any more",
            _ => return write!(f, "status {}", self.0),
        };
        write!(f, "{words} (status {})", self.0)
    }
}

/// The attributes of a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Whether it is one.
    pub is_directory: bool,
    /// Of the content, in octets.
    pub size: u64,
    /// Its number at the server.
    pub(super) node: u64,
    /// The number of its changes, used as the time of the last change, so that clients see that
    /// another one changed it.
    pub(super) changes: u64,
}

impl Attributes {
    /// `fattr3`, section 2.5: 84 octets.
    pub(super) fn write(&self, to: &mut Writer<'_>) {
        let (kind, mode) = if self.is_directory { (2, 0o700) } else { (1, 0o600) };
        // Kind, mode, links, user, group.
        for number in [kind, mode, 1, 0, 0] {
            to.number(number);
        }
        to.long(self.size);
        to.long(self.size);
        // Of a device: none. The file system's number: one for all.
        to.long(0);
        to.long(1);
        to.long(self.node);
        // The time of access is not kept.
        to.long(0);
        (0..2).for_each(|_| write_time(self.changes, to));
    }

    pub(super) fn read(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        let kind = from.number()?;
        for _ in 0..4 {
            from.number()?;
        }
        let size = from.long()?;
        for _ in 0..3 {
            from.long()?;
        }
        let node = from.long()?;
        from.long()?;
        from.long()?;
        let changes = read_time(from)?;
        Ok(Self { is_directory: kind == 2, size, node, changes })
    }

    /// Attributes in answers, where they may be missing.
    pub(super) fn write_optional(attributes: Option<&Self>, to: &mut Writer<'_>) {
        to.flag(attributes.is_some());
        if let Some(attributes) = attributes {
            attributes.write(to);
        }
    }

    /// Attributes after a change, without those before it (section 2.6, `wcc_data`).
    pub(super) fn write_after(attributes: Option<&Self>, to: &mut Writer<'_>) {
        to.flag(false);
        Self::write_optional(attributes, to);
    }

    fn read_optional(from: &mut XdrReader<'_>) -> Result<Option<Self>, Garbled> {
        from.optional(Self::read)
    }

    fn read_after(from: &mut XdrReader<'_>) -> Result<Option<Self>, Garbled> {
        // Size and two times.
        from.optional(|from| Ok((from.long()?, from.long()?, from.long()?)))?;
        Self::read_optional(from)
    }
}

/// A number as a time (section 2.5, `nfstime3`): seconds, and nanoseconds below a second.
fn write_time(number: u64, to: &mut Writer<'_>) {
    to.number((number / NANO) as u32);
    to.number((number % NANO) as u32);
}

fn read_time(from: &mut XdrReader<'_>) -> Result<u64, Garbled> {
    Ok(u64::from(from.number()?) * NANO + u64::from(from.number()?))
}

/// Nanoseconds in a second.
const NANO: u64 = 1_000_000_000;

/// Writes a server's answer to a successful call; begins with the status.
pub(super) fn write_done(to: &mut Writer<'_>) {
    to.number(Status::OK);
}

/// Reads the status: an answer follows, or why there is none.
pub(super) fn read_status(from: &mut XdrReader<'_>) -> Result<Result<(), Status>, Garbled> {
    let status = from.number()?;
    Ok(if status == Status::OK { Ok(()) } else { Err(Status(status)) })
}

/// The node that was found under a name, or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its handle.
    pub handle: Handle,
    /// Its attributes; servers may leave them out.
    pub attributes: Option<Attributes>,
}

impl Found {
    pub(super) fn read_looked_up(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        let handle = Handle::read(from)?;
        let attributes = Attributes::read_optional(from)?;
        Attributes::read_optional(from)?;
        Ok(Self { handle, attributes })
    }

    /// Servers may leave the handle out; this client takes only answers that have one.
    pub(super) fn read_made(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        let handle = from.optional(Handle::read)?.ok_or(Garbled)?;
        let attributes = Attributes::read_optional(from)?;
        Attributes::read_after(from)?;
        Ok(Self { handle, attributes })
    }
}

/// The result of a READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) data: &'a [u8],
    pub(super) is_end: bool,
}

impl<'a> Piece<'a> {
    pub(super) fn read(from: &mut XdrReader<'a>) -> Result<Self, Garbled> {
        Attributes::read_optional(from)?;
        let count = from.number()? as usize;
        let is_end = from.flag()?;
        let data = from.opaque(MOST_DATA)?;
        if data.len() == count { Ok(Self { data, is_end }) } else { Err(Garbled) }
    }
}

/// Most octets of one READ and of one WRITE, as FSINFO says (section 3.3.19): a server may close
/// the connection of a client that asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OctetLimits {
    pub(super) read: usize,
    pub(super) write: usize,
}

impl Default for OctetLimits {
    fn default() -> Self {
        Self { read: MOST_DATA, write: MOST_DATA }
    }
}

impl OctetLimits {
    /// Preferred sizes, directories and times are ignored.
    pub(super) fn read(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        Attributes::read_optional(from)?;
        let [read, _, _, write] = [from.number()?, from.number()?, from.number()?, from.number()?];
        if read == 0 || write == 0 {
            return Err(Garbled);
        }
        Ok(Self { read: MOST_DATA.min(read as usize), write: MOST_DATA.min(write as usize) })
    }
}

/// The result of a WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) count: u32,
    /// Another one means that the server began again and what it had not committed is lost (section
    /// 3.3.7).
    pub(super) verifier: [u8; 8],
}

impl Written {
    pub(super) fn read(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        Attributes::read_after(from)?;
        let count = from.number()?;
        from.number()?;
        Ok(Self { count, verifier: from.fixed()? })
    }
}

/// The verifier of a COMMIT's answer.
pub(super) fn read_committed(from: &mut XdrReader<'_>) -> Result<[u8; 8], Garbled> {
    Attributes::read_after(from)?;
    from.fixed()
}

/// For fuzzers: reads `octets` as the answer to every call.
pub(super) fn read_all(octets: &[u8]) {
    let reader = XdrReader::new(octets);
    let _ = Attributes::read(&mut reader.clone());
    let _ = Found::read_looked_up(&mut reader.clone());
    let _ = Found::read_made(&mut reader.clone());
    let _ = Piece::read(&mut reader.clone());
    let _ = OctetLimits::read(&mut reader.clone());
    let _ = Written::read(&mut reader.clone());
    let _ = read_committed(&mut reader.clone());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn attributes_are_read_as_they_are_written(is_directory in any::<bool>(), size in any::<u64>(), node in any::<u64>(), changes in 0..u64::from(u32::MAX) * NANO) {
            let attributes = Attributes { is_directory, size, node, changes };
            let mut out = Vec::new();
            attributes.write(&mut Writer::new(&mut out));
            prop_assert_eq!(out.len(), 84);
            Attributes::write_after(Some(&attributes), &mut Writer::new(&mut out));
            let mut reader = XdrReader::new(&out);
            prop_assert_eq!(Attributes::read(&mut reader), Ok(attributes));
            prop_assert_eq!(Attributes::read_after(&mut reader), Ok(Some(attributes)));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            read_all(&octets);
        }
    }
}
