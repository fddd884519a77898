//! How often requests leave: often enough for a median, and seldom enough for a slow line.

use btu_network::{Drawing, StationId};
use btu_units::Span;

use super::plan::ASKED;
use btu_contract::experiment::SEGMENT;
use btu_contract::experiment::{AROUND_DATAGRAM, AROUND_SEGMENT, passage};

/// The mean interval on a line that is not slow, or not known: 150 requests in three seconds, and
/// 0.4 % of a line of 10 Mb/s.
const INTERVAL: Span = Span::from_milliseconds(20);

/// Requests take a share of one of so many of a slow line: 2 %, as long as that is [`ENOUGH`] in a
/// phase, and never more than 20 %.
const RARELY: u64 = 50;
const OFTEN: u64 = 5;

/// Requests of a phase that are enough for a median: its interval by ranks has ten of them on each
/// side.
const ENOUGH: u64 = 30;

/// Fewest requests of a phase, on average, and fewest full segments.
const LEAST: u64 = 10;

/// The mean interval between requests from one station to another and back, in phases of this time;
/// `None` is a network that is not known.
pub fn interval(way: Option<(&Drawing, [StationId; 2])>, time: Span) -> Span {
    let occupied = way.map_or(Span::ZERO, |(drawing, ends)| occupied(drawing, ends));
    let wanted = (occupied * RARELY).min(Span::from_nanoseconds(time.nanoseconds() / ENOUGH));
    INTERVAL.max(wanted).max(occupied * OFTEN)
}

/// The shortest time of a phase in which a slow line carries enough requests for a median, and enough
/// full segments for a rate.
pub fn least_time(drawing: &Drawing, ends: [StationId; 2]) -> Span {
    let segment = busy(drawing, ends, SEGMENT + AROUND_SEGMENT);
    (occupied(drawing, ends) * OFTEN).max(segment) * LEAST
}

/// How long a request keeps the slowest line of its way busy, or its answer.
fn occupied(drawing: &Drawing, ends: [StationId; 2]) -> Span {
    busy(drawing, ends, ASKED.count() as usize + AROUND_DATAGRAM)
}

/// How long a frame of so many octets keeps the slowest line of the way there busy, or of that back,
/// whichever is longer; zero where the closed forms do not know.
fn busy(drawing: &Drawing, [near, far]: [StationId; 2], octets: usize) -> Span {
    let one = |from, to| passage(drawing, from, to, octets).map_or(0.0, |way| way.occupied);
    Span::from_seconds_f64(one(near, far).max(one(far, near)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rate: &str, seconds: u64) -> [u64; 2] {
        let text = btu_network::library_text("path").expect("the library has it");
        let text = format!("# --set links.path.rate={rate}\n{text}");
        let drawing = btu_contract::network::read_stored("path", &text).expect("a drawing");
        let ends = ["test", "active"].map(|name| drawing.station_called(name).expect("a station"));
        let interval = interval(Some((&drawing, ends)), Span::from_seconds(seconds));
        [interval, least_time(&drawing, ends)].map(|span| span.nanoseconds() / 1_000_000)
    }

    /// A request of 32 octets takes 98 octets of an Ethernet's time: 784 us at 1 Mb/s.
    #[test]
    fn requests_take_two_per_cent_of_a_slow_line() {
        // Ten full segments take 1538 octets each.
        assert_eq!(of("10 Mb/s", 3), [20, 12]);
        assert_eq!(of("1 Mb/s", 3), [39, 123]);
        // Enough in a phase: 30 in 3 s, 5.9 times in 100 of the line's time.
        assert_eq!(of("100 kb/s", 3), [100, 1230]);
        // At most a fifth of the line.
        assert_eq!(of("9600 b/s", 3), [408, 12_816]);
        assert_eq!(of("9600 b/s", 100)[0], 3333);
    }
}
