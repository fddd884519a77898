//! A sender of a flow: the times, sizes and destinations of its frames.

use btu_network::{Arrivals, Drawing, Flow, StationId, Target};
use btu_units::{Bytes, Span, Time};

use super::size::draw;
use crate::frame::Address;
use crate::random::Stream;

/// TCP's shortest timer (Linux: `tcp_rto_min`), and how often it doubles at most, to some 100 s.
const LEAST_TIMEOUT: Span = Span::from_milliseconds(200);
const MOST_DOUBLED: u32 = 9;

/// A sender with a random stream of its own, named `flow/station`.
#[derive(Debug)]
pub(super) struct Source {
    /// Place of the flow in the drawing.
    pub(super) flow: u32,
    /// Place of the sender in the drawing.
    pub(super) station: u32,
    /// Place of the sender in the flow.
    member: u32,
    random: Stream,
    pace: ArrivalProcess,
    stop: Time,
}

/// The times at which a source sends.
#[derive(Debug, Clone, Copy)]
pub(super) enum ArrivalProcess {
    /// After exponentially distributed gaps with this mean, in nanoseconds.
    Poisson { gap: f64 },
    /// Once a period, in nanoseconds: the first time and the number of the next.
    Periodic { period: f64, first: Time, next: u64 },
    /// Whenever there is room.
    Saturated,
    /// One exchange after the other.
    Closed { think: f64, reply: Option<Bytes>, service: Span, phase: Phase, lost: u32 },
}

/// The state of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The request will be sent when the source's alarm rings.
    Thinking,
    /// The request of this time was lost, and will be sent again.
    AskingAgain(Time),
    /// The request, first sent at this time, is under way.
    Asking(Time),
    /// The target works on the request; the reply will be sent when the source's alarm rings.
    Serving { asked: Time, server: u32 },
    /// The reply is under way.
    Answering { asked: Time, server: u32 },
}

/// A frame to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parcel {
    pub(super) from: u32,
    pub(super) to: Address,
    /// From destination address to check sequence.
    pub(super) size: Bytes,
}

/// The source's reaction to a frame that arrived or was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceReaction {
    /// No action.
    None,
    /// The source must be woken at this time.
    Wake(Time),
    /// The exchange is over: its duration, and the time at which the source must be woken.
    Done(Span, Time),
}

impl Source {
    /// The senders of all flows.
    pub(super) fn all(drawing: &Drawing, seed: u64) -> Vec<Self> {
        let flows = (0..).zip(&drawing.traffic);
        flows
            .flat_map(|(number, flow)| {
                (0..).zip(&flow.from).map(move |(member, &StationId(station))| {
                    let name = format!(
                        "traffic/{}/{}",
                        flow.name, drawing.stations[station as usize].name
                    );
                    let stop = flow.stop.map_or(NEVER, |stop| Time::ZERO + stop);
                    let (random, pace) =
                        (Stream::new(seed, &name), ArrivalProcess::of(flow.arrivals));
                    Self { flow: number, station, member, random, pace, stop }
                })
            })
            .collect()
    }

    /// The first wake-up time; `start` is the flow's start.
    pub(super) fn first(&mut self, start: Time) -> Option<Time> {
        let random = &mut self.random;
        let at = match &mut self.pace {
            ArrivalProcess::Poisson { gap } => after(start, random.exponential() * *gap),
            ArrivalProcess::Periodic { period, first, .. } => {
                *first = after(start, random.share() * *period);
                *first
            }
            ArrivalProcess::Saturated => start,
            ArrivalProcess::Closed { think, .. } => after(start, random.exponential() * *think),
        };
        self.before_stop(at)
    }

    /// Whether it always has one more.
    pub(super) fn is_saturated(&self) -> bool {
        matches!(self.pace, ArrivalProcess::Saturated)
    }

    /// Whether it may still send at `now`.
    pub(super) fn may_send(&self, now: Time) -> bool {
        now < self.stop
    }

    /// The frame that it sends at this wake-up, and its next wake-up time.
    pub(super) fn fire(&mut self, flow: &Flow, now: Time) -> (Parcel, Option<Time>) {
        if let ArrivalProcess::Closed { reply: Some(size), phase, .. } = &mut self.pace
            && let Phase::Serving { asked, server } = *phase
        {
            *phase = Phase::Answering { asked, server };
            return (
                Parcel { from: server, to: Address::of_station(self.station), size: *size },
                None,
            );
        }
        let parcel = self.parcel(flow);
        let next = match &mut self.pace {
            ArrivalProcess::Poisson { gap } => Some(after(now, self.random.exponential() * *gap)),
            ArrivalProcess::Periodic { period, first, next } => {
                *next += 1;
                Some(after(*first, *next as f64 * *period))
            }
            ArrivalProcess::Saturated => None,
            ArrivalProcess::Closed { phase, .. } => {
                let first = if let Phase::AskingAgain(asked) = *phase { asked } else { now };
                *phase = Phase::Asking(first);
                None
            }
        };
        (parcel, next.and_then(|at| self.before_stop(at)))
    }

    /// A frame of its flow.
    pub(super) fn parcel(&mut self, flow: &Flow) -> Parcel {
        let size = draw(&flow.sizes, &mut self.random);
        Parcel { from: self.station, to: self.target(flow), size }
    }

    /// Its frame has arrived at `station`, which is free for the next request at `free_at` if it
    /// takes one at a time.
    pub(super) fn arrived(
        &mut self,
        station: u32,
        now: Time,
        free_at: Option<&mut Time>,
    ) -> SourceReaction {
        let ArrivalProcess::Closed { reply, service, phase, lost, .. } = &mut self.pace else {
            return SourceReaction::None;
        };
        *lost = 0;
        match *phase {
            Phase::Asking(asked) if reply.is_some() => {
                *phase = Phase::Serving { asked, server: station };
                let done = free_at.as_deref().map_or(now, |free_at| now.max(*free_at)) + *service;
                if let Some(free_at) = free_at {
                    *free_at = done;
                }
                SourceReaction::Wake(done)
            }
            Phase::Asking(asked) | Phase::Answering { asked, .. } => {
                SourceReaction::Done(now.since(asked), self.think(now))
            }
            Phase::Thinking | Phase::AskingAgain(_) | Phase::Serving { .. } => SourceReaction::None,
        }
    }

    /// Its frame is lost. With one frame on the way no later one tells of it, so it is sent again by
    /// TCP's timer, which doubles.
    pub(super) fn lost(&mut self, now: Time) -> SourceReaction {
        let ArrivalProcess::Closed { phase, lost, .. } = &mut self.pace else {
            return SourceReaction::None;
        };
        *phase = match *phase {
            Phase::Asking(asked) => Phase::AskingAgain(asked),
            Phase::Answering { asked, server } => Phase::Serving { asked, server },
            other => other,
        };
        let wait = LEAST_TIMEOUT * (1u64 << *lost);
        *lost = (*lost + 1).min(MOST_DOUBLED);
        SourceReaction::Wake(now + wait)
    }

    fn think(&mut self, now: Time) -> Time {
        let ArrivalProcess::Closed { think, phase, .. } = &mut self.pace else { return NEVER };
        *phase = Phase::Thinking;
        let at = after(now, self.random.exponential() * *think);
        self.before_stop(at).unwrap_or(NEVER)
    }

    fn target(&mut self, flow: &Flow) -> Address {
        match &flow.to {
            Target::Station(station) => Address::of_station(station.0),
            Target::AnyOf(stations) => Address::of_station(self.any_other(stations)),
            Target::Next => {
                Address::of_station(flow.from[(self.member as usize + 1) % flow.from.len()].0)
            }
            Target::Broadcast => Address::BROADCAST,
        }
    }

    /// One of `stations`, which ascend, but not itself.
    fn any_other(&mut self, stations: &[StationId]) -> u32 {
        let own = stations.binary_search(&StationId(self.station)).ok();
        let choices = stations.len() - usize::from(own.is_some());
        let choice = (self.random.share() * choices as f64) as usize;
        let skipped = usize::from(own.is_some_and(|own| choice >= own));
        stations[choice + skipped].0
    }

    fn before_stop(&self, at: Time) -> Option<Time> {
        (at < self.stop).then_some(at)
    }
}

/// A time that never comes.
pub(super) const NEVER: Time = Time::from_nanoseconds(u64::MAX);

impl ArrivalProcess {
    fn of(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Poisson { per_second } => Self::Poisson { gap: 1e9 / per_second },
            Arrivals::Periodic { per_second } => {
                Self::Periodic { period: 1e9 / per_second, first: Time::ZERO, next: 0 }
            }
            Arrivals::Saturated => Self::Saturated,
            Arrivals::Closed { think, reply, service } => Self::Closed {
                think: think.nanoseconds() as f64,
                reply,
                service,
                phase: Phase::Thinking,
                lost: 0,
            },
        }
    }
}

/// `gap` nanoseconds later, rounded; a gap of infinity is never.
fn after(time: Time, gap: f64) -> Time {
    time + Span::from_nanoseconds(gap.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_network::Sizes;

    fn flow(to: Target) -> Flow {
        Flow {
            name: "flow".to_owned(),
            from: (0..4).map(StationId).collect(),
            to,
            sizes: Sizes::Fixed(Bytes::new(1000)),
            arrivals: Arrivals::Periodic { per_second: 3.0 },
            start: Span::ZERO,
            stop: None,
        }
    }

    fn source(station: u32) -> Source {
        let pace = ArrivalProcess::of(Arrivals::Periodic { per_second: 3.0 });
        Source { flow: 0, station, member: station, random: Stream::new(1, "x"), pace, stop: NEVER }
    }

    #[test]
    fn a_sender_never_chooses_itself_and_all_others_alike() {
        let everybody = flow(Target::AnyOf((0..4).map(StationId).collect()));
        let mut source = source(2);
        let mut chosen = [0u32; 4];
        for _ in 0..3000 {
            chosen[source.target(&everybody).station_number().unwrap() as usize] += 1;
        }
        // Binomial with mean 1000 and standard deviation 26: five of them.
        assert_eq!(chosen[2], 0);
        assert!([0, 1, 3].iter().all(|&other| (870..=1130).contains(&chosen[other])), "{chosen:?}");
    }

    #[test]
    fn the_last_neighbour_is_the_first() {
        let ring = flow(Target::Next);
        assert_eq!(source(1).target(&ring), Address::of_station(2));
        assert_eq!(source(3).target(&ring), Address::of_station(0));
    }

    /// The request is lost twice, the reply once: 0.2, 0.4 and, since the request has arrived, 0.2 s.
    #[test]
    fn a_lost_frame_is_sent_again_by_the_timer() {
        let second = |seconds| Time::ZERO + Span::from_seconds_f64(seconds);
        let (reply, service) = (Some(Bytes::new(64)), Span::ZERO);
        let pace = ArrivalProcess::of(Arrivals::Closed { think: Span::ZERO, reply, service });
        let mut source = Source { pace, ..source(0) };
        let flow = flow(Target::Station(StationId(1)));
        source.fire(&flow, second(1.0));
        assert_eq!(source.lost(second(1.0)), SourceReaction::Wake(second(1.2)));
        source.fire(&flow, second(1.2));
        assert_eq!(source.lost(second(1.2)), SourceReaction::Wake(second(1.6)));
        source.fire(&flow, second(1.6));
        assert_eq!(source.arrived(1, second(1.7), None), SourceReaction::Wake(second(1.7)));
        let (reply, _) = source.fire(&flow, second(1.7));
        assert_eq!((reply.from, source.lost(second(1.7))), (1, SourceReaction::Wake(second(1.9))));
        source.fire(&flow, second(1.9));
        let done = SourceReaction::Done(Span::from_seconds_f64(1.0), second(2.0));
        assert_eq!(source.arrived(0, second(2.0), None), done);
    }

    #[test]
    fn a_period_that_is_not_whole_nanoseconds_does_not_drift() {
        let everywhere = flow(Target::Broadcast);
        let mut source = source(0);
        let first = source.first(Time::ZERO).unwrap();
        let last = (0..3000).fold(first, |at, _| source.fire(&everywhere, at).1.unwrap());
        assert_eq!(last.since(first), Span::from_seconds(1000));
    }
}
