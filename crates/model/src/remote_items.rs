//! An application that sends items to a display on another host: the time of a picture by each
//! protocol.
//!
//! Source: the levels of communication of Lantz, Nowicki and Theimer, "An Empirical Study of
//! Distributed Application Performance", IEEE Transactions on Software Engineering SE-11 (1985),
//! section 5; the closed forms are ours. Assumptions: all items are alike and every stage
//! (application, line, display) takes as long for each, one item at a time; replies go the other
//! way on a full-duplex line; connections are open and nothing is lost. Exact for these, except
//! where said.

mod segments;

use crate::answer::{Answer, sensible};

/// The times of packets of one size on the network, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage {
    /// The time for which one packet occupies the slowest part of the path.
    pub occupied: f64,
    /// The time before and after that part: the propagation delay, and the time in the other parts
    /// of the path. Less is the gap behind the packet, which occupies that part, and for which no
    /// receiver waits: on a slow and short path this is below zero.
    pub beyond: f64,
}

impl Passage {
    /// From its first bit's departure until it has arrived.
    fn takes(self) -> f64 {
        self.occupied + self.beyond
    }
}

/// The time that machines need for messages themselves, in addition to the network's and the
/// programs', in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Own {
    /// Of one message there and its answer back.
    pub round: f64,
    /// The least time between two messages.
    pub message: f64,
}

/// What TCP does by itself; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tcp {
    /// Segments that it sends before the first acknowledgement (RFC 6928, section 2); infinite if
    /// it never waits.
    pub first_segments: f64,
    /// An acknowledgement that travels alone to the display.
    pub bare_there: Passage,
    /// An acknowledgement that travels alone to the application.
    pub bare_back: Passage,
    /// The time on the slowest part of the path of each further reply in one segment.
    pub further_reply: f64,
    /// The most items in a segment.
    pub most_items: f64,
}

impl Default for Tcp {
    /// It neither waits nor acknowledges.
    fn default() -> Self {
        let bare = Passage { occupied: 0.0, beyond: 0.0 };
        Self {
            first_segments: f64::INFINITY,
            bare_there: bare,
            bare_back: bare,
            further_reply: 0.0,
            most_items: 2.0,
        }
    }
}

/// A picture's items and their path; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RemoteItems {
    /// The number of items in the picture.
    pub items: f64,
    /// An item alone in its packet.
    pub request: Passage,
    /// The time for which a reply occupies the slowest part of the path, and its other time.
    pub reply: Passage,
    /// Items that share packets: one item's share of the packet, and the other time of the packet.
    pub packed: Passage,
    /// The application's time for one item.
    pub application: f64,
    /// The display's time for one item.
    pub display: f64,
    /// The machines' own time.
    pub own: Own,
    /// TCP's own part.
    pub tcp: Tcp,
}

/// A full-duplex line, and its packets. Times in seconds, sizes in octets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ItemLine {
    /// The size of one item; 20 in the study.
    pub item_bytes: f64,
    /// The size of one reply, without headers.
    pub reply_bytes: f64,
    /// Octets of headers in each packet, including those that the line adds around it.
    pub header_bytes: f64,
    /// Payload of a full packet, where items may share one.
    pub segment_bytes: f64,
    /// The rate of the line in each direction, in bits per second.
    pub bits_per_second: f64,
    /// The propagation delay from one end of the line to the other.
    pub delay: f64,
}

impl ItemLine {
    /// A picture of `items` items over this line, with the application's and the display's time for
    /// each.
    pub fn carrying(&self, items: f64, application: f64, display: f64) -> RemoteItems {
        let passage = |bytes: f64| Passage {
            occupied: 8.0 * bytes / self.bits_per_second,
            beyond: self.delay,
        };
        RemoteItems {
            items,
            request: passage(self.item_bytes + self.header_bytes),
            reply: passage(self.reply_bytes + self.header_bytes),
            // With its share of a full packet's headers.
            packed: passage(self.item_bytes * (1.0 + self.header_bytes / self.segment_bytes)),
            application,
            display,
            own: Own::default(),
            tcp: Tcp::default(),
        }
    }
}

/// Most messages that are computed one by one.
const MOST_MESSAGES: f64 = 1e6;

impl RemoteItems {
    /// Every item shown and acknowledged before the next is made.
    pub fn stop_and_wait(&self) -> Answer {
        self.answer(|| self.items * self.round())
    }

    /// Up to `window` items in flight, cut to whole ones: each group of that size takes a round, or
    /// the time of the slowest stage for its items; the last item of the last group waits until the
    /// slowest stage has passed those before it. If TCP has to wait within a window, item by item.
    pub fn windowed(&self, window: f64) -> Answer {
        if !sensible(&[window]) || window < 1.0 {
            return Answer::OUT_OF_RANGE;
        }
        let (window, slowest, round) = (window.floor(), self.slowest(), self.round());
        if window > self.tcp.first_segments && self.items <= MOST_MESSAGES {
            return self.answer(|| self.windowed_over_tcp(window as usize));
        }
        let groups_before = ((self.items / window).ceil() - 1.0).max(0.0);
        let last = (self.items - 1.0).max(0.0) % window;
        self.answer(|| {
            groups_before * round.max(window * slowest)
                + round.min(self.items * round)
                + last * slowest
        })
    }

    /// Items are shown as they come and not answered one by one. They travel in messages of
    /// `together` items, cut to whole ones: each message is made before it is sent, fills a packet,
    /// and has arrived before the display begins with it. The last one may have fewer items. Until
    /// the display may answer.
    pub fn pipelined_in(&self, together: f64) -> Answer {
        self.in_messages(together, self.display)
    }

    /// The same messages, but the display keeps all items, and then draws them; and its reply. The
    /// application makes one message while another is sent.
    pub fn batched_in(&self, together: f64) -> Answer {
        let kept = self.in_messages(together, 0.0);
        kept.map(|seconds| seconds + self.items * self.display + self.reply.takes())
    }

    fn in_messages(&self, together: f64, display: f64) -> Answer {
        let together = together.floor();
        let messages = self.items / together;
        if !sensible(&[together, messages]) || together < 1.0 || messages > MOST_MESSAGES {
            return Answer::OUT_OF_RANGE;
        }
        let (item, headers) = self.item_and_headers(together);
        self.answer(|| {
            let sizes = segments::sizes(self.items, together);
            self.in_segments(sizes, |size| size * item + headers, display)
        })
    }

    /// An item's own time on the slowest part of the path, and that of its packet's headers, of
    /// which items that share a packet have a share.
    fn item_and_headers(&self, together: f64) -> (f64, f64) {
        if together < 2.0 {
            return (0.0, self.packed.occupied);
        }
        let unshared = (self.request.occupied - self.packed.occupied).max(0.0);
        let headers = unshared * together / (together - 1.0);
        ((self.request.occupied - headers).max(0.0), headers)
    }

    /// The least time between items if each is acknowledged and none waits for that.
    fn slowest(&self) -> f64 {
        let Self { application, display, .. } = *self;
        [application, self.request.occupied, display, self.reply.occupied, self.own.message]
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// One item there and its reply back.
    fn round(&self) -> f64 {
        self.application + self.request.takes() + self.display + self.reply.takes() + self.own.round
    }

    fn answer(&self, seconds: impl FnOnce() -> f64) -> Answer {
        let alone = [self.request, self.reply].map(|passage| [passage.occupied, passage.takes()]);
        // An item's share of the packet does not pass alone.
        let packed = self.packed.beyond.is_finite() && sensible(&[self.packed.occupied]);
        if !sensible(&[
            self.items,
            self.application,
            self.display,
            self.own.round,
            self.own.message,
        ]) || !sensible(alone.as_flattened())
            || !packed
        {
            return Answer::OUT_OF_RANGE;
        }
        Answer::of(seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A line and a picture for it.
    #[derive(Clone, Copy)]
    struct Picture {
        items: f64,
        item_bytes: f64,
        reply_bytes: f64,
        header_bytes: f64,
        segment_bytes: f64,
        bits_per_second: f64,
        delay: f64,
        application: f64,
        display: f64,
    }

    impl Picture {
        fn of(&self) -> RemoteItems {
            let Self {
                item_bytes,
                reply_bytes,
                header_bytes,
                segment_bytes,
                bits_per_second,
                delay,
                ..
            } = *self;
            let line = ItemLine {
                item_bytes,
                reply_bytes,
                header_bytes,
                segment_bytes,
                bits_per_second,
                delay,
            };
            line.carrying(self.items, self.application, self.display)
        }
    }

    /// The line of Table 8-2: 780 items of 20 octets, no headers, and no other time.
    fn bare(bits_per_second: f64) -> Picture {
        Picture {
            items: 780.0,
            item_bytes: 20.0,
            reply_bytes: 0.0,
            header_bytes: 0.0,
            segment_bytes: 1460.0,
            bits_per_second,
            delay: 0.0,
            application: 0.0,
            display: 0.0,
        }
    }

    fn near(answer: Answer, expected: f64, tolerance: f64) {
        let value = answer.value.unwrap_or(f64::NAN);
        assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
    }

    /// The window from which on the slowest stage decides.
    fn filling_window(items: &RemoteItems) -> f64 {
        items.round() / items.slowest()
    }

    /// 7.5, 15, 30 and 60 items/s: the highest rates of Table 8-2's lines, by every protocol
    /// without headers.
    #[test]
    fn ceilings_of_table_8_2() {
        for (rate, ceiling) in [(1200.0, 7.5), (2400.0, 15.0), (4800.0, 30.0), (9600.0, 60.0)] {
            let line = bare(rate).of();
            near(line.stop_and_wait(), 780.0 / ceiling, 1e-9);
            for together in [1.0, 72.0, 780.0] {
                near(line.pipelined_in(together), 780.0 / ceiling, 1e-9);
                near(line.batched_in(together), 780.0 / ceiling, 1e-9);
            }
        }
    }

    /// Today over TCP/IP and PPP (8 octets of framing) at 1200 b/s: 7.20 items/s with time stamps,
    /// 7.26 without, 6.88 in segments of 536; stop-and-wait with replies of 4 octets 1.04.
    #[test]
    fn todays_headers_at_1200_bits_per_second() {
        for (headers, segment_bytes, expected) in
            [(52.0, 1448.0, 7.20), (40.0, 1460.0, 7.26), (40.0, 536.0, 6.88)]
        {
            let line = Picture { header_bytes: headers + 8.0, segment_bytes, ..bare(1200.0) };
            near(Answer::of(1.0 / line.of().packed.occupied), expected, 0.005);
        }
        let single = Picture { items: 1.0, header_bytes: 60.0, reply_bytes: 4.0, ..bare(1200.0) };
        near(single.of().stop_and_wait().map(|seconds| 1.0 / seconds), 1.04, 0.005);
    }

    /// Table 5-1: 5 a second by stop-and-wait is a round of 200 ms, 2 a second one of 500 ms.
    #[test]
    fn rounds_of_table_5_1() {
        for (delay, rate) in [(0.1, 5.0), (0.25, 2.0)] {
            let line = Picture { items: 100.0, delay, ..bare(1e15) };
            near(line.of().stop_and_wait(), 100.0 / rate, 1e-6);
            near(line.of().windowed(4.0), 25.0 / rate, 1e-6);
        }
    }

    /// By hand: 10 items of 1 ms, 2 ms on the line, 3 ms on the display, 5 ms away.
    #[test]
    fn stages_by_hand() {
        let line = Picture {
            items: 10.0,
            item_bytes: 250.0,
            bits_per_second: 1e6,
            delay: 5e-3,
            application: 1e-3,
            display: 3e-3,
            ..bare(1.0)
        };
        near(line.of().stop_and_wait(), 0.160, 1e-12);
        // Replies of the first two after 16 and 19 ms, of the last two after 80 and 83.
        near(line.of().windowed(2.0), 0.083, 1e-12);
        near(line.of().windowed(3.9), 3.0 * 0.016 + 0.016, 1e-12);
        // The eighth after 37 ms; the ninth waits for the display until 32, the tenth is answered
        // after 43.
        near(line.of().windowed(8.0), 0.043, 1e-12);
        near(Answer::of(filling_window(&line.of())), 16.0 / 3.0, 1e-12);
        near(line.of().pipelined_in(1.0), 0.006 + 9.0 * 0.003 + 0.005, 1e-12);
        // One message of all items is made before any is sent.
        near(line.of().batched_in(10.0), 0.010 + 0.020 + 0.010 + 0.030, 1e-12);
        near(line.of().batched_in(1.0), 0.020 + 0.001 + 0.010 + 0.030, 1e-12);
    }

    /// By hand: 100 items in messages of 72 and 28, each with 60 octets of headers; 20 octets are 160
    /// us on the line, 5 ms away. A display that takes 1 ms for each has drawn the first message after
    /// 17 + 72 ms, long after the second has come.
    #[test]
    fn messages_of_several_items_by_hand() {
        let line = Picture {
            items: 100.0,
            header_bytes: 60.0,
            segment_bytes: 1440.0,
            bits_per_second: 1e6,
            delay: 5e-3,
            ..bare(1.0)
        };
        let first = (1440.0 + 60.0) * 8.0 / 1e6;
        near(line.of().pipelined_in(72.0), first + (560.0 + 60.0) * 8.0 / 1e6 + 5e-3, 1e-12);
        let drawn = Picture { display: 1e-3, ..line };
        near(drawn.of().pipelined_in(72.0), first + 5e-3 + 0.1, 1e-12);
        let made = Picture { application: 1e-3, ..line };
        near(made.of().pipelined_in(72.0), 0.1 + 620.0 * 8.0 / 1e6 + 5e-3, 1e-12);
        assert_eq!(line.of().pipelined_in(0.5), Answer::OUT_OF_RANGE);
        assert_eq!(Picture { items: 1e12, ..line }.of().pipelined_in(2.0), Answer::OUT_OF_RANGE);
    }

    /// When each item is made, sent, shown and answered: it waits at every stage for the one before
    /// it, and in the application for the answer of the one `window` before it.
    fn one_by_one(line: &RemoteItems, window: usize) -> f64 {
        let mut answers: Vec<f64> = Vec::new();
        let (mut made, mut sent, mut shown, mut replied) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        for item in 0..line.items as usize {
            let allowed = item.checked_sub(window).map_or(0.0, |before| answers[before]);
            made = made.max(allowed) + line.application;
            sent = made.max(sent) + line.request.occupied;
            shown = shown.max(sent + line.request.beyond) + line.display;
            replied = shown.max(replied) + line.reply.occupied;
            answers.push(replied + line.reply.beyond);
        }
        answers.last().copied().unwrap_or(0.0)
    }

    /// Over 9.6 kb/s to 100 Mb/s and 1 to 300 ms, the gap behind frames included, for which no
    /// receiver waits.
    #[test]
    fn windows_are_what_the_items_one_by_one_take() {
        let rates = [9600.0, 1e5, 1e6, 1e7, 1e8];
        let delays = [0.5e-3, 5e-3, 10e-3, 150e-3];
        for (rate, delay) in rates.iter().flat_map(|r| delays.map(|d| (*r, d))) {
            let gap = 96.0 / rate;
            let passage =
                |octets: f64| Passage { occupied: 8.0 * octets / rate, beyond: delay - gap };
            for (window, items, display) in [
                (1, 55, 7e-5),
                (2, 55, 7e-5),
                (4, 630, 2e-3),
                (8, 55, 1e-5),
                (16, 650, 1e-4),
                (64, 55, 0.0),
            ] {
                let line = RemoteItems {
                    items: f64::from(items),
                    request: passage(110.0),
                    reply: passage(98.0),
                    packed: passage(110.0),
                    application: 1e-6,
                    display,
                    own: Own::default(),
                    tcp: Tcp::default(),
                };
                let truth = one_by_one(&line, window);
                near(line.windowed(window as f64).map(|seconds| seconds / truth), 1.0, 1e-9);
            }
        }
    }

    #[test]
    fn impossible_questions_have_no_answer() {
        assert_eq!(bare(0.0).of().pipelined_in(1.0), Answer::OUT_OF_RANGE);
        assert_eq!(bare(0.0).of().batched_in(1.0), Answer::OUT_OF_RANGE);
        assert_eq!(bare(1200.0).of().windowed(0.5), Answer::OUT_OF_RANGE);
        assert_eq!(
            Picture { delay: f64::NAN, ..bare(1200.0) }.of().stop_and_wait(),
            Answer::OUT_OF_RANGE
        );
    }

    proptest! {
        /// A larger window is never slower, a window of one is stop-and-wait, and none beats the
        /// slowest stage.
        #[test]
        fn windows_lie_between_stop_and_wait_and_the_slowest_stage(
            delay in 0.0f64..0.3, rate in 1e3f64..1e9, stage in 0.0f64..0.1, window in 1.0f64..64.0,
        ) {
            let line = Picture { delay, application: stage, display: stage / 2.0, header_bytes: 60.0, ..bare(rate) };
            let seconds = |answer: Answer| answer.value.unwrap();
            prop_assert!((seconds(line.of().windowed(1.0)) / seconds(line.of().stop_and_wait()) - 1.0).abs() < 1e-9);
            let wider = seconds(line.of().windowed(2.0 * window));
            prop_assert!(seconds(line.of().windowed(window)) >= wider * (1.0 - 1e-12));
            prop_assert!(seconds(line.of().windowed(window)) >= 780.0 * stage * (1.0 - 1e-12));
            let filling = filling_window(&line.of());
            let fastest = seconds(line.of().windowed(1e12));
            // A window is whole, and the last one empties: within one round of items.
            let round = seconds(line.of().stop_and_wait()) / 780.0;
            prop_assert!(seconds(line.of().windowed(filling.ceil().max(1.0))) <= fastest + round * (1.0 + 1e-9));
        }
    }
}
