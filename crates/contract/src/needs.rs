//! The needs of each activity on its host and other hosts: the one description to which a host's
//! policy is applied. An activity without its needs does not compile.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use btu_units::{BitRate, Bytes, Span};

use crate::activity::{
    Activity, Broadcast, Disk, DrawEnd, FileClient, FileCopy, FileServer, FilesPlace, FilesServe,
    FilesStation, FilesTask, FtpFetch, HintEnd, PipeEnd, PipeMeeting, Rendezvous, Request,
    TcpReceive, TcpSend, UdpReceive, UdpSend, Work,
};
use crate::copy::{FilePlace, MOST_OFFERED, Program};

/// The most that a fetch takes of its scratch directory.
pub const FETCH_ROOM: Bytes = Bytes::new(128 << 20);

/// Files on disk take whole blocks of this size: that of `O_DIRECT` on every usual device.
const BLOCK: u64 = 4096;

/// The needs of an activity. There is no default: every activity states each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs<'a> {
    /// The peer to which it connects.
    pub peer: Option<SocketAddr>,
    /// Its sending rate.
    pub rate: Rate,
    /// The volume that it moves.
    pub volume: VolumeLimit,
    /// Most that its own files hold at a time.
    pub scratch: Bytes,
    /// Its access to the file system.
    pub files: Files<'a>,
    /// The program of the host's system that copies a file instead of btu's own.
    pub program: Option<Program>,
}

/// The sending rate of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// It sends no data.
    Silent,
    /// The activity sends at this rate.
    Paced(BitRate),
    /// As fast as the network allows, or as requests arrive.
    Unpaced,
}

/// The largest volume that an activity moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeLimit {
    /// The activity moves this volume.
    Fixed(Bytes),
    /// As much as possible until its deadline.
    Unbounded,
    /// Nothing, or its peer's volume, which has its own limit.
    PeersOwn,
}

/// An activity's access to the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files<'a> {
    /// It has none.
    None,
    /// A directory for files of its own, and a file that it reads instead of making one.
    Scratch {
        /// The file in question.
        source: Option<&'a Path>,
    },
    /// A directory of this host on which a share is mounted, for a directory of its own in it.
    Share(&'a Path),
    /// A path of this machine that has a meaning only for its own users; with the reason.
    OfThisMachine(&'static str),
}

impl Activity {
    /// The needs of this activity on its host and on other hosts.
    pub fn needs(&self) -> Needs<'_> {
        match self {
            Self::Null | Self::Cpu(_) | Self::DrawInside(_) => idle(),
            Self::TcpSend(part) => part.needs(),
            Self::TcpReceive(part) => part.needs(),
            Self::Request(part) => part.needs(),
            // As requests arrive.
            Self::Respond(_) | Self::FtpServe(_) => {
                traffic(None, Rate::Unpaced, VolumeLimit::Unbounded)
            }
            Self::UdpSend(part) => part.needs(),
            Self::UdpReceive(part) => part.needs(),
            Self::Disk(part) => part.needs(),
            Self::FtpFetch(part) => part.needs(),
            Self::FilesServe(part) => part.needs(),
            Self::FilesTask(part) => part.needs(),
            Self::FilesStation(part) => part.needs(),
            Self::Pipe(part) => part.needs(),
            Self::Hint(part) => part.needs(),
            Self::Draw(part) => part.needs(),
            Self::DrawOverSsh(part) => {
                Needs { files: Files::OfThisMachine(THE_SYSTEM_S_SSH), ..part.needs() }
            }
            Self::DrawOverX11(part) | Self::DrawByX11perf(part) => {
                Needs { files: Files::OfThisMachine(THE_SYSTEM_S_X_SERVER), ..part.needs() }
            }
            Self::Relay(part) => Needs { peer: Some(part.to), ..of_this_machine(A_WAY_THROUGH) },
            Self::Broadcast(part) => part.needs(),
            Self::FileSend(part) => part.needs(Rate::Unpaced),
            Self::FileFetch(part) => part.needs(Rate::Silent),
            Self::FileReceive(part) => part.needs(Rate::Silent),
            Self::FileOffer(part) => part.needs(Rate::Unpaced),
            Self::FileCopy(part) => part.needs(),
        }
    }

    /// The directory for its own files, if it has any.
    pub fn scratch_directory(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::FilesServe(FilesServe { directory, .. })
            | Self::FilesTask(FilesTask { place: FilesPlace::Own { directory, .. }, .. })
            | Self::FilesStation(FilesStation {
                place: FilesPlace::Own { directory, .. }, ..
            }) => Some(directory),
            Self::Disk(part) => Some(&mut part.directory),
            Self::FtpFetch(part) => Some(&mut part.directory),
            Self::FileSend(FileClient { file, .. })
            | Self::FileFetch(FileClient { file, .. })
            | Self::FileReceive(FileServer { file, .. })
            | Self::FileOffer(FileServer { file, .. })
            | Self::FileCopy(FileCopy { file, .. }) => Some(&mut file.directory),
            Self::Null
            | Self::Cpu(_)
            | Self::TcpSend(_)
            | Self::TcpReceive(_)
            | Self::Request(_)
            | Self::Respond(_)
            | Self::UdpSend(_)
            | Self::UdpReceive(_)
            | Self::FtpServe(_)
            | Self::FilesTask(_)
            | Self::FilesStation(_)
            | Self::Pipe(_)
            | Self::Hint(_)
            | Self::Draw(_)
            | Self::DrawInside(_)
            | Self::DrawOverSsh(_)
            | Self::DrawOverX11(_)
            | Self::DrawByX11perf(_)
            | Self::Relay(_)
            | Self::Broadcast(_) => None,
        }
    }
}

/// Why a relay is for this machine's own testbed only: the octets are its controller's.
const A_WAY_THROUGH: &str =
    "a relay passes on whatever comes, so it would be a way through this host for its controller";

/// Why a terminal is for this machine's own testbed only.
const THE_SYSTEM_S_SSH: &str =
    "ssh and sshd are this machine's own programs, and what they may do is its users' to say";

/// Why an X server is for this machine's own testbed only.
const THE_SYSTEM_S_X_SERVER: &str =
    "an X server is this machine's own program, and who may draw on it is its users' to say";

/// Why broadcasts are for this machine's own testbed only.
const TO_EVERY_HOST: &str =
    "broadcasts reach every host of a segment, whoever it belongs to, and each must process them";

/// Only a processor.
fn idle() -> Needs<'static> {
    Needs {
        peer: None,
        rate: Rate::Silent,
        volume: VolumeLimit::PeersOwn,
        scratch: Bytes::ZERO,
        files: Files::None,
        program: None,
    }
}

/// Data over a network, and no files.
fn traffic(peer: Option<SocketAddr>, rate: Rate, volume: VolumeLimit) -> Needs<'static> {
    Needs { peer, rate, volume, ..idle() }
}

/// Data to and from a path of this machine, as fast as possible.
fn of_this_machine(why: &'static str) -> Needs<'static> {
    Needs {
        files: Files::OfThisMachine(why),
        ..traffic(None, Rate::Unpaced, VolumeLimit::Unbounded)
    }
}

impl TcpSend {
    fn needs(&self) -> Needs<'_> {
        traffic(called(&self.meeting), Rate::Unpaced, self.work.volume())
    }
}

impl TcpReceive {
    fn needs(&self) -> Needs<'_> {
        traffic(called(&self.meeting), Rate::Silent, VolumeLimit::PeersOwn)
    }
}

impl Request {
    fn needs(&self) -> Needs<'_> {
        traffic(Some(self.to), Rate::Unpaced, VolumeLimit::Unbounded)
    }
}

impl UdpSend {
    fn needs(&self) -> Needs<'_> {
        // The controlled rate may rise to a fifth above the offered one.
        let raised = self.hold.map(|hold| hold.full.bits_per_second() as f64 * MOST_OFFERED);
        let most = raised.map_or(self.offered, |most| {
            self.offered.max(BitRate::from_bits_per_second(most as u64))
        });
        traffic(
            called(&self.meeting),
            Rate::Paced(most),
            VolumeLimit::Fixed(offered(most, self.duration)),
        )
    }
}

impl UdpReceive {
    fn needs(&self) -> Needs<'_> {
        let expected = Bytes::new(self.expected_datagrams.saturating_mul(self.message.count()));
        traffic(called(&self.meeting), Rate::Silent, VolumeLimit::Fixed(expected))
    }
}

impl Disk {
    /// The copy, and the file that is read if it makes its own.
    fn needs(&self) -> Needs<'_> {
        let file = on_disk(self.file);
        let scratch =
            if self.source.is_some() { file } else { Bytes::new(file.count().saturating_mul(2)) };
        let files = Files::Scratch { source: self.source.as_deref() };
        Needs { volume: self.work.volume(), scratch, files, ..idle() }
    }
}

impl FtpFetch {
    fn needs(&self) -> Needs<'_> {
        let files = Files::Scratch { source: None };
        let (peer, volume) = (Some(self.server), self.work.volume());
        Needs { peer, volume, scratch: FETCH_ROOM, files, ..idle() }
    }
}

impl FilesServe {
    /// As requests arrive.
    fn needs(&self) -> Needs<'_> {
        let files = Files::Scratch { source: None };
        Needs { scratch: self.room, files, ..traffic(None, Rate::Unpaced, VolumeLimit::Unbounded) }
    }
}

impl FilesTask {
    fn needs(&self) -> Needs<'_> {
        self.place.needs()
    }
}

impl FilesPlace {
    fn needs(&self) -> Needs<'_> {
        match self {
            Self::Server(server) => traffic(Some(*server), Rate::Unpaced, VolumeLimit::Unbounded),
            Self::Own { room, .. } => {
                Needs { scratch: *room, files: Files::Scratch { source: None }, ..idle() }
            }
            // btu does not control the share's server, nor its speed.
            Self::Share { directory, .. } => Needs {
                files: Files::Share(directory),
                ..traffic(None, Rate::Unpaced, VolumeLimit::Unbounded)
            },
        }
    }
}

impl FilesStation {
    fn needs(&self) -> Needs<'_> {
        self.place.needs()
    }
}

impl PipeEnd {
    fn needs(&self) -> Needs<'_> {
        met(&self.meeting)
    }
}

impl HintEnd {
    fn needs(&self) -> Needs<'_> {
        met(&self.meeting)
    }
}

impl DrawEnd {
    fn needs(&self) -> Needs<'_> {
        met(&self.meeting)
    }
}

impl Broadcast {
    fn needs(&self) -> Needs<'_> {
        Needs {
            rate: Rate::Paced(self.broadcasts.payload_rate()),
            ..of_this_machine(TO_EVERY_HOST)
        }
    }
}

impl FileClient {
    fn needs(&self, rate: Rate) -> Needs<'_> {
        Needs { peer: Some(self.to), ..copied(self.program, &self.file, rate) }
    }
}

impl FileServer {
    fn needs(&self, rate: Rate) -> Needs<'_> {
        copied(self.program, &self.file, rate)
    }
}

/// A file at one end; in memory it needs an equal size.
fn copied(program: Program, file: &FilePlace, rate: Rate) -> Needs<'static> {
    let files = match program {
        Program::Rsync | Program::Vsftpd => Files::OfThisMachine(
            "rsync and vsftpd are this machine's own programs, and what they may do is its users' to say",
        ),
        _ => Files::Scratch { source: None },
    };
    let program = program.is_the_systems().then_some(program);
    let (volume, scratch) = (VolumeLimit::Fixed(file.size), on_disk(file.size));
    Needs { rate, volume, scratch, files, program, ..idle() }
}

impl FileCopy {
    /// The needs of a source and its copy.
    fn needs(&self) -> Needs<'_> {
        // btu does not control the share's server.
        let files = self.share.as_deref().map_or(Files::Scratch { source: None }, Files::Share);
        let scratch = Bytes::new(on_disk(self.file.size).count().saturating_mul(2));
        Needs { volume: VolumeLimit::Fixed(self.file.size), scratch, files, ..idle() }
    }
}

impl Work {
    fn volume(&self) -> VolumeLimit {
        match self {
            Self::Bytes(bytes) => VolumeLimit::Fixed(*bytes),
            Self::For(_) => VolumeLimit::Unbounded,
        }
    }
}

fn met(meeting: &PipeMeeting) -> Needs<'static> {
    match meeting {
        PipeMeeting::Network(meeting) => {
            traffic(called(meeting), Rate::Unpaced, VolumeLimit::Unbounded)
        }
        PipeMeeting::ListenAt(_) | PipeMeeting::ConnectAt(_) => {
            of_this_machine("a pipe at a path of this machine is not for a controller elsewhere")
        }
    }
}

fn called(meeting: &Rendezvous) -> Option<SocketAddr> {
    match meeting {
        Rendezvous::Connect(peer) => Some(*peer),
        Rendezvous::Listen(_) => None,
    }
}

/// The space of a file of this size on its file system: whole blocks, at least one.
pub fn on_disk(file: Bytes) -> Bytes {
    Bytes::new(file.count().clamp(1, u64::MAX - BLOCK).next_multiple_of(BLOCK))
}

/// The volume of a paced stream; a product that overflows is beyond any limit.
fn offered(rate: BitRate, duration: Span) -> Bytes {
    let bits =
        u128::from(rate.bits_per_second()) * u128::from(duration.nanoseconds()) / 1_000_000_000;
    Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(file: u64, source: Option<&str>) -> Activity {
        let (directory, source) = ("/scratch".into(), source.map(Into::into));
        Activity::Disk(Disk {
            directory,
            source,
            file: Bytes::new(file),
            work: Work::Bytes(Bytes::new(7)),
        })
    }

    #[test]
    fn a_disk_activity_needs_its_copy_and_a_source_of_its_own() {
        assert_eq!(disk(5000, None).needs().scratch, Bytes::new(2 * 8192));
        assert_eq!(disk(5000, Some("/proc/7/fd/3")).needs().scratch, Bytes::new(8192));
        assert_eq!(disk(u64::MAX, None).needs().scratch, Bytes::new(u64::MAX));
        assert_eq!(
            disk(1, Some("/a")).needs().files,
            Files::Scratch { source: Some(Path::new("/a")) }
        );
        assert_eq!(
            disk(1, None).scratch_directory().map(|path| path.clone()),
            Some(PathBuf::from("/scratch"))
        );
    }

    #[test]
    fn what_is_offered_is_known_to_the_byte_and_never_wraps() {
        assert_eq!(
            offered(BitRate::from_megabits_per_second(1), Span::from_seconds(80)),
            Bytes::new(10_000_000)
        );
        let most =
            offered(BitRate::from_bits_per_second(u64::MAX), Span::from_nanoseconds(u64::MAX));
        assert_eq!(most, Bytes::new(u64::MAX));
    }
}
