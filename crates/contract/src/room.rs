//! A worker's limits of memory and open files, by its activity. An agent with a policy claims them
//! before it makes the worker, and the kernel enforces them: so the limits are generous for an
//! activity with libraries and threads, and follow the order if the order gives the size. An
//! activity without limits does not compile.

use btu_units::Bytes;

use crate::activity::Activity;
use crate::hint::HintPlan;
use crate::pipe::{Cache, Kind, PipePlan};

const MIB: u64 = 1 << 20;

/// A worker's limits on its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Memory of its own, stacks of its threads included (setrlimit(2), `RLIMIT_DATA`).
    pub memory: Bytes,
    /// Files and sockets open at a time (`RLIMIT_NOFILE`).
    pub open_files: u64,
}

/// One connection or file, and buffers of at most 16 MiB: a worker that waits for its order has 1.3
/// MB.
const SMALL: Room = Room { memory: Bytes::new(128 * MIB), open_files: 128 };

/// A library with threads of its own, or many connections: threads take 2 MiB of stack each.
const LARGE: Room = Room { memory: Bytes::new(256 * MIB), open_files: 256 };

/// 128 clients, and files that stay open as long as they exist.
const FILE_SERVER: Room = Room { memory: Bytes::new(1024 * MIB), open_files: 1024 };

/// HINT's memory for an interval, in bytes; a growing list exists twice for a moment.
const INTERVAL: u64 = 2 * 144;

/// Both directions, the data for comparison, and copies in libraries.
const MESSAGES: u64 = 6;

impl Activity {
    /// The memory and the number of open files that a worker may have for this activity.
    pub fn room(&self) -> Room {
        match self {
            Self::Null
            | Self::TcpSend(_)
            | Self::TcpReceive(_)
            | Self::Request(_)
            | Self::Respond(_)
            | Self::UdpSend(_)
            | Self::Disk(_)
            | Self::FilesStation(_)
            | Self::DrawInside(_)
            | Self::Relay(_)
            | Self::Broadcast(_) => SMALL,
            // In addition to what each round allocates, the activity keeps a block of 64 MiB.
            Self::Cpu(_) => SMALL.and(128 * MIB),
            // A bit for each datagram that may arrive.
            Self::UdpReceive(part) => SMALL.and(part.expected_datagrams / 8),
            Self::FtpServe(_)
            | Self::FtpFetch(_)
            | Self::FilesTask(_)
            | Self::DrawOverSsh(_)
            | Self::DrawOverX11(_)
            | Self::DrawByX11perf(_)
            | Self::FileSend(_)
            | Self::FileReceive(_)
            | Self::FileFetch(_)
            | Self::FileOffer(_)
            | Self::FileCopy(_) => LARGE,
            Self::FilesServe(_) => FILE_SERVER,
            Self::Pipe(end) => Room::of_pipe(&end.plan),
            Self::Hint(end) => Room::of_pipe(&end.as_pipe().plan).and(intervals(&end.hint)),
            Self::Draw(end) => Room::of_pipe(&end.as_pipe().plan),
        }
    }
}

impl Room {
    /// With this number of further bytes of memory.
    fn and(self, bytes: u64) -> Self {
        Self { memory: Bytes::new(self.memory.count().saturating_add(bytes)), ..self }
    }

    fn of_pipe(plan: &PipePlan) -> Self {
        let largest = plan.sizes.list().last().map_or(0, |size| size.count());
        let message = match plan.buffers.cache {
            Cache::Warm => largest,
            Cache::Cold { pool } => largest.max(pool.count()),
        };
        let pairs = u64::from(plan.pairs);
        let each = message.saturating_mul(MESSAGES).saturating_add(16 * MIB);
        let room = LARGE.and(each.saturating_mul(pairs));
        // MPI's library maps memory and opens files by rules of its own.
        let library = if plan.kind == Kind::Mpi { 1024 * MIB } else { 0 };
        Self { open_files: LARGE.open_files.saturating_add(8 * pairs), ..room.and(library) }
    }
}

fn intervals(hint: &HintPlan) -> u64 {
    hint.most_intervals.saturating_mul(INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::{PipeEnd, PipeMeeting, Rendezvous, UdpReceive};
    use crate::pipe::{End, Place, Sizes};

    fn pipe(size: u64, pairs: u32) -> Room {
        let sizes = Sizes::one(Bytes::new(size));
        let plan = PipePlan { pairs, sizes, ..PipePlan::new(1, Kind::Tcp, Place::Here) };
        let meeting = PipeMeeting::Network(Rendezvous::Listen([127, 0, 0, 1].into()));
        Activity::Pipe(Box::new(PipeEnd {
            end: End::Near,
            meeting,
            token: [0; 16],
            plan,
            turns: false,
        }))
        .room()
    }

    #[test]
    fn what_is_stated_follows_the_order_and_never_wraps() {
        assert!(pipe(1 << 20, 1).memory >= Bytes::new(LARGE.memory.count() + 6 * MIB));
        assert!(
            pipe(1 << 20, 64).memory > pipe(1 << 20, 1).memory
                && pipe(1, 64).open_files > pipe(1, 1).open_files
        );
        assert_eq!(pipe(u64::MAX, u32::MAX).memory, Bytes::new(u64::MAX));
        let receive = |expected_datagrams| {
            let meeting = Rendezvous::Listen([127, 0, 0, 1].into());
            Activity::UdpReceive(UdpReceive {
                meeting,
                token: [0; 16],
                message: Bytes::new(100),
                expected_datagrams,
                offered: None,
                tells: false,
            })
            .room()
        };
        assert_eq!(receive(8 * MIB).memory, Bytes::new(129 * MIB));
        assert!(receive(u64::MAX).memory > Bytes::new(1 << 60));
    }
}
