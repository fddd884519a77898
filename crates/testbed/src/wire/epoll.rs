//! Watches many ports: the kernel names those that have become ready, so the wire need not query
//! each of them.
//!
//! Edge-triggered (epoll(7)): a port is named once when frames come to it, and again only after it
//! was emptied and more came. So the caller must read a named port until it has no more frames.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// Ports named by one system call.
const AT_ONCE: usize = 64;

/// Many file descriptors behind one.
pub(super) struct EpollSet {
    epoll: Epoll,
    events: [EpollEvent; AT_ONCE],
}

impl EpollSet {
    /// Watches these; they are named by their indices. They must stay open as long as this value
    /// exists.
    pub(super) fn new<'a>(watched: impl Iterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (place, fd) in (0u64..).zip(watched) {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, place))?;
        }
        Ok(Self { epoll, events: [EpollEvent::empty(); AT_ONCE] })
    }

    /// Names the ports that have become ready since they were last named, without waiting.
    pub(super) fn name_ready(&mut self, mut tell: impl FnMut(usize)) -> io::Result<()> {
        loop {
            let count = match self.epoll.wait(&mut self.events, EpollTimeout::ZERO) {
                Err(nix::Error::EINTR) => continue,
                result => result?,
            };
            self.events[..count].iter().for_each(|event| tell(event.data() as usize));
            if count < AT_ONCE {
                return Ok(());
            }
        }
    }
}

impl AsFd for EpollSet {
    /// Readable while a port is ready that has not been named.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn named(epoll: &mut EpollSet) -> Vec<usize> {
        let mut places = Vec::new();
        epoll.name_ready(|place| places.push(place)).unwrap();
        places.sort_unstable();
        places
    }

    #[test]
    fn each_is_named_once_until_more_comes() {
        let mut pairs: Vec<_> = (0..200).map(|_| UnixStream::pair().unwrap()).collect();
        let mut epoll = EpollSet::new(pairs.iter().map(|(_, theirs)| theirs.as_fd())).unwrap();
        assert!(named(&mut epoll).is_empty());
        for (ours, _) in &mut pairs {
            ours.write_all(b"x").unwrap();
        }
        assert_eq!(named(&mut epoll), (0..200).collect::<Vec<_>>());
        assert!(named(&mut epoll).is_empty());
        pairs[7].1.read_exact(&mut [0]).unwrap();
        pairs[7].0.write_all(b"x").unwrap();
        assert_eq!(named(&mut epoll), [7]);
    }
}
