//! The far end: performs the near end's requests, until the near end is done.

use std::io;

use btu_units::Bytes;

use super::Pipe;
use super::frame::{Frame, Kind};
use super::talk::{Round, Seen, Talk, nonsense};

/// Serves the near end; returns when it has sent the farewell. No message is larger than `largest`.
pub(super) fn follow<P: Pipe>(talk: &mut Talk<P>, largest: Bytes) -> io::Result<()> {
    let mut seen = Seen::default();
    loop {
        let frame = talk.hear()?;
        match frame.kind {
            Kind::Round => {
                let round = round(&frame, largest)?;
                talk.say(&Frame::plain(Kind::Ready))?;
                seen = talk.follow(round)?;
            }
            Kind::Tell => {
                let account = account(&seen, talk.pipe.repeats());
                talk.say(&account)?;
            }
            Kind::Farewell => return talk.say(&Frame::plain(Kind::Farewell)),
            Kind::Ready | Kind::Account | Kind::Further => {
                return Err(nonsense("the near end answered instead of asking"));
            }
        }
    }
}

fn round(frame: &Frame, largest: Bytes) -> io::Result<Round> {
    if frame.size == 0 || frame.size > largest.count() {
        return Err(nonsense("a message of another size than planned was announced"));
    }
    Ok(Round { pattern: frame.pattern, size: frame.size as usize, repetitions: frame.count })
}

fn account(seen: &Seen, repeats: super::Repeats) -> Frame {
    Frame {
        count: seen.begun.nanoseconds(),
        received: seen.received,
        sent: seen.sent,
        elapsed_ns: seen.elapsed.nanoseconds(),
        wrong: seen.wrong,
        repeated: repeats.repeated,
        duplicates: repeats.duplicates,
        ..Frame::plain(Kind::Account)
    }
}
