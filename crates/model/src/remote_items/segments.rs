//! The segments of items over TCP: how many leave before the first acknowledgement, and which
//! acknowledgements travel alone.
//!
//! Sources: RFC 6928, section 2 (ten segments at first), RFC 5681, section 3.1 (slow start: one more
//! for each that is acknowledged) and section 4.2 (every second segment is acknowledged at once),
//! and Linux: `tcp_is_cwnd_limited` adds nothing while less than half is used, and
//! `__tcp_cleanup_rbuf` acknowledges two small segments when a program has read all. A message is one
//! segment. No timer is known: neither that of a delayed acknowledgement nor that of a repetition.

use std::collections::VecDeque;

use super::RemoteItems;

/// Messages of so many items; the last one may have fewer.
pub(super) fn sizes(items: f64, together: f64) -> impl Iterator<Item = f64> {
    let whole = (items / together).floor();
    let rest = items - whole * together;
    std::iter::repeat_n(together, whole as usize).chain((rest > 0.0).then_some(rest))
}

/// What a sender knows of its segments.
#[derive(Debug)]
struct Window {
    most: f64,
    in_flight: f64,
    most_in_flight: f64,
}

impl Window {
    fn of(first_segments: f64) -> Self {
        Self { most: first_segments, in_flight: 0.0, most_in_flight: 0.0 }
    }

    fn is_full(&self) -> bool {
        self.in_flight >= self.most
    }

    fn sent(&mut self) {
        self.in_flight += 1.0;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
    }

    fn acknowledged(&mut self, segments: f64) {
        self.in_flight -= segments;
        if self.most < 2.0 * self.most_in_flight {
            self.most += segments;
        }
    }
}

impl RemoteItems {
    /// Seconds until the display may answer the last of these messages. Each is made before it is
    /// sent, and has arrived before the display begins with it; the display's TCP acknowledges every
    /// second one, and its answer waits for that.
    pub(super) fn in_segments(
        &self,
        sizes: impl Iterator<Item = f64>,
        occupied: impl Fn(f64) -> f64,
        display: f64,
    ) -> f64 {
        let bare = self.tcp.bare_back;
        let mut window = Window::of(self.tcp.first_segments);
        let mut acknowledgements = VecDeque::new();
        let (mut made, mut free, mut shown, mut answers) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        let mut is_second = false;
        for size in sizes {
            made += size * self.application;
            let mut begun = made.max(free);
            while acknowledgements.front().is_some_and(|at| *at <= begun || window.is_full()) {
                begun = begun.max(acknowledgements.pop_front().unwrap_or(begun));
                window.acknowledged(2.0);
            }
            window.sent();
            let occupied = occupied(size);
            free = begun + occupied.max(self.own.message);
            let arrived = begun + occupied + self.packed.beyond;
            if is_second {
                answers = arrived + bare.occupied;
                acknowledgements.push_back(arrived + bare.takes() + self.own.round);
            } else {
                answers = arrived;
            }
            is_second = !is_second;
            shown = shown.max(arrived) + size * display;
        }
        shown.max(answers) + self.own.round
    }

    /// Seconds of a window in which TCP itself waits, item by item. Items that wait for an
    /// acknowledgement share a segment.
    pub(super) fn windowed_over_tcp(&self, window: usize) -> f64 {
        Exchange::of(self, window).run()
    }
}

/// One direction of a connection.
#[derive(Debug)]
struct ConnectionDirection {
    window: Window,
    /// Messages that wait for an acknowledgement.
    waiting: usize,
    /// When the line is free again.
    free: f64,
    /// Segments of this direction that have arrived and are not acknowledged.
    owed: usize,
    /// The time on the line of a message alone, of each further one in its segment, and beyond it.
    alone: f64,
    further: f64,
    beyond: f64,
    /// Segments on their way: when they arrive, their messages, the segments that they
    /// acknowledge.
    on_the_way: VecDeque<(f64, usize, usize)>,
}

/// Both directions, the application and the display.
struct Exchange<'a> {
    items: &'a RemoteItems,
    window: usize,
    together: usize,
    there: ConnectionDirection,
    back: ConnectionDirection,
    /// When the application has made its item, when the display has shown its own.
    making: Option<f64>,
    showing: Option<f64>,
    sent: usize,
    /// Answers that have come, and those of them that the application has read.
    came: usize,
    heard: usize,
    /// Items that the display has not begun.
    queued: usize,
}

impl<'a> Exchange<'a> {
    fn of(items: &'a RemoteItems, window: usize) -> Self {
        let together = items.tcp.most_items;
        let (item, _) = items.item_and_headers(together);
        let direction = |alone: f64, further: f64, beyond: f64| ConnectionDirection {
            window: Window::of(items.tcp.first_segments),
            waiting: 0,
            free: 0.0,
            owed: 0,
            alone,
            further,
            beyond: beyond + items.own.round / 2.0,
            on_the_way: VecDeque::new(),
        };
        Self {
            items,
            window,
            together: (together as usize).max(1),
            there: direction(items.request.occupied, item, items.request.beyond),
            back: direction(items.reply.occupied, items.tcp.further_reply, items.reply.beyond),
            making: None,
            showing: None,
            sent: 0,
            came: 0,
            heard: 0,
            queued: 0,
        }
    }

    /// Until the last answer has come.
    fn run(mut self) -> f64 {
        let (all, mut now) = (self.items.items as usize, 0.0);
        loop {
            self.make_or_hear(now, all);
            if self.heard == all {
                return now;
            }
            if self.showing.is_none() && self.queued > 0 {
                self.queued -= 1;
                self.showing = Some(now + self.items.display);
            }
            let arrives =
                |direction: &ConnectionDirection| direction.on_the_way.front().map(|one| one.0);
            let events = [self.making, arrives(&self.there), self.showing, arrives(&self.back)];
            let next = (0..4).filter_map(|event| Some((events[event]?, event)));
            let Some((at, event)) = next.min_by(|a, b| a.0.total_cmp(&b.0)) else {
                return f64::NAN;
            };
            now = at;
            match event {
                0 => {
                    self.making = None;
                    self.sent += 1;
                    self.there.waiting += 1;
                }
                1 => self.queued += self.there.arrive(&mut self.back.window),
                2 => {
                    self.showing = None;
                    self.back.waiting += 1;
                }
                _ => self.came += self.back.arrive(&mut self.there.window),
            }
            let (least, together) = (self.items.own.message, self.together);
            self.there.push(now, least, together, &mut self.back.owed);
            self.back.push(now, least, together, &mut self.there.owed);
        }
    }

    /// The application makes the next item as far as the window allows, else it reads an answer.
    fn make_or_hear(&mut self, now: f64, all: usize) {
        while self.making.is_none() && self.heard < all {
            if self.sent < all && self.sent - self.heard < self.window {
                self.making = Some(now + self.items.application);
            } else if self.heard < self.came {
                self.heard += 1;
                let bare = self.items.tcp.bare_there;
                if self.heard == self.came && self.back.owed >= 2 {
                    self.there.acknowledge(now, bare.occupied, &mut self.back.owed);
                }
            } else {
                return;
            }
        }
    }
}

impl ConnectionDirection {
    /// The first segment arrives; returns its messages.
    fn arrive(&mut self, of_other: &mut Window) -> usize {
        let Some((_, messages, acknowledged)) = self.on_the_way.pop_front() else { return 0 };
        self.owed += usize::from(messages > 0);
        if acknowledged > 0 {
            of_other.acknowledged(acknowledged as f64);
        }
        messages
    }

    /// Sends an acknowledgement alone: its sender has read all, and owes it for two segments.
    fn acknowledge(&mut self, now: f64, occupied: f64, owed: &mut usize) {
        self.free = now.max(self.free) + occupied;
        self.on_the_way.push_back((self.free + self.beyond, 0, std::mem::take(owed)));
    }

    /// Sends what waits, as far as TCP may; every segment acknowledges all that came.
    fn push(&mut self, now: f64, least: f64, together: usize, owed: &mut usize) {
        while self.waiting > 0 && !self.window.is_full() {
            let messages = self.waiting.min(together);
            self.waiting -= messages;
            self.window.sent();
            let occupied = self.alone + (messages - 1) as f64 * self.further;
            let begun = now.max(self.free);
            self.free = begun + occupied.max(least);
            self.on_the_way.push_back((
                begun + occupied + self.beyond,
                messages,
                std::mem::take(owed),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Own, Passage, Tcp};
    use super::*;

    /// 110 octets there and 98 back at 1 Mb/s, 10 ms away, as `btu app` has them.
    fn line(items: usize) -> RemoteItems {
        let passage = |octets: f64| Passage { occupied: 8.0 * octets / 1e6, beyond: 0.010 };
        RemoteItems {
            items: items as f64,
            request: passage(110.0),
            reply: passage(98.0),
            packed: passage(1530.0 / 72.0),
            application: 0.0,
            display: 0.0,
            own: Own::default(),
            tcp: Tcp {
                first_segments: 10.0,
                bare_there: passage(90.0),
                bare_back: passage(90.0),
                further_reply: 64e-6,
                most_items: 72.0,
            },
        }
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.unwrap_or(f64::NAN);
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
    }

    /// Eleven items at once: ten leave, the last one when the first is answered.
    #[test]
    fn the_eleventh_item_waits_for_the_first_answer() {
        let round = 0.020 + (110.0 + 98.0) * 8e-6;
        near(line(10).windowed(16.0).value, round + 9.0 * 110.0 * 8e-6);
        near(line(11).windowed(16.0).value, 2.0 * round);
        // Six wait and share a segment of 210 octets. The display has ten answers on their way and
        // so may put several of the six into one segment.
        let found = line(16).windowed(16.0).value.unwrap();
        let least = 210.0 * 8e-6 + 0.020 + (98.0 + 5.0 * 8.0) * 8e-6;
        let most = 210.0 * 8e-6 + 0.020 + 6.0 * 98.0 * 8e-6;
        assert!((round + least..=round + most).contains(&found), "{found}");
    }

    /// Items one by one agree with the closed form where TCP has grown.
    #[test]
    fn without_waiting_it_is_the_closed_form() {
        for (window, display, message) in [(2, 0.0, 0.0), (8, 2e-3, 0.0), (16, 1e-4, 1.5e-3)] {
            let own = Own { round: 3e-4, message };
            let grown = Tcp { first_segments: 1e9, ..line(1).tcp };
            let line = RemoteItems { display, own, tcp: grown, ..line(55) };
            near(line.windowed(window as f64).value, line.windowed_over_tcp(window));
        }
    }

    /// Eleven full segments of 1530 octets: the last one waits for the acknowledgement of the first
    /// two, and so does the answer for that of the twelfth.
    #[test]
    fn messages_beyond_the_first_ten_wait_for_an_acknowledgement() {
        let full = 1530.0 * 8e-6;
        let fast = |items| {
            let mut line = line(items);
            for passage in [&mut line.request, &mut line.packed, &mut line.tcp.bare_back] {
                passage.occupied /= 100.0;
                passage.beyond = 0.150;
            }
            line.pipelined_in(72.0).value
        };
        near(fast(720), 0.150 + (10.0 * full + 90.0 * 8e-6) / 100.0);
        let second = 0.300 + (2.0 * full + 90.0 * 8e-6) / 100.0;
        near(fast(792), second + 0.150 + full / 100.0);
        near(fast(864), second + 0.150 + (2.0 * full + 90.0 * 8e-6) / 100.0);
        // At 1 Mb/s the line is busy until the acknowledgement is there.
        near(line(792).pipelined_in(72.0).value, 0.010 + 11.0 * full);
    }
}
