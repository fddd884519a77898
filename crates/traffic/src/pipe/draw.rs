//! An application that draws on a display, over a pipe: every protocol of the study of 1985, by the
//! same two loops.
//!
//! The application orders each picture (20 octets: how many times it has been ordered; an order of
//! none ends the run), and the display answers when it has an empty screen, with the symbols that
//! it must have before. Then the measured time begins: requests are sent by the protocol, alone or
//! together, with an answer for each or for the last. The work on either side is real: items are
//! encoded here, decoded, kept and drawn there.

use std::io;

use btu_contract::app::{
    Display, DisplayRequest, Displayed, Drawing, Drawn, Mix, Protocol, REPLY_BYTES, REQUEST_BYTES,
    Slowing, Speed, TOGETHER,
};
use btu_units::{Bytes, Span, Time};

use super::Pipe;
use super::echo;
use super::exchange::Shape;
use super::tally::Tally;
use super::viewer::Viewer;
use crate::clock::{Limit, computed, now};
use crate::sys::quota::{give_way, keep_to};

/// An order for a picture, or the answer that the display is ready.
const ORDER: [u8; 4] = *b"draw";

/// The least time of computing that an end adds: reading the clock takes as much.
const SHORTEST_WORK: Span = Span::from_nanoseconds(200);

/// Draws pictures until the order's time has passed; the application's end.
pub(super) fn draw<P: Pipe>(
    pipe: &mut P,
    drawing: &Drawing,
    limit: &Limit<'_>,
) -> io::Result<Drawn> {
    slow_down(drawing, drawing.nice.application, drawing.speeds.application)?;
    let mut application = Application::new(drawing);
    let mut drawn = Drawn::default();
    let tally = tally(drawing)?;
    drawn.echoes = drawing.echoes.then(|| echo::measure(pipe, drawing)).transpose()?;
    let begun = now();
    let before = pipe.repeats();
    let most = drawing.most_pictures.min(Drawing::MOST_PICTURES) as usize;
    while drawn.pictures.is_empty()
        || (now().since(begun) < drawing.target && drawn.pictures.len() < most && !limit.stopped())
    {
        let took = order(pipe, drawn.pictures.len() as u32 + 1)?;
        // The answer's own acknowledgement must not precede the first request on a slow line.
        std::thread::sleep(took.into());
        let took = application.picture(pipe, &mut drawn)?;
        drawn.pictures.push(took);
    }
    order(pipe, 0)?;
    pipe.close();
    drawn.discarded = tally.map(|tally| tally.end()).transpose()?;
    drawn.repeated = pipe.repeats().since(before).repeated;
    Ok(drawn)
}

/// A count of broadcasts, if this end is to count them.
fn tally(drawing: &Drawing) -> io::Result<Option<Tally>> {
    drawing.counts_broadcasts.then(Tally::begin).transpose()
}

/// Makes the display prepare for a picture, or end; returns the time until its answer.
fn order<P: Pipe>(pipe: &mut P, number: u32) -> io::Result<Span> {
    let begun = now();
    let mut words = [0; REQUEST_BYTES];
    words[..4].copy_from_slice(&ORDER);
    words[4..8].copy_from_slice(&number.to_be_bytes());
    pipe.say(&words)?;
    let mut answer = [0; REQUEST_BYTES];
    pipe.hear(&mut answer)?;
    if answer != words {
        return Err(nonsense("the display answered another order than it was given"));
    }
    Ok(now().since(begun))
}

/// The application's data of the picture.
struct Application<'a> {
    drawing: &'a Drawing,
    requests: Vec<DisplayRequest>,
    /// Pixels of the finished picture, where those are sent.
    bits: Vec<u8>,
    message: Vec<u8>,
    reply: [u8; REPLY_BYTES],
    /// Of a mix's responses.
    room: Vec<u8>,
}

impl<'a> Application<'a> {
    fn new(drawing: &'a Drawing) -> Self {
        let bits = match drawing.protocol {
            Protocol::Bitmap => drawing.workload.picture().bits().to_vec(),
            _ => Vec::new(),
        };
        let message = Vec::with_capacity(TOGETHER * REQUEST_BYTES);
        Self {
            drawing,
            requests: drawing.requests(),
            bits,
            message,
            reply: [0; REPLY_BYTES],
            room: Vec::new(),
        }
    }

    /// Draws a picture; returns the time.
    fn picture<P: Pipe>(&mut self, pipe: &mut P, drawn: &mut Drawn) -> io::Result<Span> {
        let begun = now();
        if self.drawing.protocol == Protocol::Bitmap {
            // An application that sends pixels has drawn them itself.
            let work = times(self.drawing.application, self.drawing.items());
            drawn.busy += self.compute(work, begun);
        }
        match (&self.drawing.mix, self.drawing.protocol.window()) {
            (Some(mix), _) => self.calls(pipe, mix, drawn)?,
            (None, Some(window)) => self.answered(pipe, window, drawn)?,
            (None, None) => self.unanswered(pipe, drawn)?,
        }
        Ok(now().since(begun))
    }

    /// The calls of a mix, one after the other, with a pause between two.
    fn calls<P: Pipe>(&mut self, pipe: &mut P, mix: &Mix, drawn: &mut Drawn) -> io::Result<()> {
        let shape = Shape::of(mix, self.drawing.protocol);
        self.message.resize(shape.there(), 0);
        self.room.resize(shape.back(), 0);
        for call in 0..u64::from(mix.calls()) {
            if call > 0 && mix.think() > Span::ZERO {
                std::thread::sleep(mix.think().into());
            }
            self.call(pipe, &shape, call * shape.messages, drawn)?;
        }
        Ok(())
    }

    /// One call; its first message has this number.
    fn call<P: Pipe>(
        &mut self,
        pipe: &mut P,
        shape: &Shape,
        first: u64,
        drawn: &mut Drawn,
    ) -> io::Result<()> {
        let mut answered = 0;
        for sent in 0..shape.messages {
            if sent - answered == shape.window {
                self.hear_responses(pipe, shape, first + answered, drawn)?;
                answered += 1;
            }
            let begun = now();
            shape.write_requests((first + sent) * shape.together, &mut self.message);
            let work = times(self.drawing.application, shape.together);
            drawn.busy += self.compute(work, begun);
            self.send(pipe, shape.together as usize, drawn)?;
        }
        while answered < shape.messages {
            self.hear_responses(pipe, shape, first + answered, drawn)?;
            answered += 1;
        }
        Ok(())
    }

    fn hear_responses<P: Pipe>(
        &mut self,
        pipe: &mut P,
        shape: &Shape,
        number: u64,
        drawn: &mut Drawn,
    ) -> io::Result<()> {
        shape.hear(pipe, number * shape.together, &mut self.room)?;
        drawn.replies += 1;
        Ok(())
    }

    /// Each request alone and answered, so many on their way.
    fn answered<P: Pipe>(
        &mut self,
        pipe: &mut P,
        window: usize,
        drawn: &mut Drawn,
    ) -> io::Result<()> {
        let all = self.requests.len();
        let mut answered = 0;
        for index in 0..all {
            if index - answered == window {
                self.hear(pipe, answered, drawn)?;
                answered += 1;
            }
            self.message.clear();
            self.add(index, drawn);
            self.send(pipe, 1, drawn)?;
        }
        while answered < all {
            self.hear(pipe, answered, drawn)?;
            answered += 1;
        }
        Ok(())
    }

    /// Requests together as a segment holds them, pixels each with its own; the last one is
    /// answered.
    fn unanswered<P: Pipe>(&mut self, pipe: &mut P, drawn: &mut Drawn) -> io::Result<()> {
        let all = self.requests.len();
        let together = together(self.drawing.protocol);
        for first in (0..all).step_by(together) {
            self.message.clear();
            let last = (first + together).min(all);
            (first..last).for_each(|index| self.add(index, drawn));
            self.send(pipe, last - first, drawn)?;
        }
        self.hear(pipe, all - 1, drawn)
    }

    /// Adds a request to the buffer.
    fn add(&mut self, index: usize, drawn: &mut Drawn) {
        let begun = now();
        let request = &self.requests[index];
        self.message.extend_from_slice(&request.encode());
        let mut work = self.drawing.application;
        if let DisplayRequest::Bits { offset, length } = *request {
            let from = offset as usize;
            self.message.extend_from_slice(&self.bits[from..from + length as usize]);
            work = Span::ZERO;
        }
        drawn.busy += self.compute(work, begun);
    }

    fn compute(&self, work: Span, begun: Time) -> Span {
        compute(work, self.drawing.slowing, self.drawing.speeds.application, begun)
    }

    fn send<P: Pipe>(&self, pipe: &mut P, requests: usize, drawn: &mut Drawn) -> io::Result<()> {
        pipe.send(&self.message)?;
        drawn.requests += requests as u64;
        drawn.bytes += Bytes::new(self.message.len() as u64);
        Ok(())
    }

    fn hear<P: Pipe>(&mut self, pipe: &mut P, index: usize, drawn: &mut Drawn) -> io::Result<()> {
        pipe.receive(&mut self.reply)?;
        drawn.replies += 1;
        if self.reply == reply(index) {
            Ok(())
        } else {
            Err(nonsense("the display answered another request than was due"))
        }
    }
}

/// Shows pictures until the application ends the run; the display's end.
pub(super) fn show<P: Pipe>(
    pipe: &mut P,
    drawing: &Drawing,
    viewer: &mut Viewer<'_>,
) -> io::Result<Displayed> {
    slow_down(drawing, drawing.nice.display, drawing.speeds.display)?;
    let mut screen = Screen::new(drawing);
    let tally = tally(drawing)?;
    let mut words = [0; REQUEST_BYTES];
    loop {
        echo::answered(pipe, &mut words)?;
        if words[..4] != ORDER {
            return Err(nonsense("no order for a picture; do both ends have the same version?"));
        }
        let is_last = is_last(&words);
        if !is_last {
            screen.clear()?;
        }
        pipe.say(&words)?;
        if is_last {
            screen.shown.discarded = tally.map(|tally| tally.end()).transpose()?;
            pipe.close();
            return Ok(screen.shown);
        }
        screen.picture(pipe, viewer)?;
    }
}

/// Whether an order is that for no further picture.
pub(super) fn is_last(words: &[u8]) -> bool {
    words.get(4..8) == Some(&[0; 4])
}

/// The display with its account.
pub(super) struct Screen<'a> {
    drawing: &'a Drawing,
    requests: Vec<DisplayRequest>,
    expected: String,
    display: Display,
    room: Vec<u8>,
    /// Requests of this picture that have come.
    taken: usize,
    /// The time at which the first of them arrived.
    begun: Option<Time>,
    /// The time of a picture that is not in the account yet.
    done: Option<Span>,
    shown: Displayed,
}

impl<'a> Screen<'a> {
    pub(super) fn new(drawing: &'a Drawing) -> Self {
        Self {
            drawing,
            requests: drawing.requests(),
            expected: drawing.workload.picture().digest(),
            display: Display::default(),
            room: vec![0; TOGETHER * REQUEST_BYTES],
            taken: 0,
            begun: None,
            done: None,
            shown: Displayed::default(),
        }
    }

    /// The account of the pictures that were drawn.
    pub(super) fn into_account(self) -> Displayed {
        self.shown
    }

    /// Reports what is shown, if it is time.
    pub(super) fn show_to(&self, viewer: &mut Viewer<'_>) {
        viewer.look(&self.display);
    }

    /// An empty screen, with the symbols that the display must have before.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        (self.taken, self.begun) = (0, None);
        self.display = Display::default();
        for request in self.drawing.before() {
            self.display.take(&request).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn picture<P: Pipe>(&mut self, pipe: &mut P, viewer: &mut Viewer<'_>) -> io::Result<()> {
        if let Some(mix) = &self.drawing.mix {
            return self.calls(pipe, mix);
        }
        let (all, together) = (self.requests.len(), together(self.drawing.protocol));
        while self.taken < all {
            let octets = octets(&self.requests[self.taken..(self.taken + together).min(all)]);
            pipe.receive(&mut self.room[..octets])?;
            if let Some(answer) = self.message(octets)? {
                pipe.send(&answer)?;
            }
            self.show_to(viewer);
        }
        let span = self.since_begun();
        self.account(span)?;
        self.show_to(viewer);
        Ok(())
    }

    /// A message that was handed over in a call; its answer, where it has one. [`Self::settle`]
    /// looks at the finished picture later, when no peer waits.
    pub(super) fn called(&mut self, message: &[u8]) -> io::Result<Option<[u8; REPLY_BYTES]>> {
        let room =
            self.room.get_mut(..message.len()).ok_or_else(|| nonsense("a message is too long"))?;
        room.copy_from_slice(message);
        let answer = self.message(message.len())?;
        if self.taken == self.requests.len() {
            self.done = Some(self.since_begun());
        }
        Ok(answer)
    }

    /// Accounts for the picture that was drawn by calls, if one was.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.done.take().map_or(Ok(()), |span| self.account(span))
    }

    /// Processes a received message, and returns its answer, if it has one.
    fn message(&mut self, octets: usize) -> io::Result<Option<[u8; REPLY_BYTES]>> {
        self.begun.get_or_insert_with(now);
        self.shown.bytes += Bytes::new(octets as u64);
        self.take(octets)?;
        let is_answered =
            self.drawing.protocol.window().is_some() || self.taken == self.requests.len();
        self.shown.replies += u64::from(is_answered);
        Ok(is_answered.then(|| reply(self.taken - 1)))
    }

    /// Since the picture's first request had come.
    fn since_begun(&self) -> Span {
        now().since(self.begun.unwrap_or_else(now))
    }

    /// The calls of a mix.
    fn calls<P: Pipe>(&mut self, pipe: &mut P, mix: &Mix) -> io::Result<()> {
        let shape = Shape::of(mix, self.drawing.protocol);
        self.room.resize(shape.there(), 0);
        let mut answer = vec![0; shape.back()];
        for number in 0..u64::from(mix.calls()) * shape.messages {
            pipe.receive(&mut self.room)?;
            let begun = now();
            self.begun.get_or_insert(begun);
            let first = number * shape.together;
            self.shown.wrong += u64::from(!shape.are_requests(first, &self.room));
            self.shown.requests += shape.together;
            self.shown.bytes += Bytes::new(self.room.len() as u64);
            shape.write_responses(first, &mut answer);
            self.shown.busy += self.compute(times(self.drawing.display, shape.together), begun);
            pipe.send(&answer)?;
            self.shown.replies += 1;
        }
        self.shown.pictures += 1;
        let span = self.since_begun();
        self.shown.spans.push(span);
        Ok(())
    }

    /// Performs the requests of a message.
    fn take(&mut self, octets: usize) -> io::Result<()> {
        let mut rest = &self.room[..octets];
        while let Some((request, behind)) = rest.split_first_chunk::<REQUEST_BYTES>() {
            let begun = now();
            let request = DisplayRequest::decode(request).map_err(io::Error::other)?;
            self.display.take(&request).map_err(io::Error::other)?;
            rest = behind;
            if let DisplayRequest::Bits { offset, length } = request {
                let Some((bits, behind)) = rest.split_at_checked(length as usize) else {
                    return Err(nonsense("a piece of a bitmap is longer than its message"));
                };
                self.display.set_bits(offset, bits).map_err(io::Error::other)?;
                rest = behind;
            }
            self.shown.requests += 1;
            self.taken += 1;
            let work = times(self.drawing.display, drawn_by(&request, &self.display));
            self.shown.busy += self.compute(work, begun);
        }
        Ok(())
    }

    fn compute(&self, work: Span, begun: Time) -> Span {
        compute(work, self.drawing.slowing, self.drawing.speeds.display, begun)
    }

    /// The remaining work when a picture is drawn; no peer waits for this.
    fn account(&mut self, span: Span) -> io::Result<()> {
        if self.drawing.protocol == Protocol::Construction {
            // The kept items are checked only now.
            self.display.take(&DisplayRequest::Show).map_err(io::Error::other)?;
        }
        self.shown.pictures += 1;
        self.shown.spans.push(span);
        self.shown.digest = self.display.picture().digest();
        self.shown.wrong += u64::from(self.shown.digest != self.expected);
        self.shown.file = Bytes::new(self.display.file().bytes() as u64);
        self.shown.memory = Bytes::new(self.display.file().memory() as u64);
        Ok(())
    }
}

/// Items that a request has the display draw.
fn drawn_by(request: &DisplayRequest, display: &Display) -> u64 {
    match request {
        DisplayRequest::Add { shown, .. } => u64::from(*shown),
        DisplayRequest::Show | DisplayRequest::Redraw => display.file().items() as u64,
        DisplayRequest::Bits { .. } => 0,
    }
}

/// Requests in one message.
fn together(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Pipelined | Protocol::Construction | Protocol::Batched | Protocol::Redraw => {
            TOGETHER
        }
        Protocol::StopAndWait | Protocol::Window(_) | Protocol::Bitmap => 1,
    }
}

/// Of a message with these requests, pixels included.
fn octets(requests: &[DisplayRequest]) -> usize {
    let pixels = |request: &DisplayRequest| match request {
        DisplayRequest::Bits { length, .. } => *length as usize,
        _ => 0,
    };
    requests.iter().map(|request| REQUEST_BYTES + pixels(request)).sum()
}

/// The answer to a request, by its number in the picture.
fn reply(index: usize) -> [u8; REPLY_BYTES] {
    (index as u64).to_be_bytes()
}

/// Has the calling thread give way to others, and run at this speed where the kernel is to see to
/// that.
///
/// # Errors
/// The kernel refuses.
pub fn slow_down(drawing: &Drawing, nice: u8, speed: Speed) -> io::Result<()> {
    give_way(nice)?;
    if drawing.slowing == Slowing::Quota && speed != Speed::FULL { keep_to(speed) } else { Ok(()) }
}

/// Computes for `work` in addition to this end's own work since `begun`, all at this speed, and
/// returns the time.
pub fn compute(work: Span, slowing: Slowing, speed: Speed, begun: Time) -> Span {
    match slowing {
        Slowing::Dilation => dilated(work, speed, begun),
        Slowing::Quota => at_kernel_s_speed(work, begun),
    }
}

/// Whether the kernel keeps a thread of this process to a share of a processor
/// ([`Slowing::Quota`]); it is asked for a thread that ends at once.
///
/// # Errors
/// What the kernel says instead.
pub fn keeps_to_quota(speed: Speed) -> io::Result<()> {
    let asked = std::thread::spawn(move || keep_to(speed)).join();
    asked.unwrap_or_else(|_| Err(io::Error::other("the thread that asked panicked")))
}

/// The kernel stops this thread now and then, so the thread's own time says what it has done.
fn at_kernel_s_speed(work: Span, begun: Time) -> Span {
    if work >= SHORTEST_WORK {
        let until = computed() + work;
        while computed() < until {
            std::hint::spin_loop();
        }
    }
    now().since(begun)
}

fn dilated(work: Span, speed: Speed, begun: Time) -> Span {
    let mut gone = now().since(begun);
    let until = speed.dilated(gone + work);
    if until < gone + SHORTEST_WORK {
        return gone;
    }
    while gone < until {
        std::hint::spin_loop();
        gone = now().since(begun);
    }
    gone
}

fn times(work: Span, count: u64) -> Span {
    Span::from_nanoseconds(work.nanoseconds().saturating_mul(count))
}

pub(super) fn nonsense(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
