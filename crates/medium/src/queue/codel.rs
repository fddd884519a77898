//! Controlled delay: a queue that drops from its head while frames have waited in it for too long.
//!
//! Source: RFC 8289, section 5 (pseudocode), of which the names are kept. The largest packet, below
//! which a rest is never dropped, is the longest frame seen, from the pseudocode's 512 octets up
//! (there: "should use interface MTU"). Deviations: times are whole nanoseconds, the control law's
//! quotient rounded down; a frame may also be dropped at the tail when the limit is reached, as
//! `Cause::QueueFull`.

use btu_units::{Bytes, Span, Time};

use super::fifo::Fifo;
use super::{Drops, fits};
use crate::account::Cause;
use crate::frame::Frame;
use crate::limit::Limit;

/// A queue under [`CodelState`].
#[derive(Debug)]
pub(super) struct Codel {
    limit: Limit,
    settings: CodelParameters,
    control: CodelState,
    fifo: Fifo,
}

impl Codel {
    pub(super) fn new(codel: &btu_network::Codel, rate: btu_units::BitRate) -> Self {
        Self {
            limit: Limit::of(codel.limit, rate),
            settings: CodelParameters::new(codel),
            control: CodelState::default(),
            fifo: Fifo::default(),
        }
    }

    pub(super) fn enqueue(&mut self, frame: Frame, now: Time, drops: &mut Drops) {
        if fits(self.limit, self.fifo.len(), self.fifo.bytes(), frame.length()) {
            self.settings.note(&frame);
            self.fifo.push(frame, now);
        } else {
            drops.push_back((frame, Cause::QueueFull));
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Frame> {
        self.control.dequeue(&mut self.fifo, self.settings, now, drops)
    }

    pub(super) fn len(&self) -> usize {
        self.fifo.len()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.fifo.bytes()
    }
}

/// The parameters of a control; many queues may share them.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodelParameters {
    target: Span,
    interval: Span,
    largest: Bytes,
}

impl CodelParameters {
    pub(super) fn new(codel: &btu_network::Codel) -> Self {
        Self { target: codel.target, interval: codel.interval, largest: Bytes::new(512) }
    }

    /// Updates the largest frame size.
    pub(super) fn note(&mut self, frame: &Frame) {
        self.largest = self.largest.max(frame.length());
    }
}

/// The state of one queue.
#[derive(Debug, Default)]
pub(super) struct CodelState {
    /// When the delay will have been above the target for an interval; `None` while it is not above
    /// it.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CodelState {
    /// Takes the next frame to be sent out of `fifo`, and drops what has to be before it (`deque`
    /// there).
    pub(super) fn dequeue(
        &mut self,
        fifo: &mut Fifo,
        settings: CodelParameters,
        now: Time,
        drops: &mut Drops,
    ) -> Option<Frame> {
        let (mut frame, mut ok_to_drop) = self.look(fifo, settings, now)?;
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                drops.push_back((frame, Cause::Early));
                (frame, ok_to_drop) = self.look(fifo, settings, now)?;
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.count += 1;
                    self.drop_next = control_law(self.drop_next, settings.interval, self.count);
                }
            }
        } else if ok_to_drop {
            drops.push_back((frame, Cause::Early));
            self.start_dropping(settings.interval, now);
            (frame, _) = self.look(fifo, settings, now)?;
        }
        Some(frame)
    }

    /// The head of the queue, and whether it may be dropped (`dodequeue` there).
    fn look(
        &mut self,
        fifo: &mut Fifo,
        settings: CodelParameters,
        now: Time,
    ) -> Option<(Frame, bool)> {
        let Some((frame, came)) = fifo.pop() else {
            (self.first_above, self.dropping) = (None, false);
            return None;
        };
        if now.since(came) < settings.target || fifo.bytes() <= settings.largest {
            self.first_above = None;
            return Some((frame, false));
        }
        let first_above = *self.first_above.get_or_insert(now + settings.interval);
        Some((frame, now >= first_above))
    }

    /// Begins to drop; if it dropped shortly before, at about its last rate.
    fn start_dropping(&mut self, interval: Span, now: Time) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        let recently = now.since(self.drop_next) < interval * 16;
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.drop_next = control_law(now, interval, self.count);
        self.last_count = self.count;
    }
}

/// When the next frame is dropped: ever sooner.
fn control_law(last: Time, interval: Span, count: u32) -> Time {
    last + Span::from_nanoseconds((interval.nanoseconds() as f64 / f64::from(count).sqrt()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_network::QueueLimit;
    use btu_units::BitRate;

    const TARGET: Span = Span::from_milliseconds(5);
    const INTERVAL: Span = Span::from_milliseconds(100);

    fn codel() -> Codel {
        let settings = btu_network::Codel {
            limit: QueueLimit::Frames(10_000),
            target: TARGET,
            interval: INTERVAL,
        };
        Codel::new(&settings, BitRate::from_megabits_per_second(10))
    }

    fn milliseconds(count: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(1) * count
    }

    /// Two full frames come each millisecond and one place to send is free: the delay stays above
    /// the target. Returns when frames were dropped.
    fn drops_under_overload(queue: &mut Codel, from: u64, to: u64) -> Vec<Time> {
        let mut times = Vec::new();
        let mut drops = Drops::new();
        for now in (from..to).map(milliseconds) {
            (0..2).for_each(|_| queue.enqueue(Frame::new(0, Bytes::new(1514)), now, &mut drops));
            queue.dequeue(now, &mut drops);
            times.extend(drops.drain(..).map(|_| now));
        }
        times
    }

    /// The delay first reaches the target at some millisecond d, the first drop follows an interval
    /// later, and the n-th so much after the one before: interval / sqrt(n-1). Each comes at the
    /// next millisecond when a frame is taken.
    #[test]
    fn drops_follow_the_control_law() {
        let drops = drops_under_overload(&mut codel(), 0, 2000);
        // The delay of the frame taken at millisecond t is t - t/2: 5 ms at t = 10 (and with the
        // first at 9: 9 - 4).
        assert_eq!(drops[0], milliseconds(9) + INTERVAL);
        let mut due = drops[0];
        for (n, &seen) in (1..).zip(&drops[1..]) {
            due += Span::from_nanoseconds(
                (INTERVAL.nanoseconds() as f64 / f64::from(n).sqrt()) as u64,
            );
            let late = seen.since(due);
            assert!(
                seen >= due && late < Span::from_milliseconds(1),
                "drop {n} at {seen:?}, due at {due:?}"
            );
        }
        // n drops take 2 interval sqrt(n): about 90 in the 1.9 s that are left.
        assert!(drops.len() > 85, "{} drops", drops.len());
    }

    #[test]
    fn below_the_target_nothing_is_dropped() {
        let (mut queue, mut drops) = (codel(), Drops::new());
        for now in (0..3000).map(milliseconds) {
            queue.enqueue(Frame::new(0, Bytes::new(1514)), now, &mut drops);
            // Four frames are in the queue all the time: 4 ms.
            if queue.len() > 4 {
                queue.dequeue(now, &mut drops);
            }
        }
        assert!(drops.is_empty());
    }

    #[test]
    fn one_frame_is_never_dropped_however_old() {
        let (mut queue, mut drops) = (codel(), Drops::new());
        for n in 0..10 {
            queue.enqueue(Frame::new(0, Bytes::new(1514)), milliseconds(1000 * n), &mut drops);
            assert!(queue.dequeue(milliseconds(1000 * n + 900), &mut drops).is_some());
        }
        assert!(drops.is_empty());
    }

    #[test]
    fn dropping_resumes_near_the_rate_it_had() {
        let mut queue = codel();
        let before = drops_under_overload(&mut queue, 0, 1500).len();
        let mut none = Drops::new();
        while queue.dequeue(milliseconds(1500), &mut none).is_some() {}
        let again = drops_under_overload(&mut queue, 1510, 3010);
        let gap = again[1].since(again[0]);
        // After n drops the gap was interval / sqrt(n).
        assert!(
            before > 45 && gap < Span::from_milliseconds(100 / 6),
            "second drop {gap} after the first"
        );
    }
}
