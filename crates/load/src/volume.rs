//! A file system of its own: names in memory, and the content of each file in a file without a name
//! in a scratch directory.
//!
//! No name that a client sends becomes a path of this machine, and nothing is left behind, however
//! the process ends: a file without a name is gone when no process has it open any more. Its size
//! limit is set when it is made.

mod node;
mod service;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use btu_units::{Bytes, Span};
use thiserror::Error;

use crate::scratch::{ScratchFile, scratch_check};
use crate::{LoadError, account};
use node::{FileNode, Node, Room};
use service::Service;
pub(crate) use service::Visit;

/// The node of the root directory.
pub(crate) const ROOT: u64 = 1;

/// Most files and directories: each file takes one of the 1024 descriptors that a process usually
/// has.
pub const MOST_NODES: usize = 600;

/// Most octets of a name.
const LONGEST_NAME: usize = 255;

/// Why a volume refused an operation.
#[derive(Debug, Error)]
pub enum Fault {
    /// There is no such name.
    #[error("no such file")]
    NoSuchName,
    /// The name exists already.
    #[error("it exists already")]
    Exists,
    /// It is a file, but a directory is needed.
    #[error("not a directory")]
    NotADirectory,
    /// It is a directory, but a file is needed.
    #[error("it is a directory")]
    IsADirectory,
    /// Empty, too long, `.` or `..`, or with a slash or a zero in it.
    #[error("not a name that a file can have")]
    BadName,
    /// Octets or files are at their limit.
    #[error("no room is left for it")]
    NoRoom,
    /// A directory has something in it.
    #[error("the directory is not empty")]
    NotEmpty,
    /// The file was removed meanwhile.
    #[error("it was removed meanwhile")]
    Gone,
    /// The scratch directory's device failed.
    #[error("{0}")]
    Device(Box<LoadError>),
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Full { .. } => Self::NoRoom,
            other => Self::Device(Box::new(other)),
        }
    }
}

/// The attributes of a node: whether it is a directory, and its size in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) node: u64,
    pub(crate) is_directory: bool,
    pub(crate) size: u64,
    /// How often it was changed; of a directory, how often any was.
    pub(crate) changes: u64,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: Vec<u8>,
    pub(crate) stat: Stat,
}

/// The file system; shared by all its servers.
#[derive(Debug)]
pub(crate) struct Volume {
    /// The directory for the content of files; `None` if they are in memory.
    directory: Option<PathBuf>,
    tree: RwLock<Tree>,
    room: Room,
    service: Service,
}

#[derive(Debug)]
struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    /// How often names were added, changed or taken away.
    changes: u64,
}

impl Volume {
    /// An empty one with room for `room` octets in the existing `directory`. Each operation takes
    /// `service` at least, one after the other in the order in which they came, as of a disk with
    /// one arm; zero leaves them to the machine.
    ///
    /// # Errors
    /// A directory that cannot be used or has less room.
    pub(crate) fn new(directory: &Path, room: Bytes, service: Span) -> Result<Self, LoadError> {
        scratch_check(directory, room)?;
        Ok(Self { directory: Some(directory.to_owned()), ..Self::in_memory(room, service) })
    }

    /// Like `new`, with files in memory.
    pub(crate) fn in_memory(room: Bytes, service: Span) -> Self {
        let nodes = BTreeMap::from([(ROOT, Node::Directory(BTreeMap::new()))]);
        Self {
            directory: None,
            tree: RwLock::new(Tree { nodes, next: ROOT + 1, changes: 0 }),
            room: Room::new(room),
            service: Service::new(service),
        }
    }

    /// Begins an operation, which lasts until the visit is over.
    ///
    /// # Errors
    /// A clock that cannot be read.
    pub(crate) fn visit(&self) -> Result<Visit<'_>, LoadError> {
        Ok(self.service.arrive(account::now()?))
    }

    pub(crate) fn stat(&self, node: u64) -> Result<Stat, Fault> {
        self.read(|tree| tree.stat(node))
    }

    pub(crate) fn look_up(&self, directory: u64, name: &[u8]) -> Result<Stat, Fault> {
        self.read(|tree| {
            let node = *tree.directory(directory)?.get(name).ok_or(Fault::NoSuchName)?;
            tree.stat(node)
        })
    }

    /// The names of a directory with nodes after `after`, in the order of their creation, at most
    /// this number; and whether those are the last. A client that lists it in parts misses none,
    /// even if files are removed meanwhile, because no number is used again.
    pub(crate) fn list(
        &self,
        directory: u64,
        after: u64,
        most: usize,
    ) -> Result<(Vec<Named>, bool), Fault> {
        self.read(|tree| {
            let mut later: Vec<(&Vec<u8>, u64)> = tree
                .directory(directory)?
                .iter()
                .map(|(name, &node)| (name, node))
                .filter(|(_, node)| *node > after)
                .collect();
            later.sort_unstable_by_key(|(_, node)| *node);
            let is_end = later.len() <= most;
            let named = |(name, node): (&Vec<u8>, u64)| {
                Ok(Named { name: name.clone(), stat: tree.stat(node)? })
            };
            Ok((later.into_iter().take(most).map(named).collect::<Result<_, Fault>>()?, is_end))
        })
    }

    /// Octets that may still be written, and files that may still be made.
    pub(crate) fn left(&self) -> (Bytes, usize) {
        (self.room.left(), self.read(|tree| MOST_NODES.saturating_sub(tree.nodes.len())))
    }

    /// Makes a file, or empties the one that is called so.
    pub(crate) fn create(&self, directory: u64, name: &[u8]) -> Result<Stat, Fault> {
        self.open_or_create(directory, name, Some(0))
    }

    /// Makes an empty file, unless there is one, which gets the size that is given.
    pub(crate) fn open_or_create(
        &self,
        directory: u64,
        name: &[u8],
        size: Option<u64>,
    ) -> Result<Stat, Fault> {
        check_name(name)?;
        match (self.look_up(directory, name), size) {
            (Err(Fault::NoSuchName), _) => self.create_new(directory, name),
            (Ok(found), Some(size)) => {
                self.resize(found.node, size)?;
                self.stat(found.node)
            }
            (found, _) => found,
        }
    }

    /// Makes an empty file where nothing is called so.
    pub(crate) fn create_new(&self, directory: u64, name: &[u8]) -> Result<Stat, Fault> {
        check_name(name)?;
        let content = match &self.directory {
            Some(directory) => ScratchFile::create(directory, false)?,
            // The caller does not say how long it will be.
            None => ScratchFile::in_memory(0)?,
        };
        let file = FileNode::new(content);
        self.insert(directory, name, Node::File(Arc::new(file)))
    }

    /// Takes a file over that has `size` octets, under a name that is free in the root.
    pub(crate) fn adopt(
        &self,
        name: &[u8],
        content: ScratchFile,
        size: u64,
    ) -> Result<Stat, Fault> {
        check_name(name)?;
        self.room.take(size)?;
        self.insert(ROOT, name, Node::File(Arc::new(FileNode::holding(content, size))))
    }

    pub(crate) fn make_directory(&self, directory: u64, name: &[u8]) -> Result<Stat, Fault> {
        check_name(name)?;
        self.insert(directory, name, Node::Directory(BTreeMap::new()))
    }

    fn insert(&self, directory: u64, name: &[u8], node: Node) -> Result<Stat, Fault> {
        self.write(|tree| {
            if tree.directory(directory)?.contains_key(name) {
                return Err(Fault::Exists);
            }
            if tree.nodes.len() >= MOST_NODES {
                return Err(Fault::NoRoom);
            }
            let number = tree.next;
            tree.next += 1;
            tree.directory_mut(directory)?.insert(name.to_vec(), number);
            tree.nodes.insert(number, node);
            tree.stat(number)
        })
    }

    /// Removes a file; its room is free when no operation reads or writes it any more.
    pub(crate) fn remove(&self, directory: u64, name: &[u8]) -> Result<(), Fault> {
        let file = self.write(|tree| {
            let number = *tree.directory(directory)?.get(name).ok_or(Fault::NoSuchName)?;
            if matches!(tree.node(number)?, Node::Directory(_)) {
                return Err(Fault::IsADirectory);
            }
            Ok(tree.take(directory, name, number))
        })?;
        self.forget(file)
    }

    pub(crate) fn remove_directory(&self, directory: u64, name: &[u8]) -> Result<(), Fault> {
        self.write(|tree| {
            let number = *tree.directory(directory)?.get(name).ok_or(Fault::NoSuchName)?;
            if !tree.directory(number)?.is_empty() {
                return Err(Fault::NotEmpty);
            }
            drop(tree.take(directory, name, number));
            Ok(())
        })
    }

    /// Renames a file; a file with the new name is replaced. Directories stay where they are.
    pub(crate) fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8])) -> Result<(), Fault> {
        check_name(to.1)?;
        let replaced = self.write(|tree| {
            let number = *tree.directory(from.0)?.get(from.1).ok_or(Fault::NoSuchName)?;
            if matches!(tree.node(number)?, Node::Directory(_)) {
                return Err(Fault::IsADirectory);
            }
            let target = tree.directory(to.0)?.get(to.1).copied();
            if target == Some(number) {
                return Ok(None);
            }
            let replaced = match target {
                Some(target) if matches!(tree.node(target)?, Node::Directory(_)) => {
                    return Err(Fault::IsADirectory);
                }
                Some(target) => tree.take(to.0, to.1, target),
                None => None,
            };
            tree.directory_mut(from.0)?.remove(from.1);
            tree.directory_mut(to.0)?.insert(to.1.to_vec(), number);
            Ok(replaced)
        })?;
        self.forget(replaced)
    }

    /// Reads at `offset`; says how many octets, and whether the file ends there.
    pub(crate) fn read_at(
        &self,
        node: u64,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(usize, bool), Fault> {
        self.file(node)?.read(offset, into)
    }

    pub(crate) fn write_at(&self, node: u64, offset: u64, octets: &[u8]) -> Result<(), Fault> {
        self.file(node)?.write(offset, octets, &self.room)
    }

    /// Cuts a file, or lengthens it by zeros.
    pub(crate) fn resize(&self, node: u64, size: u64) -> Result<(), Fault> {
        self.file(node)?.resize(size, &self.room)
    }

    /// Returns when the written data are on the device.
    pub(crate) fn commit(&self, node: u64) -> Result<(), Fault> {
        Ok(self.file(node)?.sync()?)
    }

    fn forget(&self, file: Option<Node>) -> Result<(), Fault> {
        match file {
            Some(Node::File(file)) => file.resize(0, &self.room),
            _ => Ok(()),
        }
    }

    fn file(&self, node: u64) -> Result<Arc<FileNode>, Fault> {
        self.read(|tree| match tree.node(node)? {
            Node::File(file) => Ok(Arc::clone(file)),
            Node::Directory(_) => Err(Fault::IsADirectory),
        })
    }

    // A thread that panicked has left a consistent tree: each change consists of steps that cannot
    // fail.
    fn read<T>(&self, look: impl FnOnce(&Tree) -> T) -> T {
        look(&self.tree.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Tree) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        tree.changes += 1;
        change(&mut tree)
    }
}

impl Tree {
    fn node(&self, number: u64) -> Result<&Node, Fault> {
        self.nodes.get(&number).ok_or(Fault::Gone)
    }

    fn stat(&self, number: u64) -> Result<Stat, Fault> {
        Ok(self.node(number)?.stat(number, self.changes))
    }

    fn directory(&self, number: u64) -> Result<&BTreeMap<Vec<u8>, u64>, Fault> {
        match self.node(number)? {
            Node::Directory(names) => Ok(names),
            Node::File(_) => Err(Fault::NotADirectory),
        }
    }

    fn directory_mut(&mut self, number: u64) -> Result<&mut BTreeMap<Vec<u8>, u64>, Fault> {
        match self.nodes.get_mut(&number).ok_or(Fault::Gone)? {
            Node::Directory(names) => Ok(names),
            Node::File(_) => Err(Fault::NotADirectory),
        }
    }

    /// Takes a name and its node away.
    fn take(&mut self, directory: u64, name: &[u8], number: u64) -> Option<Node> {
        if let Ok(names) = self.directory_mut(directory) {
            names.remove(name);
        }
        self.nodes.remove(&number)
    }
}

fn check_name(name: &[u8]) -> Result<(), Fault> {
    let bad = name.is_empty()
        || name.len() > LONGEST_NAME
        || name == b"."
        || name == b".."
        || name.iter().any(|octet| matches!(octet, b'/' | 0));
    if bad { Err(Fault::BadName) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
