//! The streams of a test: their sockets, their threads, and the counters at the moments that matter.

use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use btu_contract::record::TcpInfo;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use socket2::SockRef;

use crate::counters::{Count, Counters};
use crate::error::{Ending, code};
use crate::pace::{Pace, TICK};
use crate::protocol::{Cookie, Parameters, Protocol, TestSide, stream_id};
use crate::results::PeerResults;
use crate::{tcp, udp};

/// A receiver of UDP asks for so much buffer, in bytes, if the test does not say: at 10 Gb/s it
/// lasts for 1.6 ms. The kernel may give less (`net.core.rmem_max`).
const UDP_BUFFER: usize = 2 << 20;

/// The connection of a stream.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Socket {
    fn options(&self) -> SockRef<'_> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream),
            Self::Udp(socket) => SockRef::from(socket),
        }
    }

    /// Segments of TCP that the kernel sent again.
    fn resent(&self) -> u64 {
        self.info().map_or(0, |info| info.total_retransmits.into())
    }

    fn info(&self) -> Option<TcpInfo> {
        match self {
            Self::Tcp(stream) => btu_traffic::tcp_info(stream).ok(),
            Self::Udp(_) => None,
        }
    }
}

/// One stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: u64,
    /// Whether this end sends.
    pub(crate) sends: bool,
    socket: Arc<Socket>,
    counters: Arc<Counters>,
    omitted: Count,
    omitted_resent: u64,
    /// The counters and the segments sent again at the end of the test.
    last: Option<(Count, u64)>,
}

/// What a stream moved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    /// After the omitted seconds.
    pub(crate) count: Count,
    /// In the omitted seconds.
    pub(crate) omitted: Count,
    /// Segments sent again after the omitted seconds.
    pub(crate) resent: u64,
}

impl Stream {
    /// What it has moved so far.
    pub(crate) fn moved(&self) -> Moved {
        let (count, resent) = self.last.unwrap_or_else(|| self.now());
        Moved {
            count: count.since(self.omitted),
            omitted: self.omitted,
            resent: resent.saturating_sub(self.omitted_resent),
        }
    }

    /// Bytes that the peer's kernel has, of those that this end has sent by TCP; else those of the
    /// counters.
    pub(crate) fn arrived_bytes(&self) -> u64 {
        let bytes = self.counters.read().bytes;
        match self.socket.info().filter(|_| self.sends) {
            // The SYN and the cookie are no payload.
            Some(info) => bytes.min(info.bytes_acked.saturating_sub(Cookie::LENGTH as u64 + 1)),
            None => bytes,
        }
    }

    /// Segments that this end has sent again so far.
    pub(crate) fn resent_segments(&self) -> u64 {
        self.socket.resent()
    }

    fn now(&self) -> (Count, u64) {
        (self.counters.read(), self.socket.resent())
    }

    /// What moves from now on does not count.
    fn close(&mut self) {
        self.last = self.last.or_else(|| Some(self.now()));
    }

    fn omit(&mut self) {
        (self.omitted, self.omitted_resent) = self.now();
    }
}

/// All streams of a test. Their threads end when this is dropped.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) all: Vec<Stream>,
    /// Whether each sends.
    threads: Vec<(bool, JoinHandle<CpuTime>)>,
    /// That of threads that have ended.
    cpu: CpuTime,
    stop_sending: Arc<AtomicBool>,
    stop_receiving: Arc<AtomicBool>,
}

/// Processor time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl CpuTime {
    /// That of the calling thread.
    pub(crate) fn of_thread() -> Self {
        let part = |of: fn(&Usage) -> nix::sys::time::TimeVal, usage: &Usage| {
            Duration::from_micros(u64::try_from(of(usage).num_microseconds()).unwrap_or(0))
        };
        getrusage(UsageWho::RUSAGE_THREAD).map_or_else(
            |_| Self::default(),
            |usage| Self {
                user: part(Usage::user_time, &usage),
                system: part(Usage::system_time, &usage),
            },
        )
    }
}

impl Streams {
    /// Sets the options of the sockets, which come in the order in which the client made them.
    pub(crate) fn prepare(
        sockets: Vec<Socket>,
        parameters: &Parameters,
        end: TestSide,
    ) -> Result<Self, Ending> {
        let mut all = Vec::with_capacity(sockets.len());
        for (place, socket) in sockets.into_iter().enumerate() {
            configure(&socket, parameters)?;
            all.push(Stream {
                id: stream_id(place),
                sends: parameters.sends(end, place),
                socket: Arc::new(socket),
                counters: Arc::default(),
                omitted: Count::default(),
                omitted_resent: 0,
                last: None,
            });
        }
        Ok(Self {
            all,
            threads: Vec::new(),
            cpu: CpuTime::default(),
            stop_sending: Arc::default(),
            stop_receiving: Arc::default(),
        })
    }

    /// The congestion control of the first stream.
    pub(crate) fn congestion(&self) -> Option<String> {
        let name = self.all.first()?.socket.options().tcp_congestion().ok()?;
        let name = String::from_utf8(name).ok()?;
        Some(name.trim_end_matches('\0').to_owned()).filter(|name| !name.is_empty())
    }

    /// Starts a thread for each stream.
    pub(crate) fn start(
        &mut self,
        parameters: &Arc<Parameters>,
        start: Instant,
    ) -> Result<(), Ending> {
        for stream in &self.all {
            let (socket, counters) = (Arc::clone(&stream.socket), Arc::clone(&stream.counters));
            let (sends, parameters) = (stream.sends, Arc::clone(parameters));
            let stop = Arc::clone(if sends { &self.stop_sending } else { &self.stop_receiving });
            let work = move || {
                perform(&socket, sends, &parameters, &counters, start, &stop);
                CpuTime::of_thread()
            };
            let builder = thread::Builder::new().name(format!("iperf3-{}", stream.id));
            let thread = builder.stack_size(STACK).spawn(work);
            let thread = thread.map_err(Ending::system("start a stream's thread"))?;
            self.threads.push((stream.sends, thread));
        }
        Ok(())
    }

    /// What has moved so far does not count.
    pub(crate) fn omit(&mut self) {
        self.all.iter_mut().for_each(Stream::omit);
    }

    /// This end soon sends no more.
    pub(crate) fn end_sending(&self) {
        self.stop_sending.store(true, Ordering::Relaxed);
    }

    /// Counts what this end has sent, its last call included.
    pub(crate) fn count_sent(&mut self) {
        self.end_sending();
        self.join(|sends| sends);
        self.all.iter_mut().filter(|stream| stream.sends).for_each(Stream::close);
    }

    /// Tells the peer on the streams themselves that no more is sent.
    pub(crate) fn close_sending(&self) {
        for stream in self.all.iter().filter(|stream| stream.sends) {
            if let Socket::Tcp(stream) = &*stream.socket {
                let _ = stream.shutdown(Shutdown::Write);
            }
        }
    }

    /// What arrives from now on does not count; it is still read, so that no sender is stuck.
    pub(crate) fn end_counting(&mut self) {
        self.all.iter_mut().filter(|stream| !stream.sends).for_each(Stream::close);
    }

    /// What arrives from now on is not read.
    pub(crate) fn end_receiving(&mut self) {
        self.end_counting();
        self.stop_receiving.store(true, Ordering::Relaxed);
    }

    /// Takes over how many datagrams the peer has sent: those that were lost at the very end have no
    /// higher number behind them.
    pub(crate) fn learn_sent(&mut self, said: &PeerResults) {
        for stream in self.all.iter_mut().filter(|stream| !stream.sends) {
            let sent = said.of(stream.id).packets;
            if let Some((count, _)) = &mut stream.last {
                count.highest = count.highest.max(sent);
            }
        }
    }

    /// Ends the threads; returns their processor time.
    pub(crate) fn stop(&mut self) -> CpuTime {
        self.stop_sending.store(true, Ordering::Relaxed);
        self.stop_receiving.store(true, Ordering::Relaxed);
        self.join(|_| true);
        self.cpu
    }

    /// Waits for the end of these threads, which have been told.
    fn join(&mut self, which: fn(bool) -> bool) {
        for (_, thread) in self.threads.extract_if(.., |(sends, _)| which(*sends)) {
            let cpu = thread.join().unwrap_or_default();
            self.cpu.user += cpu.user;
            self.cpu.system += cpu.system;
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The loops need little; a thousand streams share the address space.
const STACK: usize = 256 << 10;

/// The longest write: a client must not choose how much memory a thousand streams take. The receiver
/// cannot tell.
const MOST_PAYLOAD: usize = 128 << 10;

fn configure(socket: &Socket, parameters: &Parameters) -> Result<(), Ending> {
    let options = socket.options();
    let prepare = || {
        options.set_nonblocking(false)?;
        options.set_read_timeout(Some(TICK))?;
        options.set_write_timeout(Some(TICK))
    };
    prepare().map_err(Ending::system("prepare a stream"))?;
    let buffer =
        parameters.window_bytes.or((parameters.protocol == Protocol::Udp).then_some(UDP_BUFFER));
    if let Some(bytes) = buffer {
        // The kernel gives what its limits allow.
        let _ = options.set_recv_buffer_size(bytes);
        let _ = options.set_send_buffer_size(bytes);
    }
    if let Some(octet) = parameters.type_of_service {
        // A socket of IPv6 may carry IPv4: each has its own field.
        let _ = options.set_tos_v4(octet.into());
        let _ = options.set_tclass_v6(octet.into());
    }
    if parameters.protocol == Protocol::Tcp {
        configure_tcp(&options, parameters)?;
    }
    Ok(())
}

fn configure_tcp(options: &SockRef<'_>, parameters: &Parameters) -> Result<(), Ending> {
    if parameters.no_delay {
        options.set_tcp_nodelay(true).map_err(Ending::system("set TCP_NODELAY"))?;
    }
    if let Some(bytes) = parameters.segment_bytes {
        options.set_tcp_mss(bytes).map_err(|error| {
            Ending::refused(code::SEGMENT_SIZE, format!("segments of {bytes} bytes: {error}"))
        })?;
    }
    if let Some(name) = &parameters.congestion {
        options.set_tcp_congestion(name.as_bytes()).map_err(|error| {
            Ending::refused(code::SET_CONGESTION, format!("congestion control `{name}`: {error}"))
        })?;
    }
    Ok(())
}

fn perform(
    socket: &Socket,
    sends: bool,
    parameters: &Parameters,
    counters: &Counters,
    start: Instant,
    stop: &AtomicBool,
) {
    let length = parameters.length;
    let pace = || Pace::new(start, parameters.rate, parameters.burst);
    let long = parameters.has_long_counters;
    match socket {
        Socket::Tcp(stream) if sends => {
            tcp::send(stream, &payload(parameters), pace(), counters, start, stop);
        }
        Socket::Tcp(stream) => tcp::receive(stream, length, counters, start, stop),
        Socket::Udp(socket) if sends => {
            udp::send(socket, payload(parameters), long, pace(), counters, start, stop);
        }
        Socket::Udp(socket) => udp::receive(socket, long, counters, start, stop),
    }
}

/// One write: without a pattern unless the client asked for one, so that nothing on the way can
/// compress it.
fn payload(parameters: &Parameters) -> Vec<u8> {
    let length = parameters.length.min(MOST_PAYLOAD);
    if parameters.repeats_payload {
        return (0..length).map(|place| b'0' + (place % 10) as u8).collect();
    }
    // Xorshift (Marsaglia, Journal of Statistical Software 8(14), 2003).
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_ne_bytes()
    };
    let mut payload: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next()).collect();
    payload.truncate(length);
    payload
}
