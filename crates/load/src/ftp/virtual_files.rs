//! The files of the embedded server: a file `N.bin` of N incompressible bytes for every N, from
//! memory.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::SystemTime;

use async_trait::async_trait;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use unftp_core::auth::UserDetail;
use unftp_core::storage::{
    Error, ErrorKind, FEATURE_RESTART, Fileinfo, Metadata, Result, StorageBackend,
};

use super::data_port::DataPort;
use super::inbox::{NAME, Slot};
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
    /// The data connection, for the files of a session.
    data: Option<DataPort>,
    /// The place of one more file, in addition to the files that every server has.
    place: Option<Place>,
}

/// A directory with one more file.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// The target of uploads; without it uploads are discarded.
    Slot(Slot),
    /// The offered file is here.
    Offer(Offer),
}

impl VirtualFiles {
    /// The files, and one more.
    pub(super) fn with(place: Option<Place>) -> Self {
        Self { place, ..Self::default() }
    }

    /// The additional file, if the path names it.
    fn offered(&self, path: &Path) -> Option<&Offer> {
        match &self.place {
            Some(Place::Offer(offer)) if is_the_one(path) => Some(offer),
            _ => None,
        }
    }

    /// Bytes of files that were handed to connections, all sessions together.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// These files for one session: they go over the data connection of this session only.
    pub(super) fn for_session(&self, data: DataPort) -> Self {
        Self { data: Some(data), ..self.clone() }
    }

    /// Called when a data connection is there: returns whether it belongs to the client.
    fn check_client(&self) -> Result<()> {
        let is_the_clients = self.data.as_ref().map_or(Ok(true), DataPort::is_the_clients);
        if is_the_clients.map_err(|error| Error::new(ErrorKind::LocalError, error))? {
            return Ok(());
        }
        Err(ErrorKind::PermissionDenied.into())
    }

    fn open(&self, path: &Path, offset: u64) -> Result<Reader> {
        self.check_client()?;
        let size = size_of_file(path)?;
        Ok(Reader { offset: offset.min(size), size, served: Arc::clone(&self.served) })
    }
}

/// The size a path asks for: `/N.bin`, in decimal without leading zeros.
fn size_of_file(path: &Path) -> Result<u64> {
    let absent = || Error::from(ErrorKind::PermanentFileNotAvailable);
    let asked = path.strip_prefix("/").unwrap_or(path).to_str().ok_or_else(absent)?;
    let size =
        asked.strip_suffix(".bin").and_then(|digits| digits.parse().ok()).ok_or_else(absent)?;
    // Comparing with the one right name refuses `+1.bin`, `01.bin` and directories.
    if size <= LARGEST && asked == name(size) { Ok(size) } else { Err(absent()) }
}

fn is_the_one(path: &Path) -> bool {
    path.strip_prefix("/").unwrap_or(path) == Path::new(NAME)
}

fn is_root(path: &Path) -> bool {
    path == Path::new("/") || path == Path::new("") || path == Path::new(".")
}

/// The attributes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Root,
    File { size: u64 },
}

impl Metadata for Entry {
    fn len(&self) -> u64 {
        match *self {
            Self::Root => 0,
            Self::File { size } => size,
        }
    }
    fn is_dir(&self) -> bool {
        *self == Self::Root
    }
    fn is_file(&self) -> bool {
        !self.is_dir()
    }
    fn is_symlink(&self) -> bool {
        false
    }
    fn modified(&self) -> Result<SystemTime> {
        Ok(SystemTime::UNIX_EPOCH)
    }
    fn gid(&self) -> u32 {
        0
    }
    fn uid(&self) -> u32 {
        0
    }
}

/// A file being read. It hands out slices of the pool, so serving copies nothing in user space, and
/// they are long (up to 4 MiB), so a connection gets as much per system call as it takes.
#[derive(Debug)]
struct Reader {
    offset: u64,
    size: u64,
    served: Arc<AtomicU64>,
}

impl Reader {
    fn rest(&self) -> &'static [u8] {
        let left = usize::try_from(self.size - self.offset).unwrap_or(usize::MAX);
        let slice = content::from_offset(self.offset);
        &slice[..slice.len().min(left)]
    }
}

impl AsyncBufRead for Reader {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<&[u8]>> {
        Poll::Ready(Ok(self.rest()))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.offset += amount as u64;
        self.served.fetch_add(amount as u64, Ordering::Relaxed);
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let rest = self.rest();
        let length = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..length]);
        self.consume(length);
        Poll::Ready(Ok(()))
    }
}

#[async_trait]
impl<User: UserDetail> StorageBackend<User> for VirtualFiles {
    type Metadata = Entry;

    fn supported_features(&self) -> u32 {
        FEATURE_RESTART
    }

    async fn metadata<P: AsRef<Path> + Send + Debug>(&self, _: &User, path: P) -> Result<Entry> {
        if let Some(offer) = self.offered(path.as_ref()) {
            return Ok(Entry::File { size: offer.size() });
        }
        match path.as_ref() {
            path if is_root(path) => Ok(Entry::Root),
            path => size_of_file(path).map(|size| Entry::File { size }),
        }
    }

    async fn list<P: AsRef<Path> + Send + Debug>(
        &self,
        _: &User,
        path: P,
    ) -> Result<Vec<Fileinfo<PathBuf, Entry>>> {
        let sizes = if is_root(path.as_ref()) {
            SHOWN.to_vec()
        } else {
            vec![size_of_file(path.as_ref())?]
        };
        let entry =
            |size| Fileinfo { path: PathBuf::from(name(size)), metadata: Entry::File { size } };
        Ok(sizes.into_iter().map(entry).collect())
    }

    async fn get_into<'a, P, W: ?Sized>(
        &self,
        _: &User,
        path: P,
        offset: u64,
        output: &'a mut W,
    ) -> Result<u64>
    where
        W: AsyncWrite + Unpin + Sync + Send,
        P: AsRef<Path> + Send + Debug,
    {
        if let Some(offer) = self.offered(path.as_ref()) {
            self.check_client()?;
            let mut reader = tokio::io::BufReader::with_capacity(BLOCK, offer.read_from(offset));
            return Ok(tokio::io::copy_buf(&mut reader, output).await?);
        }
        let mut reader = self.open(path.as_ref(), offset)?;
        Ok(tokio::io::copy_buf(&mut reader, output).await?)
    }

    async fn get<P: AsRef<Path> + Send + Debug>(
        &self,
        _: &User,
        path: P,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Sync + Unpin>> {
        if let Some(offer) = self.offered(path.as_ref()) {
            self.check_client()?;
            return Ok(Box::new(offer.read_from(offset)));
        }
        Ok(Box::new(self.open(path.as_ref(), offset)?))
    }

    /// Stores the one file for which there is a place. Without a place it discards uploads: such an
    /// upload measures the network, not this server.
    async fn put<P: AsRef<Path> + Send + Debug, R: AsyncRead + Send + Sync + Unpin + 'static>(
        &self,
        _: &User,
        input: R,
        path: P,
        _offset: u64,
    ) -> Result<u64> {
        if let (Some(Place::Slot(slot)), Some(data)) = (&self.place, &self.data) {
            self.check_client()?;
            let copy = if is_the_one(path.as_ref()) { slot.take() } else { None };
            let copy = copy.ok_or_else(|| Error::from(ErrorKind::PermissionDenied))?;
            let size = copy.size();
            let is_stored = slot.fill(copy, input, data.client()).await;
            return if is_stored { Ok(size) } else { Err(ErrorKind::LocalError.into()) };
        }
        let mut input = tokio::io::BufReader::with_capacity(BLOCK, input);
        Ok(tokio::io::copy_buf(&mut input, &mut tokio::io::sink()).await?)
    }

    async fn del<P: AsRef<Path> + Send + Debug>(&self, _: &User, _path: P) -> Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    async fn mkd<P: AsRef<Path> + Send + Debug>(&self, _: &User, _path: P) -> Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    async fn rename<P: AsRef<Path> + Send + Debug>(
        &self,
        _: &User,
        _from: P,
        _to: P,
    ) -> Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    async fn rmd<P: AsRef<Path> + Send + Debug>(&self, _: &User, _path: P) -> Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    async fn cwd<P: AsRef<Path> + Send + Debug>(&self, _: &User, path: P) -> Result<()> {
        if is_root(path.as_ref()) {
            Ok(())
        } else {
            Err(ErrorKind::PermanentDirectoryNotAvailable.into())
        }
    }
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
            assert_eq!(size_of_file(Path::new(path)).expect(path), size);
        }
        for path in
            ["/", "/x.bin", "/01.bin", "/+1.bin", "/-1.bin", "/a/1.bin", "/1", "/1099511627777.bin"]
        {
            assert!(size_of_file(Path::new(path)).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_path_is_a_size_or_an_error(path in "\\PC*") {
            if let Ok(size) = size_of_file(Path::new(&path)) {
                prop_assert!(path.ends_with(&name(size)));
            }
        }

        #[test]
        fn every_size_has_its_file(size in 0..=LARGEST) {
            prop_assert_eq!(size_of_file(Path::new(&format!("/{}", name(size)))).ok(), Some(size));
        }
    }
}
