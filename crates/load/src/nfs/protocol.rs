//! NFS version 3 (RFC 1813): the calls that this server knows, as they go over the wire.

use btu_contract::activity::Token;

use super::xdr::{Garbled, Writer, XdrReader};

/// Longest name in a directory.
pub const LONGEST_NAME: usize = 255;

/// Most octets of a file in one call, either way: `rtmax` and `wtmax` of section 3.3.19.
pub const MOST_DATA: usize = 1 << 20;

/// Longest record: the longest data, and all else that a call or an answer has.
pub(super) const LONGEST_RECORD: usize = MOST_DATA + 1024;

/// Longest handle (section 2.4, `NFS3_FHSIZE`).
const LONGEST_HANDLE: usize = 64;

/// A handle of a file or a directory; to a client, octets without meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    octets: [u8; LONGEST_HANDLE],
    length: u8,
}

impl Handle {
    /// The root directory.
    pub(super) fn root(token: &Token) -> Self {
        Self::of(token, crate::volume::ROOT)
    }

    /// The server's own handles: the token, which no other caller can guess, and the node's number.
    pub(super) fn of(token: &Token, node: u64) -> Self {
        let mut octets = [0; LONGEST_HANDLE];
        octets[..16].copy_from_slice(token);
        octets[16..24].copy_from_slice(&node.to_be_bytes());
        Self { octets, length: 24 }
    }

    /// The node of a handle of the server's own.
    pub(super) fn node(&self, token: &Token) -> Option<u64> {
        let node = self.octets[16..24].try_into().ok().map(u64::from_be_bytes)?;
        (*self == Self::of(token, node)).then_some(node)
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) {
        to.opaque(self.octets());
    }

    pub(super) fn read(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        let said = from.opaque(LONGEST_HANDLE)?;
        let mut octets = [0; LONGEST_HANDLE];
        octets[..said.len()].copy_from_slice(said);
        Ok(Self { octets, length: said.len() as u8 })
    }
}

/// When written data is on the server's device (section 3.3.7, `stable_how`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Some time after the answer, by COMMIT at the latest.
    Unstable = 0,
    /// Before the answer to each WRITE.
    FileSync = 2,
}

/// A call, borrowed from its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call<'a> {
    Null,
    GetAttributes {
        node: Handle,
    },
    SetSize {
        node: Handle,
        size: Option<u64>,
    },
    Lookup {
        name: NameInDirectory<'a>,
    },
    Read {
        node: Handle,
        offset: u64,
        count: u32,
    },
    Write {
        node: Handle,
        offset: u64,
        stability: Stability,
        data: &'a [u8],
    },
    Create {
        name: NameInDirectory<'a>,
        creation: Creation,
    },
    MakeDirectory {
        name: NameInDirectory<'a>,
    },
    Remove {
        name: NameInDirectory<'a>,
    },
    RemoveDirectory {
        name: NameInDirectory<'a>,
    },
    Rename {
        from: NameInDirectory<'a>,
        to: NameInDirectory<'a>,
    },
    Commit {
        node: Handle,
    },
    /// Which of these rights the caller has.
    Access {
        node: Handle,
        rights: u32,
    },
    /// Names of a directory after a cookie, up to this size; `is_plus` requests attributes and
    /// handles, too.
    ReadDirectory {
        node: Handle,
        cookie: u64,
        count: u32,
        is_plus: bool,
    },
    FileSystemStatus {
        node: Handle,
    },
    FileSystemInformation {
        node: Handle,
    },
    PathConfiguration {
        node: Handle,
    },
}

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameInDirectory<'a> {
    pub(super) directory: Handle,
    pub(super) name: &'a [u8],
}

/// Numbers of procedures (section 3.3).
mod procedure {
    pub(super) const NULL: u32 = 0;
    pub(super) const GETATTR: u32 = 1;
    pub(super) const SETATTR: u32 = 2;
    pub(super) const LOOKUP: u32 = 3;
    pub(super) const READ: u32 = 6;
    pub(super) const WRITE: u32 = 7;
    pub(super) const CREATE: u32 = 8;
    pub(super) const MKDIR: u32 = 9;
    pub(super) const REMOVE: u32 = 12;
    pub(super) const RMDIR: u32 = 13;
    pub(super) const RENAME: u32 = 14;
    pub(super) const ACCESS: u32 = 4;
    pub(super) const READDIR: u32 = 16;
    pub(super) const READDIRPLUS: u32 = 17;
    pub(super) const FSSTAT: u32 = 18;
    pub(super) const FSINFO: u32 = 19;
    pub(super) const PATHCONF: u32 = 20;
    pub(super) const COMMIT: u32 = 21;
}

/// Why a call's arguments were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    NoSuchProcedure,
    Garbled,
}

impl From<Garbled> for Unread {
    fn from(_: Garbled) -> Self {
        Self::Garbled
    }
}

impl<'a> NameInDirectory<'a> {
    fn write(&self, to: &mut Writer<'_>) {
        self.directory.write(to);
        to.opaque(self.name);
    }

    fn read(from: &mut XdrReader<'a>) -> Result<Self, Garbled> {
        Ok(Self { directory: Handle::read(from)?, name: from.opaque(LONGEST_NAME)? })
    }
}

impl<'a> Call<'a> {
    pub(super) const fn procedure(&self) -> u32 {
        match self {
            Self::Null => procedure::NULL,
            Self::GetAttributes { .. } => procedure::GETATTR,
            Self::SetSize { .. } => procedure::SETATTR,
            Self::Lookup { .. } => procedure::LOOKUP,
            Self::Read { .. } => procedure::READ,
            Self::Write { .. } => procedure::WRITE,
            Self::Create { .. } => procedure::CREATE,
            Self::MakeDirectory { .. } => procedure::MKDIR,
            Self::Remove { .. } => procedure::REMOVE,
            Self::RemoveDirectory { .. } => procedure::RMDIR,
            Self::Rename { .. } => procedure::RENAME,
            Self::Commit { .. } => procedure::COMMIT,
            Self::Access { .. } => procedure::ACCESS,
            Self::ReadDirectory { is_plus: false, .. } => procedure::READDIR,
            Self::ReadDirectory { is_plus: true, .. } => procedure::READDIRPLUS,
            Self::FileSystemStatus { .. } => procedure::FSSTAT,
            Self::FileSystemInformation { .. } => procedure::FSINFO,
            Self::PathConfiguration { .. } => procedure::PATHCONF,
        }
    }

    /// Writes the arguments of the call.
    pub(super) fn write(&self, to: &mut Writer<'_>) {
        match self {
            Self::Null => {}
            Self::GetAttributes { node }
            | Self::FileSystemStatus { node }
            | Self::FileSystemInformation { node }
            | Self::PathConfiguration { node } => node.write(to),
            Self::Access { node, rights } => {
                node.write(to);
                to.number(*rights);
            }
            Self::ReadDirectory { node, cookie, count, is_plus } => {
                node.write(to);
                to.long(*cookie);
                // No directory changes under its cookies: the verifier is always the same.
                to.long(0);
                (0..=usize::from(*is_plus)).for_each(|_| to.number(*count));
            }
            Self::SetSize { node, size } => {
                node.write(to);
                write_new_attributes(*size, to);
                to.flag(false);
            }
            Self::Lookup { name } | Self::Remove { name } | Self::RemoveDirectory { name } => {
                name.write(to);
            }
            Self::Read { node, offset, count } => {
                node.write(to);
                to.long(*offset);
                to.number(*count);
            }
            Self::Write { node, offset, stability, data } => {
                node.write(to);
                to.long(*offset);
                to.number(data.len() as u32);
                to.number(*stability as u32);
                to.opaque(data);
            }
            Self::Create { name, creation } => {
                name.write(to);
                creation.write(to);
            }
            Self::MakeDirectory { name } => {
                name.write(to);
                write_new_attributes(None, to);
            }
            Self::Rename { from, to: target } => {
                from.write(to);
                target.write(to);
            }
            Self::Commit { node } => {
                node.write(to);
                // From 0 to the end of the file.
                to.long(0);
                to.number(0);
            }
        }
    }

    /// The arguments of a procedure.
    pub(super) fn read(number: u32, mut from: XdrReader<'a>) -> Result<Self, Unread> {
        let call = match number {
            procedure::NULL => Self::Null,
            procedure::GETATTR => Self::GetAttributes { node: Handle::read(&mut from)? },
            procedure::SETATTR => Self::read_set_size(&mut from)?,
            procedure::LOOKUP => Self::Lookup { name: NameInDirectory::read(&mut from)? },
            procedure::READ => Self::Read {
                node: Handle::read(&mut from)?,
                offset: from.long()?,
                count: from.number()?,
            },
            procedure::WRITE => Self::read_write(&mut from)?,
            procedure::CREATE => Self::read_create(&mut from)?,
            procedure::MKDIR => {
                let name = NameInDirectory::read(&mut from)?;
                read_new_attributes(&mut from)?;
                Self::MakeDirectory { name }
            }
            procedure::REMOVE => Self::Remove { name: NameInDirectory::read(&mut from)? },
            procedure::RMDIR => Self::RemoveDirectory { name: NameInDirectory::read(&mut from)? },
            procedure::RENAME => Self::Rename {
                from: NameInDirectory::read(&mut from)?,
                to: NameInDirectory::read(&mut from)?,
            },
            procedure::COMMIT => {
                let node = Handle::read(&mut from)?;
                from.long()?;
                from.number()?;
                Self::Commit { node }
            }
            procedure::ACCESS => {
                Self::Access { node: Handle::read(&mut from)?, rights: from.number()? }
            }
            procedure::READDIR => Self::read_directory(&mut from, false)?,
            procedure::READDIRPLUS => Self::read_directory(&mut from, true)?,
            procedure::FSSTAT => Self::FileSystemStatus { node: Handle::read(&mut from)? },
            procedure::FSINFO => Self::FileSystemInformation { node: Handle::read(&mut from)? },
            procedure::PATHCONF => Self::PathConfiguration { node: Handle::read(&mut from)? },
            _ => return Err(Unread::NoSuchProcedure),
        };
        from.end()?;
        Ok(call)
    }

    fn read_directory(from: &mut XdrReader<'a>, is_plus: bool) -> Result<Self, Garbled> {
        let (node, cookie) = (Handle::read(from)?, from.long()?);
        from.long()?;
        let mut count = from.number()?;
        // READDIRPLUS says how many octets of names it wants, and then how many in all.
        if is_plus {
            count = from.number()?;
        }
        Ok(Self::ReadDirectory { node, cookie, count, is_plus })
    }

    fn read_set_size(from: &mut XdrReader<'a>) -> Result<Self, Garbled> {
        let node = Handle::read(from)?;
        let size = read_new_attributes(from)?;
        from.optional(|from| Ok((from.number()?, from.number()?)))?;
        Ok(Self::SetSize { node, size })
    }

    fn read_write(from: &mut XdrReader<'a>) -> Result<Self, Garbled> {
        let node = Handle::read(from)?;
        let offset = from.long()?;
        let count = from.number()? as usize;
        let stability = match from.number()? {
            0 => Stability::Unstable,
            // FILE_SYNC includes the guarantees of DATA_SYNC.
            1 | 2 => Stability::FileSync,
            _ => return Err(Garbled),
        };
        let data = from.opaque(MOST_DATA)?;
        let data = data.get(..count).ok_or(Garbled)?;
        Ok(Self::Write { node, offset, stability, data })
    }

    /// Of the three ways to create, EXCLUSIVE is not known: it is for clients that repeat calls.
    fn read_create(from: &mut XdrReader<'a>) -> Result<Self, Garbled> {
        let name = NameInDirectory::read(from)?;
        Ok(Self::Create { name, creation: Creation::read(from)? })
    }
}

/// The treatment of an existing file with the name of a new one (section 3.3.8, `createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Creation {
    /// It is kept, with this size if one is given.
    Unchecked(Option<u64>),
    /// The call is refused.
    Guarded,
    /// The call is refused, unless it is the one that made the file, sent once more: they have the
    /// same eight octets.
    Exclusive([u8; 8]),
}

impl Creation {
    fn write(self, to: &mut Writer<'_>) {
        match self {
            Self::Unchecked(size) => {
                to.number(0);
                write_new_attributes(size, to);
            }
            Self::Guarded => {
                to.number(1);
                write_new_attributes(None, to);
            }
            Self::Exclusive(verifier) => {
                to.number(2);
                to.fixed(&verifier);
            }
        }
    }

    fn read(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        Ok(match from.number()? {
            0 => Self::Unchecked(read_new_attributes(from)?),
            1 => {
                read_new_attributes(from)?;
                Self::Guarded
            }
            2 => Self::Exclusive(from.long()?.to_be_bytes()),
            _ => return Err(Garbled),
        })
    }
}

/// New attributes (section 2.5, `sattr3`): the size alone, or nothing.
fn write_new_attributes(size: Option<u64>, to: &mut Writer<'_>) {
    // Mode, user, group.
    (0..3).for_each(|_| to.flag(false));
    to.flag(size.is_some());
    if let Some(size) = size {
        to.long(size);
    }
    // Times of access and modification: not to be changed.
    (0..2).for_each(|_| to.number(0));
}

/// The size that the attributes ask for; all other attributes are read and ignored, since files
/// here have no owner.
fn read_new_attributes(from: &mut XdrReader<'_>) -> Result<Option<u64>, Garbled> {
    for _ in 0..3 {
        from.optional(XdrReader::number)?;
    }
    let size = from.optional(XdrReader::long)?;
    for _ in 0..2 {
        match from.number()? {
            0 | 1 => {}
            2 => drop((from.number()?, from.number()?)),
            _ => return Err(Garbled),
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests;
