//! Host activities: the work of a machine in addition to its network activity. They show the cost
//! of each for the other.
//!
//! [`prepare`] turns an [`Order`] into a [`Performance`]. It includes all slow steps: creating the
//! file a disk activity reads, starting an FTP server, logging in. `perform` then times the
//! activity and nothing else.
//!
//! | activity | what it is | a unit of work |
//! |---|---|---|
//! | cpu | complex arithmetic, then allocate, copy, free | a round |
//! | disk | read a large file, copy it to another, reach the device | a byte copied |
//! | transfer | fetch by FTP into a file that reaches the device | a byte fetched |
//! | files | what programs do with files, at an NFS server or on an own disk | an operation |
//!
//! A further one is the copy of one file to another host, by several programs. And an application
//! draws on another host through a terminal of the system's ssh, or on the system's X server there.
//!
//! The other side of a transfer is an embedded FTP server.
//!
//! [`files`] are the files of programs, on this machine or at a server of [`nfs`].

#![forbid(unsafe_code)]

mod account;
mod content;
mod copy;
mod cpu;
mod disk;
mod draw;
mod error;
pub mod files;
mod ftp;
mod lan;
mod meeting_place;
pub mod nfs;
mod pump;
mod scratch;
mod volume;
mod x11;

use btu_contract::activity::{Activity, Order, Performance};
use btu_contract::copy::Direction;
use btu_contract::peers::Callers;

pub use copy::{NAMED_IN_MEMORY, missing_for, missing_for_terminal, missing_for_x11};
pub use disk::DiskSource;
pub use error::LoadError;
pub use ftp::FETCH_ROOM;
pub use scratch::{MARGIN, Scratch, check_share, scratch_check, sweep_dead};
pub use volume::{Fault, MOST_NODES};

/// Entries for fuzzers: they return for any input from a sender of files, either end of NFS or
/// HTTP, or a program of the system.
#[doc(hidden)]
pub mod fuzz {
    pub use crate::copy::{
        fuzz_head as http_head, fuzz_log as copy_log, fuzz_record as rcp_record,
    };
    pub use crate::nfs::{fuzz_answer as nfs_answer, fuzz_call as nfs_call};
}

/// Sets `order` up, or returns none when its activity is not a host activity. A server checks
/// `callers` before it reads or answers.
///
/// # Errors
/// Names the operation and the object: a directory without space, a server that does not answer,
/// and so on. Nothing is left behind then.
pub fn prepare(
    order: &Order,
    callers: &Callers,
) -> Result<Option<Box<dyn Performance>>, LoadError> {
    Ok(match &order.activity {
        Activity::Cpu(cpu) => Some(Box::new(cpu::CpuLoad::new(order.seed, *cpu))),
        Activity::Disk(disk) => Some(Box::new(disk::Copying::prepare(order.seed, disk)?)),
        Activity::FtpServe(serve) => Some(Box::new(ftp::Serving::prepare(serve, callers)?)),
        Activity::FtpFetch(fetch) => Some(Box::new(ftp::Fetching::prepare(fetch)?)),
        Activity::FileSend(client) => {
            Some(Box::new(copy::CopyClient::prepare(order, client, Direction::Put)?))
        }
        Activity::FileReceive(server) => {
            Some(Box::new(copy::CopyServer::prepare(order, server, Direction::Put, callers)?))
        }
        Activity::FileFetch(client) => {
            Some(Box::new(copy::CopyClient::prepare(order, client, Direction::Get)?))
        }
        Activity::FileOffer(server) => {
            Some(Box::new(copy::CopyServer::prepare(order, server, Direction::Get, callers)?))
        }
        Activity::DrawOverSsh(part) => Some(draw::prepare(order, part, callers)?),
        Activity::DrawOverX11(part) => Some(x11::prepare(order, part, x11::DrawingProgram::Btu)?),
        Activity::DrawByX11perf(part) => {
            Some(x11::prepare(order, part, x11::DrawingProgram::X11perf)?)
        }
        Activity::FileCopy(copy) => Some(Box::new(copy::Copying::prepare(order, copy)?)),
        Activity::FilesServe(serve) => Some(Box::new(lan::ServingFiles::prepare(serve, callers)?)),
        Activity::FilesTask(task) => Some(lan::prepare_task(order.seed, task)?),
        Activity::FilesStation(station) => Some(lan::prepare_station(order.seed, station)?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};
    use std::time::{Duration, Instant};

    use btu_contract::activity::Activity;
    use btu_units::Span;
    use proptest::prelude::*;

    use super::*;

    /// Whether the port of `address` is closed within 5 s: a process that another test starts
    /// has a copy of a socket until it executes its program.
    pub(crate) fn is_closed(address: SocketAddr) -> bool {
        let end = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_ok() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    #[test]
    fn network_activities_are_left_to_others() {
        let order = Order::new(1, Span::from_seconds(1), Activity::Null);
        assert!(prepare(&order, &Callers::any()).expect("nothing to fail").is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let bytes = bytes.as_slice();
            fuzz::http_head(bytes);
            fuzz::nfs_answer(bytes);
            fuzz::nfs_call(bytes);
            fuzz::rcp_record(bytes);
            fuzz::copy_log(bytes);
        }
    }
}
