//! The traffic from the near station to the far one, and its results.

use std::io::{IoSliceMut, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use btu_stats::Histogram;
use btu_testbed::port::{BATCH, Batch, Buffers, Carriage, Instants, Port, now};
use btu_units::{Span, Time};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

use super::middle::{FAR, FAR_END, FAR_MAC, Middle, NEAR_END, inside};
use crate::outcome::ToolOutcome;

const STREAM_PORT: u16 = 5001;
const PROBE_PORT: u16 = 9000;
/// How many datagrams per second measure the delay: they are less traffic than any load, and enough
/// for a 99.9th percentile.
const PROBES_PER_SECOND: u64 = 2000;
/// Memory for what a sender of frames receives, and does not read.
const RING_BYTES: usize = 64 << 10;
/// A full frame with check sequence.
const FRAME_BITS: u64 = 1518 * 8;

/// Sends full frames, as fast as it can, to an address that no station has, so that it measures
/// only the path.
pub(super) fn flood(middle: &Middle, time: Duration) -> Result<ToolOutcome> {
    let mut source = FrameSource::open([2, 0, 0, 0, 0, 9])?;
    let settle = now() + Span::from_milliseconds(100);
    while now() < settle {
        source.send(BATCH)?;
    }
    let (begin, before, offered_before) = (now(), received(middle)?, source.sent);
    let end = begin + Span::from_nanoseconds(time.as_nanos() as u64);
    while now() < end {
        source.send(BATCH)?;
    }
    let (after, offered) = (received(middle)?, source.sent - offered_before);
    let seconds = now().since(begin).seconds();
    Ok(ToolOutcome::Frames {
        per_second: (after - before) as f64 / seconds,
        offered_per_second: offered as f64 / seconds,
    })
}

/// Frames that the far interface has received: `/proc/net/dev` (proc(5)) of its namespace, the
/// second number.
fn received(middle: &Middle) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/net/dev", middle.far()))?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(FAR_END)?.strip_prefix(':'));
    let number = line
        .and_then(|line| line.split_whitespace().nth(1))
        .context("find the far interface's counters")?;
    number.parse().context("read the far interface's counters")
}

/// One full frame, sent again and again through the near interface.
struct FrameSource {
    port: Port,
    batch: Batch,
    buffers: Buffers,
    frames: [u32; BATCH],
    sent: u64,
}

impl FrameSource {
    fn open(to: [u8; 6]) -> Result<Self> {
        let port = Port::open(NEAR_END, Carriage::Frames, RING_BYTES)?;
        let mut buffers = Buffers::new(2048);
        let mut frame = [to, [2, 0, 0, 0, 0, 1]].concat();
        frame.extend([0x88, 0xb5]);
        frame.resize(1514, 0);
        let buffer = buffers.put(Carriage::Frames, &frame).context("a buffer")?;
        Ok(Self { port, batch: Batch::new(), buffers, frames: [buffer; BATCH], sent: 0 })
    }

    fn send(&mut self, count: usize) -> Result<()> {
        let frames = &self.frames[..count.min(BATCH)];
        self.sent += self.port.send(&mut self.batch, &self.buffers, frames)? as u64;
        Ok(())
    }
}

/// One TCP stream: payload over the time from the first to the last byte at the receiver.
pub(super) fn stream(middle: &Middle, time: Duration) -> Result<ToolOutcome> {
    let listener = inside(middle.far(), || TcpListener::bind((FAR, STREAM_PORT)))??;
    let (bytes, seconds) = thread::scope(|scope| {
        let sender = scope.spawn(|| pour(time));
        let (mut stream, _) = listener.accept()?;
        let (mut part, mut bytes) = (vec![0; 256 << 10], 0);
        anyhow::ensure!(stream.read(&mut part)? > 0, "the stream ended before it began");
        let begin = now();
        let mut end = begin;
        while let count @ 1.. = stream.read(&mut part)? {
            bytes += count;
            end = now();
        }
        sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((bytes as f64, end.since(begin).seconds()))
    })?;
    Ok(ToolOutcome::Carried { megabits_per_second: bytes * 8.0 / seconds / 1e6 })
}

fn pour(time: Duration) -> Result<()> {
    let mut stream = TcpStream::connect((FAR, STREAM_PORT))?;
    let (end, part) = (now() + Span::from_nanoseconds(time.as_nanos() as u64), vec![0; 128 << 10]);
    while now() < end {
        stream.write_all(&part)?;
    }
    Ok(())
}

/// Measures the delay of short datagrams at a steady pace under a load of full frames: from just
/// before the sender sends a datagram until the far station's kernel has it.
pub(super) fn delay(middle: &Middle, megabits: u64, time: Duration) -> Result<ToolOutcome> {
    let done = AtomicBool::new(false);
    let receiver = inside(middle.far(), prepare_receiver)??;
    thread::scope(|scope| {
        let load = scope.spawn(|| carry_load(megabits, &done));
        let arrivals = scope.spawn(|| receive(&receiver));
        let sent = probe(time);
        done.store(true, Ordering::Relaxed);
        load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let arrivals = arrivals.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(summary(&sent?, &arrivals))
    })
}

fn summary(sent: &[Time], arrivals: &[(usize, Time)]) -> ToolOutcome {
    let mut delays = Histogram::new();
    for &(number, at) in arrivals {
        delays.record(sent.get(number).map_or(0, |sent| at.since(*sent).nanoseconds()));
    }
    let quantile = |share| delays.quantile(share).map_or(f64::NAN, |delay| delay as f64 / 1e3);
    let (datagrams, lost) = (delays.count(), sent.len() as u64 - delays.count());
    ToolOutcome::Delay {
        p50_us: quantile(0.5),
        p99_us: quantile(0.99),
        p999_us: quantile(0.999),
        datagrams,
        lost,
    }
}

/// Full frames at a steady pace, a few at a time.
fn carry_load(megabits: u64, done: &AtomicBool) -> Result<()> {
    const STEP: Duration = Duration::from_micros(250);
    let mut source = FrameSource::open(FAR_MAC)?;
    let begin = now();
    while !done.load(Ordering::Relaxed) && megabits > 0 {
        let due = now().since(begin).nanoseconds() * megabits / (FRAME_BITS * 1000);
        source.send(due.saturating_sub(source.sent) as usize)?;
        thread::sleep(STEP);
    }
    Ok(())
}

/// Sends the numbered datagrams; returns when each was sent.
fn probe(time: Duration) -> Result<Vec<Time>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect((FAR, PROBE_PORT))?;
    let (start, count) = (now(), time.as_nanos() as u64 * PROBES_PER_SECOND / 1_000_000_000);
    let mut sent = Vec::with_capacity(count as usize);
    for number in 0..count {
        let due = start + Span::from_nanoseconds(number * 1_000_000_000 / PROBES_PER_SECOND);
        thread::sleep(due.since(now()).into());
        sent.push(now());
        socket.send(&number.to_be_bytes())?;
    }
    Ok(sent)
}

fn prepare_receiver() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((FAR, PROBE_PORT))?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::RcvBuf, &(1 << 20))?;
    // No datagram arrived for this time: no more will arrive.
    socket.set_read_timeout(Some(Duration::from_millis(300)))?;
    Ok(socket)
}

/// Numbers and times of arrival, by the kernel's stamps.
fn receive(socket: &UdpSocket) -> Result<Vec<(usize, Time)>> {
    let mut arrivals = Vec::new();
    loop {
        let mut payload = [0; 8];
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        let mut parts = [IoSliceMut::new(&mut payload)];
        let message = match recvmsg::<()>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::empty(),
        ) {
            Err(nix::Error::EAGAIN) => return Ok(arrivals),
            result => result?,
        };
        let stamp = message.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(time) => Some(time),
            _ => None,
        });
        let stamp = stamp.context("the kernel stamped no datagram")?;
        let stamp = stamp.tv_sec().unsigned_abs() * 1_000_000_000 + stamp.tv_nsec().unsigned_abs();
        let at = Instants::now().at(Time::from_nanoseconds(stamp));
        arrivals.push((u64::from_be_bytes(payload) as usize, at));
    }
}
