//! Where the time of a TCP flow went: at its sender's connection, and for the threads at both ends.
//!
//! The connection's parts are those of Linux's chronographs (net/ipv4/tcp.c, `tcp_chrono_start`; `TCP_INFO`): each moment
//! of the flow belongs to one of them, so they sum to its time at the receiver. The threads' parts come from the scheduler
//! (getrusage(2), `schedstat`) and sum to the time of each thread.
//!
//! What limits the flow follows by exclusion: while an end is not blocked, neither the other end nor the network is what
//! it waits for. An end that is blocked for less than half of its time is the limit; else it is the largest part of the
//! connection.

use btu_suite::record::{PathMoments, Received, Report, Sent, TcpInfo};
use btu_units::Span;
use serde::Serialize;

/// The kernel keeps the connection's times in its ticks, of 4 ms mostly (commit efd901741675): a flow shorter than 25 of
/// them is not divided.
const SHORTEST: Span = Span::from_milliseconds(100);

/// Fewer moments divide nothing: one of 20 is 5 %.
const LEAST_MOMENTS: u32 = 20;

/// Losses are what keeps a window small if TCP sent more than this share of its octets again.
const LEAST_LOSSES: f64 = 1e-3;

/// A thread that is blocked for less of its time than this is what the others wait for.
const LIMIT_BLOCKED: f64 = 0.5;

/// Where the time of one or several flows went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Breakdown {
    /// The time of the flows until their last byte had arrived, in seconds, added up.
    pub seconds: f64,
    /// What the senders' connections did.
    pub connection: ConnectionShares,
    /// What the threads at the senders did.
    pub sender: ThreadShares,
    /// What the threads at the receivers did.
    pub receiver: ThreadShares,
}

/// Shares of the flows' time, which sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConnectionShares {
    /// Nothing was on its way or waited to be sent: the sending program gave nothing. A lower bound on a
    /// long path, where what it gave before is still on its way.
    pub nothing_to_send: f64,
    /// The receiver's window was shut.
    pub receiver_window: f64,
    /// The send buffer was too small for what the path could hold.
    pub send_buffer: f64,
    /// Data was on its way: queues, the line, propagation, congestion control, recovery.
    pub path: f64,
    /// What limited TCP meanwhile; `None` of flows that were looked at too seldom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_parts: Option<PathShares>,
}

/// Shares of the flows' time, which sum to that of the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathShares {
    /// All that the program had given was on its way.
    pub nothing_more_to_send: f64,
    /// A line was full: packets waited in a queue, or were paced by TCP's estimate of the line.
    pub full_line: f64,
    /// The congestion window was small after losses.
    pub losses: f64,
    /// The congestion window still grew.
    pub growing: f64,
}

/// Shares of threads' time, which sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ThreadShares {
    /// On a processor, in user mode or in the kernel.
    pub on_processor: f64,
    /// Ready, while others had the processors; `None` where the kernel does not tell, and then part of
    /// `blocked`.
    pub waiting: Option<f64>,
    /// Ready, while its control group had used its time on the processors; `None` without such a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// Blocked in a call.
    pub blocked: f64,
}

/// What limits a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// The processor of the sending thread.
    SenderProcessor,
    /// Processors of the sending host that others had.
    SenderWaiting,
    /// The limit of the sender's control group.
    SenderQuota,
    /// The processor of the receiving thread.
    ReceiverProcessor,
    /// Processors of the receiving host that others had.
    ReceiverWaiting,
    /// The limit of the receiver's control group.
    ReceiverQuota,
    /// The disk of the file that is sent, or the calls that read it.
    SourceFile,
    /// The disk of the file that arrives, or the calls that write it and make it durable.
    DestinationFile,
    /// The sending program.
    NothingToSend,
    /// The receiver's window.
    ReceiverWindow,
    /// The send buffer.
    SendBuffer,
    /// The path.
    Path,
    /// A line of the path that is full.
    FullLine,
    /// Losses on the path.
    Losses,
    /// TCP's start.
    Growing,
}

impl LimitedBy {
    /// In words, after "limited by".
    pub const fn words(self) -> &'static str {
        match self {
            Self::SenderProcessor => "the sender's processor",
            Self::SenderWaiting => "other work on the sender's processors",
            Self::SenderQuota => "the CPU quota of the sender's container",
            Self::ReceiverProcessor => "the receiver's processor",
            Self::ReceiverWaiting => "other work on the receiver's processors",
            Self::ReceiverQuota => "the CPU quota of the receiver's container",
            Self::SourceFile => "reading the source",
            Self::DestinationFile => "writing the copy",
            Self::NothingToSend => "the sending program",
            Self::ReceiverWindow => "the receiver's window",
            Self::SendBuffer => "the send buffer",
            Self::Path => "the path",
            Self::FullLine => "a full line on the path",
            Self::Losses => "losses on the path",
            Self::Growing => "TCP, which has not found the path's rate yet",
        }
    }
}

impl Breakdown {
    /// Of one flow, by the accounts of both ends. `None` if it was too short, or the kernel does not keep
    /// the connection's times.
    pub fn of(
        (from, sent): (&Report, &Sent),
        (to, received): (&Report, &Received),
    ) -> Option<Self> {
        let connection = ConnectionShares::of(&sent.tcp, received.last_byte)?;
        let [of_sender, of_receiver] = [from, to].map(ThreadShares::of);
        let (seconds, sender) = (received.last_byte.seconds(), of_sender?);
        let connection = connection.with_path_parts(sent, 1.0 - sender.blocked);
        Some(Self { seconds, connection, sender, receiver: of_receiver? })
    }

    /// Of several flows together: the mean of their shares, each by its time.
    pub fn mean(all: &[Self]) -> Option<Self> {
        let seconds: f64 = all.iter().map(|one| one.seconds).sum();
        let mean = |part: &dyn Fn(&Self) -> f64| {
            all.iter().map(|one| part(one) * one.seconds).sum::<f64>() / seconds
        };
        let known = |part: &dyn Fn(&Self) -> Option<f64>| {
            let is_known = all.iter().all(|one| part(one).is_some());
            is_known.then(|| mean(&|one| part(one).unwrap_or_default()))
        };
        let threads = |end: fn(&Self) -> &ThreadShares| ThreadShares {
            on_processor: mean(&|one| end(one).on_processor),
            waiting: known(&|one| end(one).waiting),
            throttled: known(&|one| end(one).throttled),
            blocked: mean(&|one| end(one).blocked),
        };
        (seconds > 0.0).then(|| Self {
            seconds,
            connection: ConnectionShares {
                nothing_to_send: mean(&|one| one.connection.nothing_to_send),
                receiver_window: mean(&|one| one.connection.receiver_window),
                send_buffer: mean(&|one| one.connection.send_buffer),
                path: mean(&|one| one.connection.path),
                path_parts: PathShares::mean(|part| {
                    known(&|one| one.connection.path_parts.as_ref().map(part))
                }),
            },
            sender: threads(|one| &one.sender),
            receiver: threads(|one| &one.receiver),
        })
    }

    /// What limits the flow, and the share of the time for which it did.
    pub fn limit(&self) -> (LimitedBy, f64) {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let is_sender = sender.blocked <= receiver.blocked;
        let busiest = if is_sender { sender } else { receiver };
        if busiest.blocked < LIMIT_BLOCKED {
            use LimitedBy::{
                ReceiverProcessor, ReceiverQuota, ReceiverWaiting, SenderProcessor, SenderQuota,
                SenderWaiting,
            };
            let [processor, waiting, quota] = if is_sender {
                [SenderProcessor, SenderWaiting, SenderQuota]
            } else {
                [ReceiverProcessor, ReceiverWaiting, ReceiverQuota]
            };
            return largest([
                (processor, busiest.on_processor),
                (waiting, busiest.waiting.unwrap_or_default()),
                (quota, busiest.throttled.unwrap_or_default()),
            ]);
        }
        largest(self.connection.parts())
    }
}

/// The first of the largest parts.
pub(crate) fn largest<const N: usize>(parts: [(LimitedBy, f64); N]) -> (LimitedBy, f64) {
    parts
        .into_iter()
        .reduce(|most, one| if one.1 > most.1 { one } else { most })
        .unwrap_or(parts[0])
}

impl ConnectionShares {
    /// Of a flow whose data came within `whole`, by the account of its sender.
    pub(crate) fn of(sender: &TcpInfo, whole: Span) -> Option<Self> {
        if whole < SHORTEST || sender.busy_us == 0 {
            return None;
        }
        let share =
            |microseconds: u64| (microseconds as f64 / 1e6 / whole.seconds()).clamp(0.0, 1.0);
        // Busy until the last acknowledgement, which comes after the last byte.
        let busy = share(sender.busy_us);
        let receiver_window = share(sender.receiver_limited_us).min(busy);
        let send_buffer = share(sender.send_buffer_limited_us).min(busy - receiver_window);
        Some(Self {
            nothing_to_send: 1.0 - busy,
            receiver_window,
            send_buffer,
            path: busy - receiver_window - send_buffer,
            path_parts: None,
        })
    }

    /// Divides the path by the moments at which the sender's connection was looked at. The sender blocks in `send` only: so what
    /// it gives nothing for longer than for `not_blocked` of the time is a full send buffer, which Linux tells of in a few
    /// cases only (`tcp_cwnd_validate`).
    fn with_path_parts(self, sent: &Sent, not_blocked: f64) -> Self {
        let Some(moments) = sent.moments.filter(|moments| moments.count >= LEAST_MOMENTS) else {
            return self;
        };
        let mut parts = PathShares::of(&moments, &self, &sent.tcp);
        let full_buffer = (parts.nothing_more_to_send - not_blocked).max(0.0);
        parts.nothing_more_to_send -= full_buffer;
        Self {
            send_buffer: self.send_buffer + full_buffer,
            path: self.path - full_buffer,
            path_parts: Some(parts),
            ..self
        }
    }

    /// Each of them as what limits the flow.
    pub(crate) fn parts(self) -> [(LimitedBy, f64); 7] {
        let of_path = |part: fn(&PathShares) -> f64| self.path_parts.as_ref().map_or(0.0, part);
        let nothing_more = of_path(|parts| parts.nothing_more_to_send);
        [
            (LimitedBy::Path, if self.path_parts.is_some() { 0.0 } else { self.path }),
            (LimitedBy::NothingToSend, self.nothing_to_send + nothing_more),
            (LimitedBy::ReceiverWindow, self.receiver_window),
            (LimitedBy::SendBuffer, self.send_buffer),
            (LimitedBy::FullLine, of_path(|parts| parts.full_line)),
            (LimitedBy::Losses, of_path(|parts| parts.losses)),
            (LimitedBy::Growing, of_path(|parts| parts.growing)),
        ]
    }
}

impl PathShares {
    /// Of a flow by moments at which it was looked at. While the send buffer is full, too, all of it may be on its way: those
    /// moments are not the path's.
    fn of(moments: &PathMoments, whole: &ConnectionShares, tcp: &TcpInfo) -> Self {
        let looked_at = whole.path + whole.send_buffer;
        let share = |count: u32| f64::from(count) / f64::from(moments.count) * looked_at;
        let unfilled = (share(moments.unfilled) - whole.send_buffer).max(0.0);
        let full = share(moments.full);
        let window = share(moments.count.saturating_sub(moments.unfilled + moments.full));
        let each = whole.path / (unfilled + full + window).max(f64::MIN_POSITIVE);
        let is_lossy = tcp.bytes_retransmitted as f64 > LEAST_LOSSES * tcp.bytes_sent as f64;
        let (after_losses, growing) = if is_lossy { (window, 0.0) } else { (0.0, window) };
        Self {
            nothing_more_to_send: unfilled * each,
            full_line: full * each,
            losses: after_losses * each,
            growing: growing * each,
        }
    }

    /// Of several flows, by the mean of each share; `None` if one of them is not known.
    fn mean(mean: impl Fn(fn(&Self) -> f64) -> Option<f64>) -> Option<Self> {
        Some(Self {
            nothing_more_to_send: mean(|one| one.nothing_more_to_send)?,
            full_line: mean(|one| one.full_line)?,
            losses: mean(|one| one.losses)?,
            growing: mean(|one| one.growing)?,
        })
    }
}

impl ThreadShares {
    /// Of the thread that made this report; `None` for one that took no time.
    fn of(report: &Report) -> Option<Self> {
        let whole = report.duration().seconds();
        if whole <= 0.0 {
            return None;
        }
        let on_processor = (report.cpu.used().seconds() / whole).min(1.0);
        let ready =
            report.cpu.waited.map(|waited| (waited.seconds() / whole).min(1.0 - on_processor));
        // A throttled thread is ready and waits; the group's time may be that of others in it.
        let throttled = report
            .cpu
            .throttled
            .zip(ready)
            .map(|(throttled, ready)| (throttled.seconds() / whole).min(ready));
        Some(Self {
            on_processor,
            waiting: ready.map(|ready| ready - throttled.unwrap_or_default()),
            throttled,
            blocked: 1.0 - on_processor - ready.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use btu_suite::record::{CpuTime, Outcome, TcpInfo};
    use btu_units::{Bytes, Time};

    use super::*;

    /// A flow of a second: milliseconds of the connection, and of each thread on a processor and waiting.
    fn flow(
        [busy, window, buffer]: [u64; 3],
        sender: [u64; 2],
        receiver: [u64; 2],
    ) -> Option<Breakdown> {
        looked_at([busy, window, buffer], sender, receiver, None, 0)
    }

    /// Like `flow`, looked at in moments, with octets of a million that were sent again.
    fn looked_at(
        [busy, window, buffer]: [u64; 3],
        sender: [u64; 2],
        receiver: [u64; 2],
        moments: Option<PathMoments>,
        bytes_retransmitted: u64,
    ) -> Option<Breakdown> {
        let report = |[used, waited]: [u64; 2]| Report {
            started: Time::ZERO,
            finished: Time::ZERO + Span::from_seconds(1),
            cpu: CpuTime {
                waited: Some(Span::from_milliseconds(waited)),
                ..CpuTime::of(Span::ZERO, Span::from_milliseconds(used))
            },
            outcome: Outcome::Null,
        };
        let tcp = TcpInfo {
            busy_us: busy * 1000,
            receiver_limited_us: window * 1000,
            send_buffer_limited_us: buffer * 1000,
            bytes_sent: 1_000_000,
            bytes_retransmitted,
            ..TcpInfo::default()
        };
        let sent = Sent { bytes: Bytes::new(1), messages: 1, tcp, moments };
        let arrived = Received {
            bytes: Bytes::new(1),
            messages: 1,
            first_byte: Span::ZERO,
            last_byte: Span::from_seconds(1),
            samples_checked: 0,
            samples_wrong: 0,
            progress: Vec::new(),
            tcp: TcpInfo::default(),
        };
        Breakdown::of((&report(sender), &sent), (&report(receiver), &arrived))
    }

    fn limit(connection: [u64; 3], sender: [u64; 2], receiver: [u64; 2]) -> (LimitedBy, f64) {
        let (what, share) = flow(connection, sender, receiver).unwrap().limit();
        (what, (share * 100.0).round() / 100.0)
    }

    #[test]
    fn parts_sum_to_the_whole() {
        let Breakdown { connection, sender, receiver, .. } =
            flow([900, 500, 100], [300, 100], [200, 0]).unwrap();
        let ConnectionShares { nothing_to_send, receiver_window, send_buffer, path, .. } =
            connection;
        assert!((nothing_to_send + receiver_window + send_buffer + path - 1.0).abs() < 1e-12);
        assert!((path - 0.3).abs() < 1e-12 && (nothing_to_send - 0.1).abs() < 1e-12);
        for thread in [sender, receiver] {
            assert!(
                (thread.on_processor + thread.waiting.unwrap() + thread.blocked - 1.0).abs()
                    < 1e-12
            );
        }
    }

    #[test]
    fn an_end_that_is_seldom_blocked_is_the_limit_and_else_the_largest_part() {
        assert_eq!(limit([1000, 0, 0], [960, 10], [700, 0]), (LimitedBy::SenderProcessor, 0.96));
        assert_eq!(limit([1000, 0, 0], [450, 530], [100, 0]), (LimitedBy::SenderWaiting, 0.53));
        // Both ends share their processors with others: the path has a sixth of the time at most.
        assert_eq!(limit([840, 0, 0], [400, 430], [410, 400]), (LimitedBy::SenderWaiting, 0.43));
        assert_eq!(limit([1000, 900, 0], [100, 0], [950, 0]), (LimitedBy::ReceiverProcessor, 0.95));
        assert_eq!(limit([1000, 0, 0], [10, 0], [10, 0]), (LimitedBy::Path, 1.0));
        assert_eq!(limit([1000, 700, 0], [10, 0], [10, 0]), (LimitedBy::ReceiverWindow, 0.7));
        assert_eq!(limit([1000, 0, 800], [10, 0], [10, 0]), (LimitedBy::SendBuffer, 0.8));
        assert_eq!(limit([300, 0, 0], [10, 0], [10, 0]), (LimitedBy::NothingToSend, 0.7));
    }

    /// Of 80 moments: a sender blocked for all the time, on a path for `busy` less the other two.
    fn path(connection: [u64; 3], unfilled: u32, full: u32, again: u64) -> Breakdown {
        let moments = PathMoments { count: 80, unfilled, full };
        looked_at(connection, [10, 0], [10, 0], Some(moments), again).unwrap()
    }

    #[test]
    fn the_path_is_divided_by_what_was_seen_at_moments() {
        let full = path([1000, 0, 0], 0, 80, 20_000);
        assert_eq!(full.limit(), (LimitedBy::FullLine, 1.0), "losses of a queue that overflows");
        assert_eq!(path([1000, 0, 0], 0, 20, 20_000).limit(), (LimitedBy::Losses, 0.75));
        assert_eq!(path([1000, 0, 0], 0, 20, 100).limit(), (LimitedBy::Growing, 0.75));
        // All that was given is on its way, and the sender, who blocks in `send` only, gives no more.
        let unfilled = path([800, 0, 0], 70, 0, 0);
        let (limited_by, share) = unfilled.limit();
        assert!(limited_by == LimitedBy::SendBuffer && (share - 0.69).abs() < 1e-12);
        let nothing_more = unfilled.connection.path_parts.unwrap().nothing_more_to_send;
        assert!((nothing_more - 0.01).abs() < 1e-12, "while it is not blocked");
        // What is in a small send buffer is on its way, all of it, and no pause.
        let small = path([1000, 0, 800], 80, 0, 0);
        let (limited_by, share) = small.limit();
        assert!(limited_by == LimitedBy::SendBuffer && (share - 0.99).abs() < 1e-12);
        for one in [full, small, path([900, 300, 100], 30, 20, 20_000)] {
            let parts = one.connection.parts().map(|(_, share)| share);
            assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{one:?}");
        }
        let few = PathMoments { count: 19, unfilled: 0, full: 19 };
        let flow = looked_at([1000, 0, 0], [10, 0], [10, 0], Some(few), 0).unwrap();
        assert_eq!(flow.limit(), (LimitedBy::Path, 1.0), "too few moments");
        let mean = Breakdown::mean(&[full, full]).unwrap().connection.path_parts.unwrap();
        assert!((mean.full_line - 1.0).abs() < 1e-12);
        assert_eq!(Breakdown::mean(&[full, flow]).unwrap().connection.path_parts, None);
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_not_divided() {
        assert_eq!(flow([0, 0, 0], [10, 0], [10, 0]), None);
        let two = [
            flow([1000, 0, 0], [100, 0], [100, 0]).unwrap(),
            flow([500, 0, 0], [300, 0], [100, 0]).unwrap(),
        ];
        let mean = Breakdown::mean(&two).unwrap();
        assert!(
            (mean.connection.path - 0.75).abs() < 1e-12
                && (mean.sender.on_processor - 0.2).abs() < 1e-12
        );
        assert_eq!(Breakdown::mean(&[]), None);
    }
}
