//! How long loads are at work before what is measured begins, where a user does not say.

use btu_medium::Limit;
use btu_network::{Direction, Discipline, Drawing, Rate};
use btu_units::{Bytes, Span};

/// For a load to begin: its processes, its connection, and on a network that is not slow the first
/// round trips of TCP.
const BEGIN: Span = Span::from_milliseconds(500);

/// A queue that takes longer to fill is not waited for.
const LONGEST: Span = Span::from_seconds(10);

/// A full frame as queues count it (`btu_medium::Limit`).
const FULL_FRAME_BYTES: u64 = 1514;

/// What is written of it: whole tenths of a second, rounded up.
const STEP_NS: u64 = 100_000_000;

/// The time after which a load is under way: the time to begin, and on a network the time in which
/// a bulk stream fills the slowest queue. In slow start each acknowledgement releases two segments
/// (RFC 5681, section 3.1), so the sender offers twice the rate of the line, and the queue grows by
/// the rate of the line: it is full after its size over that rate.
pub fn of(drawing: Option<&Drawing>) -> Span {
    let links = drawing.map_or(&[][..], |drawing| &drawing.links).iter();
    let sides = links.flat_map(|link| [&link.forth, &link.back]);
    let fill = sides.map(fill_time).max().unwrap_or(Span::ZERO);
    let lead = BEGIN + fill.min(LONGEST);
    Span::from_nanoseconds(lead.nanoseconds().next_multiple_of(STEP_NS))
}

/// How long a direction of a link takes to send what its queue holds. Queues that control their
/// delay hold a tenth of a second (RFC 8289, section 4.3), which is part of the time to begin.
fn fill_time(side: &Direction) -> Span {
    let (limit, rate) = match (&side.queue, &side.rate) {
        (Discipline::TailDrop { limit }, Rate::Fixed(rate)) => (*limit, *rate),
        (Discipline::Red(red), Rate::Fixed(rate)) => (red.limit, *rate),
        _ => return Span::ZERO,
    };
    let most = Limit::of(limit, rate);
    let held = most.bytes.min(Bytes::new(most.frames as u64 * FULL_FRAME_BYTES));
    Span::from_seconds_f64(held.bits() / rate.bits_per_second().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Span {
        let text = btu_network::library_text(name).expect("a network of the library");
        super::of(Some(&Drawing::read(text, name).expect("a drawing")))
    }

    #[test]
    fn a_load_fills_the_slowest_queue_before_what_is_measured_begins() {
        // 256 KiB at 1 Mb/s are 2.097 s.
        assert_eq!(of("home-bloated"), Span::from_milliseconds(2600));
        // 100 frames of 1514 octets at 10 Mb/s are 121 ms.
        assert_eq!(of("path"), Span::from_milliseconds(700));
        // fq-codel keeps its delay short; the Ethernet behind it is fast.
        assert_eq!(of("home-fq-codel"), Span::from_milliseconds(600));
        assert_eq!(of("veth"), BEGIN);
        assert_eq!(super::of(None), BEGIN);
    }
}
