//! The files of the embedded server: a file `N.bin` of N incompressible bytes for every N, from
//! memory.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncWriteExt, BufReader, copy_buf, sink};
use tokio::net::TcpStream;

use super::inbox::{FileSlot, NAME};
use super::outbox::Offer;
use crate::content;

/// The largest file: 2^40 bytes, a terabyte and a bit.
pub(super) const LARGEST: u64 = 1 << 40;

/// Files shown in a listing; files of all other sizes exist, too.
const SHOWN: [u64; 4] = [1_000, 1_000_000, 1_000_000_000, LARGEST];

/// Bytes taken at once from a client that stores something, and read at once of a file that is
/// offered.
const BLOCK: usize = 256 * 1024;

/// The name of the file of `size` bytes.
pub(super) fn name(size: u64) -> String {
    format!("{size}.bin")
}

/// The virtual files; clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct VirtualFiles {
    served: Arc<AtomicU64>,
    /// The place of one more file, in addition to the files that every server has.
    place: Option<ExtraFile>,
}

/// A directory with one more file.
#[derive(Debug, Clone)]
pub(super) enum ExtraFile {
    /// The target of uploads; without it uploads are discarded.
    Slot(FileSlot),
    /// The offered file is here.
    Offer(Offer),
}

/// A file that is there.
#[derive(Debug)]
pub(super) enum File {
    Random { size: u64 },
    Offered(Offer),
}

impl File {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Random { size } => *size,
            Self::Offered(offer) => offer.size(),
        }
    }
}

impl VirtualFiles {
    /// The files, and one more.
    pub(super) fn with(place: Option<ExtraFile>) -> Self {
        Self { place, ..Self::default() }
    }

    /// Bytes of files that were handed to connections, all sessions together.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// The file that the path names, if there is one.
    pub(super) fn find(&self, path: &str) -> Option<File> {
        match &self.place {
            Some(ExtraFile::Offer(offer)) if is_the_one(path) => Some(File::Offered(offer.clone())),
            _ => size_of_file(path).map(|size| File::Random { size }),
        }
    }

    /// Sends a file from `offset` on. Random ones are handed out as slices of the pool: serving
    /// copies nothing in user space, and they are long (up to 4 MiB), so a connection gets as much
    /// per system call as it takes.
    pub(super) async fn send(&self, file: File, offset: u64, mut to: TcpStream) -> io::Result<()> {
        match file {
            File::Random { size } => {
                let mut offset = offset.min(size);
                while offset < size {
                    let left = usize::try_from(size - offset).unwrap_or(usize::MAX);
                    let slice = content::from_offset(offset);
                    let sent = to.write(&slice[..slice.len().min(left)]).await? as u64;
                    offset += sent;
                    self.served.fetch_add(sent, Ordering::Relaxed);
                }
            }
            File::Offered(offer) => {
                let mut reader = BufReader::with_capacity(BLOCK, offer.read_from(offset));
                copy_buf(&mut reader, &mut to).await?;
            }
        }
        to.shutdown().await
    }

    /// Whether a client may store something under this path.
    pub(super) fn may_store(&self, path: &str) -> bool {
        !matches!(self.place, Some(ExtraFile::Slot(_))) || is_the_one(path)
    }

    /// Stores the one file for which there is a place, from the client at `client`. Without a place
    /// it discards uploads: such an upload measures the network, not this server.
    pub(super) async fn receive(&self, from: TcpStream, client: IpAddr) -> io::Result<()> {
        let Some(ExtraFile::Slot(slot)) = &self.place else {
            let mut from = BufReader::with_capacity(BLOCK, from);
            return copy_buf(&mut from, &mut sink()).await.map(drop);
        };
        let copy = slot.take().ok_or(io::ErrorKind::PermissionDenied)?;
        if slot.fill(copy, from, client).await { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    }

    /// The lines of a listing of this path, with nothing but names or like `ls -l`; `None` if
    /// nothing is there.
    pub(super) fn list(&self, path: &str, only_names: bool) -> Option<String> {
        let sizes = if is_root(path) { SHOWN.to_vec() } else { vec![self.find(path)?.size()] };
        let line = |size: u64| {
            let attributes = format!("-rw-r--r-- 1 0 0 {size:>14} Jan 01 1970 ");
            format!("{}{}\r\n", if only_names { "" } else { &attributes }, name(size))
        };
        Some(sizes.into_iter().map(line).collect())
    }
}

/// The size a path asks for: `/N.bin`, in decimal without leading zeros.
fn size_of_file(path: &str) -> Option<u64> {
    let asked = path.strip_prefix('/').unwrap_or(path);
    let size = asked.strip_suffix(".bin")?.parse().ok()?;
    // Comparing with the one right name refuses `+1.bin`, `01.bin` and directories.
    (size <= LARGEST && asked == name(size)).then_some(size)
}

fn is_the_one(path: &str) -> bool {
    path.strip_prefix('/').unwrap_or(path) == NAME
}

/// Whether it is the one directory.
pub(super) fn is_root(path: &str) -> bool {
    matches!(path, "/" | "" | ".")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_whole_names_are_files() {
        for (path, size) in
            [("/0.bin", 0), ("/1.bin", 1), ("17.bin", 17), ("/1099511627776.bin", LARGEST)]
        {
            assert_eq!(size_of_file(path).expect(path), size);
        }
        for path in
            ["/", "/x.bin", "/01.bin", "/+1.bin", "/-1.bin", "/a/1.bin", "/1", "/1099511627777.bin"]
        {
            assert!(size_of_file(path).is_none(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_path_is_a_size_or_an_error(path in "\\PC*") {
            if let Some(size) = size_of_file(&path) {
                prop_assert!(path.ends_with(&name(size)));
            }
        }

        #[test]
        fn every_size_has_its_file(size in 0..=LARGEST) {
            prop_assert_eq!(size_of_file(&format!("/{}", name(size))), Some(size));
        }
    }
}
