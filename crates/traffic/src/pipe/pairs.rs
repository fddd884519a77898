//! Several pairs that are measured together: how the others find each other over the first, and how
//! all do one round.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::{io, thread};

use btu_contract::activity::{PipeMeeting, Rendezvous};
use btu_contract::pipe::{End, Pattern};
use btu_stats::Histogram;
use btu_units::Span;

use super::frame::{PipeFrame, PipeFrameKind};
use super::message::Messages;
use super::talk::{Round, RoundResult, Talk, nonsense};
use super::{Pipe, Repeats, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;

/// Lets the other pairs meet: each at its own place, which the far end sends over the first pair.
pub(super) fn gather<S: Setup>(
    first: &mut Talk<S::Pipe>,
    meeting: &PipeMeeting,
    terms: &Terms,
    limit: &Limit<'_>,
    messages: impl Fn() -> Messages,
) -> Result<Vec<Talk<S::Pipe>>, TrafficError> {
    let trouble = |source| TrafficError::Pipe {
        operation: "arrange further pairs",
        object: terms.plan.kind.label().to_owned(),
        source,
    };
    let mut others = Vec::new();
    for number in 1..terms.plan.pairs {
        let setup: S = match terms.end {
            End::Near => {
                let told = first
                    .say(&PipeFrame::plain(PipeFrameKind::Further))
                    .and_then(|()| first.hear_kind(PipeFrameKind::Further));
                let place =
                    told.and_then(|told| further(meeting, number, told.size)).map_err(trouble)?;
                S::prepare(&place, terms)?
            }
            End::Far => {
                first.hear_kind(PipeFrameKind::Further).map_err(trouble)?;
                let setup = S::prepare(&further(meeting, number, 0).map_err(trouble)?, terms)?;
                let port = setup.endpoint().map_or(0, |endpoint| u64::from(endpoint.port()));
                first
                    .say(&PipeFrame { size: port, ..PipeFrame::plain(PipeFrameKind::Further) })
                    .map_err(trouble)?;
                first.pipe.rest();
                setup
            }
        };
        let mut pipe = setup.meet(limit)?;
        // The far end waits for this message, and this end now turns to another pair.
        pipe.rest();
        others.push(Talk { pipe, messages: messages() });
    }
    Ok(others)
}

/// Where pair `number` meets: as the first, at another port or path.
fn further(meeting: &PipeMeeting, number: u32, port: u64) -> io::Result<PipeMeeting> {
    let numbered = |path: &std::path::Path| path.with_extension(number.to_string());
    Ok(match meeting {
        PipeMeeting::Network(Rendezvous::Listen(address)) => {
            PipeMeeting::Network(Rendezvous::Listen(*address))
        }
        PipeMeeting::Network(Rendezvous::Connect(peer)) => {
            let port = u16::try_from(port).map_err(|_| nonsense("no port of a further pair"))?;
            PipeMeeting::Network(Rendezvous::Connect(SocketAddr::new(peer.ip(), port)))
        }
        PipeMeeting::ListenAt(path) => PipeMeeting::ListenAt(numbered(path)),
        PipeMeeting::ConnectAt(path) => PipeMeeting::ConnectAt(numbered(path)),
    })
}

/// Both ends' accounts of a round, of one pair or of several.
#[derive(Debug, Clone, Copy)]
pub(super) struct Played {
    pub(super) near: RoundResult,
    pub(super) far: RoundResult,
    /// Repeats at the near end and at the far one, so far.
    pub(super) repeats: [Repeats; 2],
}

/// All pairs do this round, beginning together; the account of them all.
pub(super) fn play<P: Pipe>(
    talks: &mut [Talk<P>],
    round: Round,
    each: Option<&mut Histogram>,
) -> io::Result<Played> {
    if let [only] = talks {
        return play_one(only, round, each, None);
    }
    let start = Barrier::new(talks.len());
    let is_timed = each.is_some();
    let played = thread::scope(|scope| {
        let start = &start;
        let pairs: Vec<_> = talks
            .iter_mut()
            .map(|talk| {
                scope.spawn(move || {
                    let mut own = is_timed.then(Histogram::new);
                    let played = play_one(talk, round, own.as_mut(), Some(start));
                    // The others may take longer.
                    talk.pipe.rest();
                    played.map(|played| (played, own))
                })
            })
            .collect();
        let results = pairs
            .into_iter()
            .map(|pair| pair.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // All of them, so that none is left alone, and only then the first that failed.
        results.collect::<Vec<_>>().into_iter().collect::<io::Result<Vec<_>>>()
    })?;
    if let Some(each) = each {
        played.iter().filter_map(|(_, own)| own.as_ref()).for_each(|own| each.merge(own));
    }
    let accounts = played.into_iter().map(|(played, _)| played);
    accounts.reduce(Played::and).ok_or_else(|| nonsense("there is no pair"))
}

/// One round of one pair: announced, begun together with the others, played, accounted for by both
/// ends.
fn play_one<P: Pipe>(
    talk: &mut Talk<P>,
    round: Round,
    each: Option<&mut Histogram>,
    start: Option<&Barrier>,
) -> io::Result<Played> {
    let Round { pattern, size, repetitions } = round;
    let announcement = PipeFrame {
        pattern,
        size: size as u64,
        count: repetitions,
        ..PipeFrame::plain(PipeFrameKind::Round)
    };
    let announced = talk.say(&announcement).and_then(|()| talk.hear_kind(PipeFrameKind::Ready));
    // Also after a failure: the others wait here.
    start.map(Barrier::wait);
    announced?;
    let near = talk.lead(round, each)?;
    let own_repeats = talk.pipe.repeats();
    talk.say(&PipeFrame::plain(PipeFrameKind::Tell))?;
    let account = talk.hear_kind(PipeFrameKind::Account)?;
    let far = RoundResult {
        begun: btu_units::Time::from_nanoseconds(account.count),
        elapsed: Span::from_nanoseconds(account.elapsed_ns),
        sent: account.sent,
        received: account.received,
        wrong: account.wrong,
    };
    let repeats =
        [own_repeats, Repeats { repeated: account.repeated, duplicates: account.duplicates }];
    Ok(Played { near, far, repeats })
}

impl Played {
    fn and(self, other: Self) -> Self {
        let [near, far] = self.repeats;
        Self {
            near: self.near.and(other.near),
            far: self.far.and(other.far),
            repeats: [near.and(other.repeats[0]), far.and(other.repeats[1])],
        }
    }

    /// Messages sent again, by both ends.
    pub(super) fn repeated(&self) -> u64 {
        self.repeats.iter().fold(0, |sum, repeats| sum.saturating_add(repeats.repeated))
    }

    /// Repetitions that were completed: messages of a stream that arrived, at least one.
    pub(super) fn completed(&self, pattern: Pattern) -> u64 {
        let completed =
            if pattern == Pattern::Streaming { self.far.received } else { self.near.received };
        completed.max(1)
    }
}

impl RoundResult {
    /// Two pairs together: from the first begin to the last end, by the same clock.
    fn and(self, other: Self) -> Self {
        let begun = self.begun.min(other.begun);
        // A peer can report a begin at the largest time; then the span ends there.
        let end = |seen: &Self| seen.begun.nanoseconds().saturating_add(seen.elapsed.nanoseconds());
        let end = end(&self).max(end(&other));
        Self {
            begun,
            elapsed: Span::from_nanoseconds(end.saturating_sub(begun.nanoseconds())),
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            wrong: self.wrong.saturating_add(other.wrong),
        }
    }
}
