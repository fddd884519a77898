//! The far end: performs the near end's requests, until the near end is done.

use std::io;

use btu_units::Bytes;

use super::Pipe;
use super::frame::{PipeFrame, PipeFrameKind};
use super::talk::{Round, RoundResult, Talk, nonsense};

/// Serves the near end; returns when it has sent the farewell. No message is larger than `largest`.
pub(super) fn follow<P: Pipe>(talk: &mut Talk<P>, largest: Bytes) -> io::Result<()> {
    let mut seen = RoundResult::default();
    loop {
        let frame = talk.hear()?;
        match frame.kind {
            PipeFrameKind::Round => {
                let round = round(&frame, largest)?;
                talk.say(&PipeFrame::plain(PipeFrameKind::Ready))?;
                seen = talk.follow(round)?;
            }
            PipeFrameKind::Tell => {
                let account = account(&seen, talk.pipe.repeats());
                talk.say(&account)?;
            }
            PipeFrameKind::Farewell => return talk.say(&PipeFrame::plain(PipeFrameKind::Farewell)),
            PipeFrameKind::Ready | PipeFrameKind::Account | PipeFrameKind::Further => {
                return Err(nonsense("the near end answered instead of asking"));
            }
        }
    }
}

fn round(frame: &PipeFrame, largest: Bytes) -> io::Result<Round> {
    if frame.size == 0 || frame.size > largest.count() {
        return Err(nonsense("a message of another size than planned was announced"));
    }
    Ok(Round { pattern: frame.pattern, size: frame.size as usize, repetitions: frame.count })
}

fn account(seen: &RoundResult, repeats: super::Repeats) -> PipeFrame {
    PipeFrame {
        count: seen.begun.nanoseconds(),
        received: seen.received,
        sent: seen.sent,
        elapsed_ns: seen.elapsed.nanoseconds(),
        wrong: seen.wrong,
        repeated: repeats.repeated,
        duplicates: repeats.duplicates,
        ..PipeFrame::plain(PipeFrameKind::Account)
    }
}
