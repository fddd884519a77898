//! An application that draws on a display, over a pipe: every protocol of the study of 1985, by the same two loops.
//!
//! The application orders each picture (20 octets: how many times it has been ordered; an order of none ends the run), and
//! the display answers when it has an empty screen, with whatever it is to have before. Then time is taken: requests go as the
//! protocol has it, alone or together, and answers come for each or for the last. What is computed on either side is real: items
//! are encoded here, decoded, kept and drawn there.

use std::io;

use btu_suite::app::{
    Display, Displayed, Drawing, Drawn, Protocol, REPLY_BYTES, REQUEST_BYTES, Request, Speed, TOGETHER,
};
use btu_units::{Bytes, Span, Time};

use super::Pipe;
use crate::clock::{Limit, now};

/// An order for a picture, or the answer that the display is ready.
const ORDER: [u8; 4] = *b"draw";

/// Fewer nanoseconds are left out of what an end is to compute: reading the clock takes as much.
const SHORTEST_WORK: Span = Span::from_nanoseconds(200);

/// Draws pictures until the order's time has passed; the application's end.
pub(super) fn draw<P: Pipe>(pipe: &mut P, drawing: &Drawing, limit: &Limit<'_>) -> io::Result<Drawn> {
    let mut application = Application::new(drawing);
    let mut drawn =
        Drawn { pictures: Vec::new(), requests: 0, bytes: Bytes::ZERO, replies: 0, busy: Span::ZERO, repeated: 0 };
    let begun = now();
    let before = pipe.repeats();
    let most = drawing.most_pictures.min(Drawing::MOST_PICTURES) as usize;
    while drawn.pictures.is_empty()
        || (now().since(begun) < drawing.target && drawn.pictures.len() < most && !limit.stopped())
    {
        let took = order(pipe, drawn.pictures.len() as u32 + 1)?;
        // The answer's own acknowledgement is not to be on a slow line in front of the first request.
        std::thread::sleep(took.into());
        let took = application.picture(pipe, &mut drawn)?;
        drawn.pictures.push(took);
    }
    order(pipe, 0)?;
    pipe.close();
    drawn.repeated = pipe.repeats().since(before).repeated;
    Ok(drawn)
}

/// Has the display get ready for a picture, or go; how long until it had answered.
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

/// What the application draws from.
struct Application<'a> {
    drawing: &'a Drawing,
    requests: Vec<Request>,
    /// Pixels of the finished picture, where those are sent.
    bits: Vec<u8>,
    message: Vec<u8>,
    reply: [u8; REPLY_BYTES],
}

impl<'a> Application<'a> {
    fn new(drawing: &'a Drawing) -> Self {
        let bits = match drawing.protocol {
            Protocol::Bitmap => drawing.workload.picture().bits().to_vec(),
            _ => Vec::new(),
        };
        let message = Vec::with_capacity(TOGETHER * REQUEST_BYTES);
        Self { drawing, requests: drawing.requests(), bits, message, reply: [0; REPLY_BYTES] }
    }

    /// Draws a picture; how long that took.
    fn picture<P: Pipe>(&mut self, pipe: &mut P, drawn: &mut Drawn) -> io::Result<Span> {
        let begun = now();
        if self.drawing.protocol == Protocol::Bitmap {
            // Whoever sends pixels has drawn them itself.
            let work = times(self.drawing.application, self.drawing.items());
            drawn.busy += compute(work, self.drawing.speeds.application, begun);
        }
        match self.drawing.protocol.window() {
            Some(window) => self.answered(pipe, window, drawn)?,
            None => self.unanswered(pipe, drawn)?,
        }
        Ok(now().since(begun))
    }

    /// Each request alone and answered, so many on their way.
    fn answered<P: Pipe>(&mut self, pipe: &mut P, window: usize, drawn: &mut Drawn) -> io::Result<()> {
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

    /// Requests together as a segment holds them, pixels each with its own; the last one is answered.
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

    /// Makes a request.
    fn add(&mut self, index: usize, drawn: &mut Drawn) {
        let begun = now();
        let request = &self.requests[index];
        self.message.extend_from_slice(&request.encode());
        let mut work = self.drawing.application;
        if let Request::Bits { offset, length } = *request {
            let from = offset as usize;
            self.message.extend_from_slice(&self.bits[from..from + length as usize]);
            work = Span::ZERO;
        }
        drawn.busy += compute(work, self.drawing.speeds.application, begun);
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
pub(super) fn show<P: Pipe>(pipe: &mut P, drawing: &Drawing) -> io::Result<Displayed> {
    let mut screen = Screen::new(drawing);
    let mut words = [0; REQUEST_BYTES];
    loop {
        pipe.hear(&mut words)?;
        if words[..4] != ORDER {
            return Err(nonsense("no order for a picture; do both ends have the same version?"));
        }
        let is_last = words[4..8] == [0; 4];
        if !is_last {
            screen.clear()?;
        }
        pipe.say(&words)?;
        if is_last {
            pipe.close();
            return Ok(screen.shown);
        }
        screen.picture(pipe)?;
    }
}

/// The display with its account.
struct Screen<'a> {
    drawing: &'a Drawing,
    requests: Vec<Request>,
    expected: String,
    display: Display,
    room: Vec<u8>,
    shown: Displayed,
}

impl<'a> Screen<'a> {
    fn new(drawing: &'a Drawing) -> Self {
        let shown = Displayed {
            pictures: 0,
            spans: Vec::new(),
            requests: 0,
            bytes: Bytes::ZERO,
            replies: 0,
            busy: Span::ZERO,
            wrong: 0,
            digest: String::new(),
            file: Bytes::ZERO,
            memory: Bytes::ZERO,
        };
        Self {
            drawing,
            requests: drawing.requests(),
            expected: drawing.workload.picture().digest(),
            display: Display::default(),
            room: vec![0; TOGETHER * REQUEST_BYTES],
            shown,
        }
    }

    /// An empty screen, with what the display is to have before.
    fn clear(&mut self) -> io::Result<()> {
        self.display = Display::default();
        for request in self.drawing.before() {
            self.display.take(&request).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn picture<P: Pipe>(&mut self, pipe: &mut P) -> io::Result<()> {
        let (all, together) = (self.requests.len(), together(self.drawing.protocol));
        let answers_each = self.drawing.protocol.window().is_some();
        let mut begun: Option<Time> = None;
        for first in (0..all).step_by(together) {
            let last = (first + together).min(all);
            let octets = octets(&self.requests[first..last]);
            pipe.receive(&mut self.room[..octets])?;
            begun.get_or_insert_with(now);
            self.shown.bytes += Bytes::new(octets as u64);
            self.take(octets)?;
            if answers_each || last == all {
                pipe.send(&reply(last - 1))?;
                self.shown.replies += 1;
            }
        }
        let span = now().since(begun.unwrap_or_else(now));
        self.account(span)
    }

    /// Does what a message asks.
    fn take(&mut self, octets: usize) -> io::Result<()> {
        let mut rest = &self.room[..octets];
        while let Some((request, behind)) = rest.split_first_chunk::<REQUEST_BYTES>() {
            let begun = now();
            let request = Request::decode(request).map_err(io::Error::other)?;
            self.display.take(&request).map_err(io::Error::other)?;
            rest = behind;
            if let Request::Bits { offset, length } = request {
                let Some((bits, behind)) = rest.split_at_checked(length as usize) else {
                    return Err(nonsense("a piece of a bitmap is longer than its message"));
                };
                self.display.set_bits(offset, bits).map_err(io::Error::other)?;
                rest = behind;
            }
            self.shown.requests += 1;
            let work = times(self.drawing.display, drawn_by(&request, &self.display));
            self.shown.busy += compute(work, self.drawing.speeds.display, begun);
        }
        Ok(())
    }

    /// What is left when a picture is drawn; nobody waits for this.
    fn account(&mut self, span: Span) -> io::Result<()> {
        if self.drawing.protocol == Protocol::Construction {
            // Only now is it seen what was kept.
            self.display.take(&Request::Show).map_err(io::Error::other)?;
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
fn drawn_by(request: &Request, display: &Display) -> u64 {
    match request {
        Request::Add { shown, .. } => u64::from(*shown),
        Request::Show | Request::Redraw => display.file().items() as u64,
        Request::Bits { .. } => 0,
    }
}

/// Requests in one message.
fn together(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Pipelined | Protocol::Construction | Protocol::Batched | Protocol::Redraw => TOGETHER,
        Protocol::StopAndWait | Protocol::Window(_) | Protocol::Bitmap => 1,
    }
}

/// Of a message with these requests, pixels included.
fn octets(requests: &[Request]) -> usize {
    let pixels = |request: &Request| match request {
        Request::Bits { length, .. } => *length as usize,
        _ => 0,
    };
    requests.iter().map(|request| REQUEST_BYTES + pixels(request)).sum()
}

/// The answer to a request, by its number in the picture.
fn reply(index: usize) -> [u8; REPLY_BYTES] {
    (index as u64).to_be_bytes()
}

/// Computes for `work` on top of what this end has done since `begun`, all at this speed, and says how long that took.
fn compute(work: Span, speed: Speed, begun: Time) -> Span {
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

fn nonsense(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
