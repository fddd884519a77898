//! Where the time of a TCP flow went: at its sender's connection, and for the threads at both ends.
//!
//! The connection's parts are those of Linux's chronographs (net/ipv4/tcp.c, `tcp_chrono_start`; `TCP_INFO`): each moment
//! of the flow belongs to one of them, so they sum to its time at the receiver. The threads' parts come from the scheduler
//! (getrusage(2), `schedstat`) and sum to the time of each thread.
//!
//! What limits the flow follows by exclusion: while an end is not blocked, neither the other end nor the network is what
//! it waits for. An end that is blocked for less than half of its time is the limit; else it is the largest part of the
//! connection.

mod moments;

use btu_contract::record::{Received, Report, Sent, TcpInfo};
use btu_units::Span;
use serde::Serialize;

use self::moments::Counted;

/// The kernel keeps the connection's times in its ticks, of 4 ms mostly (commit efd901741675): a flow shorter than 25 of
/// them is not divided.
const SHORTEST: Span = Span::from_milliseconds(100);

/// A cause with half of the time is the limit, and one with twice the next one's.
const HALF: f64 = 0.5;
const TWICE: f64 = 2.0;

/// A connection that waits for so much of its time for an end waits for it.
const WAITED_FOR: f64 = 0.25;

/// An end that could run and did not for this share of its time makes requests wait.
const KEPT: f64 = 0.25;

/// A line is not full with less than this share of what it is known to carry.
pub const LEAST_OF_LINE: f64 = 0.5;

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
    /// A line was full: more on its way only waited, or the rate was steady.
    pub full_line: f64,
    /// The congestion window was small after losses.
    pub losses: f64,
    /// The congestion window still grew.
    pub growing: f64,
    /// One of the last three.
    pub not_told_apart: f64,
}

/// The accounts of both ends of a flow: of its sender, and of its receiver.
pub type FlowEnds<'a> = ((&'a Report, &'a Sent), (&'a Report, &'a Received));

/// What limits a flow: one cause, or one of two that are not told apart, and the share of the time that is theirs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The cause with the largest share.
    pub by: LimitedBy,
    /// The next one, if it may as well be it.
    pub or: Option<LimitedBy>,
    /// The share of the time, of both.
    pub share: f64,
}

impl Limit {
    /// In words, after "limited by".
    pub fn words(&self) -> String {
        match self.or {
            Some(or) => format!("{} or {}, not told apart", self.by.words(), or.words()),
            None if self.by == LimitedBy::NotToldApart => "the path, not told apart".to_owned(),
            None => self.by.words().to_owned(),
        }
    }
}

/// The end that is seldom blocked.
struct BusyEnd {
    by: LimitedBy,
    share: f64,
    /// Whether most of that is on a processor.
    runs: bool,
    /// Whether the connection waits for it: the sender gives nothing, or the receiver's window is shut.
    is_waited_for: bool,
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
    /// A line that is full, losses, or TCP's start.
    NotToldApart,
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
            Self::Path | Self::NotToldApart => "the path",
            Self::FullLine => "a full line on the path",
            Self::Losses => "losses on the path",
            Self::Growing => "TCP, which has not found the path's rate yet",
        }
    }
}

impl Breakdown {
    /// Of the flows of one direction at a time, next to which requests wait in a queue or not. `None` if they were too
    /// short, or the kernel does not keep the connections' times.
    pub fn of(flows: &[FlowEnds<'_>], requests_wait: bool) -> Option<Self> {
        let each: Vec<Self> = flows.iter().filter_map(Self::undivided).collect();
        let mut all = Self::mean(&each)?;
        let senders: Vec<&Sent> = flows.iter().map(|((_, sent), _)| *sent).collect();
        if let Some(counted) = Counted::of(&senders, requests_wait) {
            all.connection = all.connection.divided(&counted, 1.0 - all.sender.blocked);
        }
        Some(all)
    }

    fn undivided(((from, sent), (to, received)): &FlowEnds<'_>) -> Option<Self> {
        let connection = ConnectionShares::of(&sent.tcp, received.last_byte)?;
        let [of_sender, of_receiver] = [from, to].map(|report| ThreadShares::of(report));
        let seconds = received.last_byte.seconds();
        Some(Self { seconds, connection, sender: of_sender?, receiver: of_receiver? })
    }

    /// Denies a full line to flows that get less than half of `line`, which is known to carry it.
    pub(crate) fn deny_full_line(&mut self, rate: f64, line: f64) {
        if let Some(parts) = &mut self.connection.path_parts
            && rate < LEAST_OF_LINE * line
        {
            parts.not_told_apart += std::mem::take(&mut parts.full_line);
        }
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

    /// What limits the flow. A thread that is often woken waits often, and a full line wakes its receiver for each packet: an
    /// end that could run and did not is the limit where the connection waits for it, too.
    pub fn limit(&self) -> Limit {
        let mut parts = self.connection.parts();
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        let [(by, share), (next, next_share), ..] = parts;
        if let Some(end) = self.busy_end() {
            let is_certain = end.runs || end.is_waited_for || self.connection.path_parts.is_none();
            let or = Some(by).filter(|_| !is_certain);
            return Limit { by: end.by, or, share: end.share };
        }
        if share >= HALF || share >= TWICE * next_share {
            return Limit { by, or: None, share };
        }
        Limit { by, or: Some(next), share: share + next_share }
    }

    /// The end that is blocked for less than half of its time, and what keeps it from more.
    fn busy_end(&self) -> Option<BusyEnd> {
        use LimitedBy::{
            ReceiverProcessor, ReceiverQuota, ReceiverWaiting, SenderProcessor, SenderQuota,
            SenderWaiting,
        };
        let is_sender = self.sender.blocked <= self.receiver.blocked;
        let nothing_more =
            self.connection.path_parts.map_or(0.0, |parts| parts.nothing_more_to_send);
        let (end, [processor, waiting, quota], waited_for) = if is_sender {
            let nothing = self.connection.nothing_to_send + nothing_more;
            (&self.sender, [SenderProcessor, SenderWaiting, SenderQuota], nothing)
        } else {
            let shut = self.connection.receiver_window;
            (&self.receiver, [ReceiverProcessor, ReceiverWaiting, ReceiverQuota], shut)
        };
        let (by, share) = largest([
            (processor, end.on_processor),
            (waiting, end.waiting.unwrap_or_default()),
            (quota, end.throttled.unwrap_or_default()),
        ]);
        let (runs, is_waited_for) = (by == processor, waited_for >= WAITED_FOR);
        (end.blocked < LIMIT_BLOCKED).then_some(BusyEnd { by, share, runs, is_waited_for })
    }

    /// Whether an end is the limit, or was kept from running for so long that requests wait there, too: then no queue is
    /// seen by their times.
    pub fn keeps_requests_waiting(&self) -> bool {
        let kept = |end: &ThreadShares| {
            end.waiting.unwrap_or_default() + end.throttled.unwrap_or_default() >= KEPT
        };
        self.busy_end().is_some() || kept(&self.sender) || kept(&self.receiver)
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

    /// Divides the time in which something was on its way or waited by moments. Whatever the kernel says of the receiver's window
    /// and of the send buffer: it counts what stops a flow altogether, and with BBR that is half of the time. The sender
    /// blocks in `send` only: so what it gives nothing for longer than for `not_blocked` of the time is a full send buffer.
    fn divided(self, counted: &Counted, not_blocked: f64) -> Self {
        let busy = 1.0 - self.nothing_to_send;
        let share = |count: f64| busy * count / counted.all();
        let nothing_more_to_send = share(counted.unfilled).min(not_blocked);
        let parts = PathShares {
            nothing_more_to_send,
            full_line: share(counted.full),
            losses: share(counted.losses),
            growing: share(counted.growing),
            not_told_apart: share(counted.undecided),
        };
        let (receiver_window, send_buffer) =
            (share(counted.shut), share(counted.unfilled) - nothing_more_to_send);
        Self {
            receiver_window,
            send_buffer,
            path: (busy - receiver_window - send_buffer).max(0.0),
            path_parts: Some(parts),
            ..self
        }
    }

    /// Each of them as what limits the flow.
    pub(crate) fn parts(self) -> [(LimitedBy, f64); 8] {
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
            (LimitedBy::NotToldApart, of_path(|parts| parts.not_told_apart)),
        ]
    }
}

impl PathShares {
    /// Of several flows, by the mean of each share; `None` if one of them is not known.
    fn mean(mean: impl Fn(fn(&Self) -> f64) -> Option<f64>) -> Option<Self> {
        Some(Self {
            nothing_more_to_send: mean(|one| one.nothing_more_to_send)?,
            full_line: mean(|one| one.full_line)?,
            losses: mean(|one| one.losses)?,
            growing: mean(|one| one.growing)?,
            not_told_apart: mean(|one| one.not_told_apart)?,
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
    use btu_contract::record::{CpuTime, Outcome, TcpInfo};
    use btu_units::{Bytes, Time};

    use super::*;

    fn report([used, waited]: [u64; 2]) -> Report {
        Report {
            started: Time::ZERO,
            finished: Time::ZERO + Span::from_seconds(1),
            cpu: CpuTime {
                waited: Some(Span::from_milliseconds(waited)),
                ..CpuTime::of(Span::ZERO, Span::from_milliseconds(used))
            },
            outcome: Outcome::Null,
        }
    }

    /// A flow of a second: milliseconds of the connection, and of each thread on a processor and waiting.
    fn flow(
        [busy, window, buffer]: [u64; 3],
        sender: [u64; 2],
        receiver: [u64; 2],
    ) -> Option<Breakdown> {
        let tcp = TcpInfo {
            busy_us: busy * 1000,
            receiver_limited_us: window * 1000,
            send_buffer_limited_us: buffer * 1000,
            ..TcpInfo::default()
        };
        let sent = Sent { bytes: Bytes::new(1), messages: 1, tcp, moments: Vec::new() };
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
        let [sender, receiver] = [sender, receiver].map(report);
        Breakdown::of(&[((&sender, &sent), (&receiver, &arrived))], false)
    }

    fn limit(connection: [u64; 3], sender: [u64; 2], receiver: [u64; 2]) -> (LimitedBy, f64) {
        let Limit { by, or, share } = flow(connection, sender, receiver).unwrap().limit();
        assert_eq!(or, None);
        (by, (share * 100.0).round() / 100.0)
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

    /// A flow without pauses, blocked for all but a hundredth, with moments of these kinds.
    fn divided(counted: Counted) -> Breakdown {
        let mut flow = flow([1000, 400, 0], [10, 0], [10, 0]).unwrap();
        flow.connection = flow.connection.divided(&counted, 1.0 - flow.sender.blocked);
        let parts = flow.connection.parts().map(|(_, share)| share);
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{flow:?}");
        flow
    }

    #[test]
    fn moments_divide_it_whatever_the_kernel_counts() {
        let some = Counted { unfilled: 10.0, shut: 10.0, full: 60.0, ..Counted::default() };
        let full = divided(some);
        let Limit { by, or, share } = full.limit();
        assert!((by, or) == (LimitedBy::FullLine, None) && (share - 0.75).abs() < 1e-12);
        // The sender blocks in `send` only: what it gives nothing for is a full buffer, but for a hundredth.
        assert!((full.connection.send_buffer - 0.115).abs() < 1e-12, "{full:?}");
        let counted = Counted { shut: 45.0, losses: 35.0, growing: 20.0, ..Counted::default() };
        let limit = divided(counted).limit();
        assert_eq!((limit.by, limit.or), (LimitedBy::ReceiverWindow, Some(LimitedBy::Losses)));
        assert!((limit.share - 0.8).abs() < 1e-12);
        assert_eq!(limit.words(), "the receiver's window or losses on the path, not told apart");
        let twice = Counted { shut: 45.0, losses: 20.0, growing: 20.0, full: 15.0, ..counted };
        assert_eq!(divided(twice).limit().or, None);
    }

    /// A receiver that waits for a processor for most of its time while the line is full, as it is woken for each packet.
    #[test]
    fn an_end_is_the_limit_where_the_connection_waits_for_it() {
        let with = |counted| {
            let mut flow = divided(counted);
            flow.receiver.waiting = Some(0.6);
            flow.receiver.blocked = 0.39;
            flow.limit()
        };
        let full = with(Counted { full: 80.0, ..Counted::default() });
        assert_eq!((full.by, full.or), (LimitedBy::ReceiverWaiting, Some(LimitedBy::FullLine)));
        assert!(full.words().ends_with("not told apart"), "{full:?}");
        let shut = with(Counted { full: 40.0, shut: 40.0, ..Counted::default() });
        assert_eq!((shut.by, shut.or), (LimitedBy::ReceiverWaiting, None));
    }

    #[test]
    fn a_line_is_not_full_of_which_less_than_half_is_used() {
        let mut flow = divided(Counted { full: 80.0, ..Counted::default() });
        flow.deny_full_line(50.0, 100.0);
        assert_eq!(flow.limit().by, LimitedBy::FullLine);
        flow.deny_full_line(49.0, 100.0);
        assert_eq!((flow.limit().by, flow.limit().share), (LimitedBy::NotToldApart, 1.0));
        let mean = Breakdown::mean(&[flow, flow]).unwrap();
        assert_eq!(mean.limit(), flow.limit());
    }

    #[test]
    fn an_end_that_is_kept_from_running_keeps_requests_waiting() {
        let kept = |sender, receiver| {
            flow([1000, 0, 0], sender, receiver).unwrap().keeps_requests_waiting()
        };
        assert!(kept([10, 250], [10, 0]) && kept([10, 0], [10, 250]) && kept([600, 0], [10, 0]));
        assert!(!kept([300, 100], [300, 100]));
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
