//! Servers, for which frames wait. A shared medium is one; a star and a link have one for each
//! direction of each line.

use btu_network::{
    Atm, Contention, Direction, Discipline, Drawing, FairCodel, Fddi, Jitter, Medium, Rate,
    Service, SharedEthernet, Star, TokenRing,
};
use btu_units::{BitRate, Bytes, Span};

use super::answers::PacketSizes;
use super::frames::Occupation;
use crate::polling::ServiceDiscipline;
use crate::tcp;

/// Octets of a frame around its packet, from destination address to check sequence.
const AROUND_PACKET: u64 = 18;

/// The place of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerLocation {
    /// A segment with one server for all stations.
    Segment(u32),
    /// A line of a star, from a station to the switch or back.
    StationLine { segment: u32, station: u32, up: bool },
    /// Like `StationLine`, for a bridge.
    BridgeLine { segment: u32, bridge: u32, up: bool },
    /// A direction of a link.
    Link { link: u32, forth: bool },
    /// A bridge, which only adds time.
    Bridge(u32),
}

/// The kind of a server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nature {
    /// The cable of a shared Ethernet.
    Cable { ideal: bool },
    /// A ring with these rules.
    TokenRing { turn: ServiceDiscipline, holding: f64, early_release: bool },
    /// FDDI with this target rotation time in seconds.
    TimedToken { target: f64 },
    /// A line with its own queue.
    Line,
    /// It serves all frames at once.
    Delay,
}

/// A part of the network that serves frames.
#[derive(Debug)]
pub(super) struct FrameServer {
    pub(super) place: ServerLocation,
    pub(super) nature: Nature,
    pub(super) occupation: Occupation,
    /// The rate in bits per second.
    pub(super) rate: f64,
    /// End to end of a cable; once around a ring; along a line. Seconds.
    pub(super) propagation: f64,
    /// Seconds in a switch or bridge: every frame spends them, and no frame queues for them.
    pub(super) latency: f64,
    /// Stations and bridges on it.
    pub(super) stations: u32,
    /// Of a ring: how many of them send.
    pub(super) active: f64,
    /// How its formula treats frame sizes.
    pub(super) sizes: PacketSizes,
    /// Share of frames that vanish on it, or are damaged and dropped at its end.
    pub(super) loss: f64,
    /// Of these, the losses that make TCP slow down, for each frame.
    pub(super) loss_events: f64,
    /// Whether frames are held back on it until others have overtaken them.
    pub(super) reorders: bool,
    /// A line's random delay.
    pub(super) jitter: Option<Jitter>,
    /// The longest frame that it takes, in octets; longer ones are dropped.
    pub(super) longest_frame: f64,
    /// Its place on a way through the tree, of a line: frames pass lower ones before.
    pub(super) order: Option<i64>,
    /// A line's queue.
    pub(super) queue: Option<Discipline>,
    /// The server of the opposite direction.
    pub(super) back: u32,
    /// The frames that pass it.
    pub(super) visits: Vec<Visit>,
}

/// Frames of a class at a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    /// Place of the class.
    pub(super) class: usize,
    /// Frames per second if every sender of the flow sends one.
    pub(super) unit: f64,
    /// Mean seconds that one occupies the server.
    pub(super) mean: f64,
    /// Second moment of these, in seconds squared.
    pub(super) second: f64,
    /// Seconds from a frame's first bit to its last at the receiver, in addition to those.
    pub(super) beyond: f64,
}

impl FrameServer {
    /// The server of a whole segment; `None` for a star.
    pub(super) fn of_segment(number: u32, medium: &Medium, stations: u32) -> Option<Self> {
        let server = match medium {
            Medium::SharedEthernet(cable) => of_cable(number, cable),
            Medium::TokenRing(ring) => of_token_ring(number, ring, stations),
            Medium::Fddi(ring) => of_fddi(number, ring, stations),
            Medium::SwitchedEthernet(_) | Medium::Atm(_) => return None,
        };
        Some(Self { stations, ..server })
    }

    /// A direction of a line; the last part of `latency` is spent before its queue.
    pub(super) fn of_line(place: ServerLocation, line: &Direction, latency: Span) -> Self {
        let rate = match &line.rate {
            Rate::Fixed(rate) => rate.bits_per_second(),
            Rate::Trace(trace) => trace.mean_rate().bits_per_second(),
        };
        // The next bridge, or the receiver, drops a damaged frame: to TCP it is lost.
        let or_damaged = |lost: f64| 1.0 - (1.0 - lost) * (1.0 - line.corrupt.share());
        Self {
            latency: latency.seconds(),
            loss: or_damaged(line.loss.share()),
            loss_events: or_damaged(tcp::loss_events(line.loss)),
            reorders: line.reorder.share.share() > 0.0,
            jitter: line.jitter,
            longest_frame: (line.mtu.count() + AROUND_PACKET) as f64,
            queue: Some(line.queue),
            ..blank(place, Nature::Line, Occupation::of_line(line), rate.max(1), line.delay)
        }
    }

    /// The server of a bridge.
    pub(super) fn of_bridge(number: u32, latency: Span) -> Self {
        let blank =
            blank(ServerLocation::Bridge(number), Nature::Delay, Occupation::OWN, 1, Span::ZERO);
        Self { latency: latency.seconds(), ..blank }
    }

    /// Seconds from a frame's first bit to its last at the receiver, in addition to those in which
    /// it occupies the server; its receiver is this share of a ring away.
    pub(super) fn beyond(&self, share: f64) -> f64 {
        let way = match self.nature {
            // The cable's formula has its propagation in it.
            Nature::Cable { .. } => 0.0,
            Nature::TokenRing { .. } | Nature::TimedToken { .. } => self.propagation * share,
            Nature::Line | Nature::Delay => self.propagation,
        };
        way + self.latency - self.occupation.gap_bits() / self.rate
    }

    /// Seconds that a frame waits when no other frame is there.
    pub(super) fn idle_wait(&self) -> f64 {
        match self.nature {
            Nature::Cable { .. } => 2.0 * self.propagation,
            Nature::TokenRing { .. } | Nature::TimedToken { .. } => self.propagation / 2.0,
            Nature::Line | Nature::Delay => 0.0,
        }
    }

    /// How many frames of this length can wait for a line.
    pub(super) fn room(&self, frame: Bytes) -> Option<f64> {
        let rate = BitRate::from_bits_per_second(self.rate as u64);
        let (frames, bytes) = self.queue?.limit().at(rate);
        Some(frames.min(bytes.count() / frame.count().max(1)) as f64)
    }

    /// Seconds of wait from which on a queue drops frames before it is full.
    pub(super) fn drops_from(&self) -> Option<f64> {
        match self.queue? {
            Discipline::Codel(codel) | Discipline::FqCodel(FairCodel { codel, .. }) => {
                Some(codel.target.seconds())
            }
            Discipline::Red(red) => Some(red.minimum.bits() / self.rate),
            Discipline::TailDrop { .. } => None,
        }
    }

    /// Whether a token goes round on it.
    pub(super) fn is_ring(&self) -> bool {
        matches!(self.nature, Nature::TokenRing { .. } | Nature::TimedToken { .. })
    }

    /// Whether frames wait for it.
    pub(super) fn queues(&self) -> bool {
        !matches!(self.nature, Nature::Delay)
    }
}

fn blank(
    place: ServerLocation,
    nature: Nature,
    occupation: Occupation,
    rate: u64,
    propagation: Span,
) -> FrameServer {
    FrameServer {
        place,
        nature,
        occupation,
        rate: rate as f64,
        propagation: propagation.seconds(),
        latency: 0.0,
        stations: 2,
        active: 1.0,
        sizes: if let Nature::Cable { ideal: true } = nature {
            PacketSizes::Mean
        } else {
            PacketSizes::Drawn
        },
        loss: 0.0,
        loss_events: 0.0,
        reorders: false,
        jitter: None,
        longest_frame: f64::INFINITY,
        order: None,
        queue: None,
        back: 0,
        visits: Vec::new(),
    }
}

fn of_cable(number: u32, cable: &SharedEthernet) -> FrameServer {
    let nature = Nature::Cable { ideal: cable.contention == Contention::Ideal };
    let propagation = cable.length.propagation(cable.velocity);
    blank(
        ServerLocation::Segment(number),
        nature,
        Occupation::of_cable(cable),
        cable.rate.bits_per_second().max(1),
        propagation,
    )
}

/// The ring's latency is the cable's and each station's, or the given value, and at least the
/// token's 24 bits.
fn of_token_ring(number: u32, ring: &TokenRing, stations: u32) -> FrameServer {
    const TOKEN_BITS: f64 = 24.0;
    let rate = ring.rate.bits_per_second().max(1);
    let bits = f64::from(stations) * f64::from(ring.station_latency_bits);
    let drawn = ring.length.propagation(ring.velocity).seconds() + bits / rate as f64;
    let latency = ring.ring_latency.map_or(drawn, Span::seconds).max(TOKEN_BITS / rate as f64);
    let (turn, holding) = match ring.service {
        Service::Gated => (ServiceDiscipline::Gated, f64::INFINITY),
        Service::One => (ServiceDiscipline::One, 0.0),
        // If two full frames do not fit, it is one frame a turn.
        Service::HoldingTime(longest) if longest.seconds() * (rate as f64) < 2.0 * 1529.0 * 8.0 => {
            (ServiceDiscipline::One, 0.0)
        }
        Service::HoldingTime(longest) => (ServiceDiscipline::Exhaustive, longest.seconds()),
        Service::Exhaustive => (ServiceDiscipline::Exhaustive, f64::INFINITY),
    };
    let nature = Nature::TokenRing { turn, holding, early_release: ring.early_release };
    let blank =
        blank(ServerLocation::Segment(number), nature, Occupation::TOKEN_RING, rate, Span::ZERO);
    FrameServer { propagation: latency, ..blank }
}

/// The ring's latency is the fibre's and each station's, at least the token's 88 bits.
fn of_fddi(number: u32, ring: &Fddi, stations: u32) -> FrameServer {
    const TOKEN_BITS: f64 = 88.0;
    let rate = ring.rate.bits_per_second().max(1);
    let drawn = ring.length.propagation(ring.velocity).seconds()
        + ring.station_latency.seconds() * f64::from(stations);
    let nature = Nature::TimedToken { target: ring.target_rotation.seconds() };
    let blank = blank(ServerLocation::Segment(number), nature, Occupation::FDDI, rate, Span::ZERO);
    FrameServer { propagation: drawn.max(TOKEN_BITS / rate as f64), ..blank }
}

/// The star of a segment, if it is one.
pub(super) fn star(drawing: &Drawing, segment: u32) -> Option<&Star> {
    match &drawing.segments[segment as usize].medium {
        Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => Some(star),
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => None,
    }
}
