//! The two parts of an end: frames that it sends and receives, and the loops that move messages.
//!
//! The loops are measured. Each is the transport's calls, a tag written, a tag compared, and a
//! counter.

use std::io::{self, ErrorKind};

use btu_contract::pipe::Pattern;
use btu_stats::Histogram;
use btu_units::{Span, Time};

use super::Pipe;
use super::frame::{FRAME, PipeFrame, PipeFrameKind};
use super::message::Messages;
use crate::clock::now;

/// Messages of one size in one pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) pattern: Pattern,
    pub(super) size: usize,
    pub(super) repetitions: u64,
}

/// The result of a round at one end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundResult {
    /// By this end's clock.
    pub(super) begun: Time,
    pub(super) elapsed: Span,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) wrong: u64,
}

/// One end of an established pipe.
pub(super) struct Talk<P> {
    pub(super) pipe: P,
    pub(super) messages: Messages,
}

impl<P: Pipe> Talk<P> {
    /// Sends a frame.
    pub(super) fn say(&mut self, frame: &PipeFrame) -> io::Result<()> {
        self.pipe.say(&frame.encode())
    }

    /// Receives a frame.
    pub(super) fn hear(&mut self) -> io::Result<PipeFrame> {
        let mut bytes = [0; FRAME];
        self.pipe.hear(&mut bytes)?;
        PipeFrame::decode(&bytes)
            .ok_or_else(|| nonsense("what came is none of the words agreed on"))
    }

    /// Receives a frame of this kind.
    pub(super) fn hear_kind(&mut self, kind: PipeFrameKind) -> io::Result<PipeFrame> {
        let frame = self.hear()?;
        if frame.kind == kind { Ok(frame) } else { Err(nonsense("another word was due")) }
    }

    /// The near end's part.
    pub(super) fn lead(
        &mut self,
        round: Round,
        each: Option<&mut Histogram>,
    ) -> io::Result<RoundResult> {
        let (repetitions, begun) = (round.repetitions, now());
        let wrong = match (round.pattern, each) {
            (Pattern::PingPong, None) => self.ask(round)?,
            (Pattern::PingPong, Some(each)) => self.ask_timing_each(round, each)?,
            (Pattern::Streaming, _) => self.stream_out(round)?,
            (Pattern::Bidirectional, _) => self.exchange(round)?,
        };
        let received = if round.pattern == Pattern::Streaming { 0 } else { repetitions };
        Ok(RoundResult { begun, elapsed: now().since(begun), sent: repetitions, received, wrong })
    }

    /// The far end's part.
    pub(super) fn follow(&mut self, round: Round) -> io::Result<RoundResult> {
        let repetitions = round.repetitions;
        self.pipe.begin_stream(if round.pattern == Pattern::Streaming { repetitions } else { 0 });
        let begun = now();
        let wrong = match round.pattern {
            Pattern::PingPong => self.answer(round)?,
            Pattern::Streaming if P::LOSES => return self.catch(round, begun),
            Pattern::Streaming => self.stream_in(round)?,
            Pattern::Bidirectional => self.exchange(round)?,
        };
        let sent = if round.pattern == Pattern::Streaming { 0 } else { repetitions };
        Ok(RoundResult { begun, elapsed: now().since(begun), sent, received: repetitions, wrong })
    }

    #[inline]
    fn there_and_back(&mut self, n: u64, size: usize) -> io::Result<bool> {
        self.pipe.reclaim()?;
        self.pipe.send(self.messages.message(n, size))?;
        self.pipe.receive(self.messages.room(size))?;
        Ok(self.messages.is_right(n, size))
    }

    fn ask(&mut self, Round { size, repetitions, .. }: Round) -> io::Result<u64> {
        let mut wrong = 0;
        for n in 0..repetitions {
            wrong += u64::from(!self.there_and_back(n, size)?);
        }
        Ok(wrong)
    }

    fn ask_timing_each(&mut self, round: Round, each: &mut Histogram) -> io::Result<u64> {
        let (mut wrong, mut asked) = (0, now());
        for n in 0..round.repetitions {
            wrong += u64::from(!self.there_and_back(n, round.size)?);
            let answered = now();
            each.record(answered.since(asked).nanoseconds());
            asked = answered;
        }
        Ok(wrong)
    }

    fn answer(&mut self, Round { size, repetitions, .. }: Round) -> io::Result<u64> {
        let mut wrong = 0;
        for n in 0..repetitions {
            // Answers arrive in the memory from which questions are sent, so it must be free
            // already now.
            self.pipe.reclaim()?;
            self.pipe.receive(self.messages.room(size))?;
            wrong += u64::from(!self.messages.is_right(n, size));
            self.pipe.send(self.messages.message(n, size))?;
        }
        Ok(wrong)
    }

    fn stream_out(&mut self, Round { size, repetitions, .. }: Round) -> io::Result<u64> {
        for n in 0..repetitions {
            self.pipe.reclaim()?;
            self.pipe.cast(self.messages.message(n, size))?;
        }
        Ok(0)
    }

    /// A stream with messages that can get lost. It lasts until the last message that arrived. The
    /// receiver recognises the last message only when the end arrives; so it times each message.
    fn catch(&mut self, Round { size, .. }: Round, begun: Time) -> io::Result<RoundResult> {
        let mut seen = RoundResult { begun, ..RoundResult::default() };
        while let Some(n) = self.pipe.catch(self.messages.room(size))? {
            seen.elapsed = now().since(begun);
            seen.received += 1;
            seen.wrong += u64::from(!self.messages.is_right(n, size));
        }
        Ok(seen)
    }

    fn stream_in(&mut self, Round { size, repetitions, .. }: Round) -> io::Result<u64> {
        let mut wrong = 0;
        for n in 0..repetitions {
            self.pipe.receive(self.messages.room(size))?;
            wrong += u64::from(!self.messages.is_right(n, size));
        }
        Ok(wrong)
    }

    fn exchange(&mut self, Round { size, repetitions, .. }: Round) -> io::Result<u64> {
        let mut wrong = 0;
        for n in 0..repetitions {
            let (message, room) = self.messages.both(n, size);
            self.pipe.exchange(message, room)?;
            wrong += u64::from(!self.messages.is_right(n, size));
        }
        Ok(wrong)
    }
}

/// The peer breaks the protocol.
pub(super) fn nonsense(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
