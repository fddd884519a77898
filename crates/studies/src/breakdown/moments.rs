//! What moments of a sender's connection say of its limit: each belongs to the first of the causes that its numbers show,
//! and what was on the path meanwhile is told apart by how all of them go together.
//!
//! Neither a long round trip nor a paced sender shows a full line: a radio makes the one, and a small buffer of a sender with
//! BBR the other. But a line that is full carries no more where more is on its way: then the round trip grows with what is
//! on its way, and else it does not, however much it varies.

use btu_contract::record::{Moment, Sent};

/// Fewer moments divide nothing: one of 32 is 3 %.
const LEAST_MOMENTS: usize = 32;

/// Fewer moments in which the path limits say nothing of how they go together: a third of them has six.
const LEAST_CARRYING: usize = 18;

/// The shortest time over which a rate is taken, in seconds: five moments.
const RATE_OVER: f64 = 0.3;

/// A rate is steady that stays within this of its median in so many of its moments, and varies if it does in fewer than the
/// second. That of a window which losses halve, and which grows again, varies.
const STEADY_WITHIN: f64 = 1.25;
const STEADY: f64 = 0.85;
const VARIES: f64 = 0.75;

/// Of a full line the moments after losses with less than this share of its rate are looked at by themselves: the line is full
/// at the start of many flows that losses keep small later on, and others have a line whose rate changes.
const NEAR_LINE: f64 = 0.75;

/// A send buffer that is empty in so many of its moments is too small in those between them, too.
const DRY: f64 = 0.2;

/// By how much what is on its way has to vary.
const LEAST_VARIATION: f64 = 1.1;

/// From here on the round trip grows with what is on its way: the exponent is 1 where all of it waits in one queue, less
/// where a part of it fills the line, and 0 without a queue. Below the second it does not.
const GROWS: f64 = 0.3;
const GROWS_NOT: f64 = 0.2;

/// Moments by what kept TCP from sending more then.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counted {
    /// All that the program had given was on its way.
    pub(super) unfilled: f64,
    /// What was on its way filled the receiver's window, or all but a quarter of it.
    pub(super) shut: f64,
    /// A line was full.
    pub(super) full: f64,
    /// The congestion window was small after losses.
    pub(super) losses: f64,
    /// The congestion window still grew.
    pub(super) growing: f64,
    /// Something on the path.
    pub(super) undecided: f64,
}

/// What keeps TCP from sending more at a moment.
#[derive(Clone, Copy, PartialEq)]
enum FlowState {
    Unfilled,
    Shut,
    Carrying,
}

/// All flows at one moment.
#[derive(Clone, Copy, Default)]
struct FlowsAtMoment {
    seconds: f64,
    delivered: f64,
    in_flight: f64,
    window: f64,
    round_trip: f64,
    /// Octets of a segment.
    segment: u64,
    /// Segments a second.
    rate: Option<f64>,
    is_carrying: bool,
}

/// What the path does while it carries all that it may.
#[derive(Clone, Copy, PartialEq)]
enum OnPath {
    Full,
    Window,
    Undecided,
}

impl Counted {
    /// Of the flows of one direction, next to which requests wait in a queue or not; `None` where they were looked at too
    /// seldom.
    pub(super) fn of(flows: &[&Sent], requests_wait: bool) -> Option<Self> {
        let length = flows.iter().map(|flow| flow.moments.len()).min()?;
        if length < LEAST_MOMENTS {
            return None;
        }
        let mut points = points(flows, length);
        set_rates(&mut points);
        let segment = points.first()?.segment;
        let runs_dry = runs_dry(flows, segment);
        let line = line(&points);
        let fills = |point: &FlowsAtMoment| point.rate.is_none_or(|rate| rate >= NEAR_LINE * line);
        let below: Vec<FlowsAtMoment> =
            points.iter().filter(|point| !fills(point)).copied().collect();
        let [on_path, below] = [&points, &below].map(|points| on_path(points, requests_wait));
        let mut counted = Self::default();
        for (place, point) in points.iter().enumerate() {
            for moment in flows.iter().map(|flow| &flow.moments[place]) {
                let after_losses = moment.sent_again > 0;
                let looks_full = on_path == OnPath::Full && after_losses && !fills(point);
                let on_path = if looks_full { below } else { on_path };
                let part = match (state(moment, segment, runs_dry), on_path) {
                    (None, _) => continue,
                    (Some(FlowState::Unfilled), _) => &mut counted.unfilled,
                    (Some(FlowState::Shut), _) => &mut counted.shut,
                    (_, OnPath::Full) => &mut counted.full,
                    (_, OnPath::Window) if after_losses => &mut counted.losses,
                    (_, OnPath::Window) => &mut counted.growing,
                    (_, OnPath::Undecided) => &mut counted.undecided,
                };
                *part += 1.0;
            }
        }
        (counted.all() > 0.0).then_some(counted)
    }

    pub(super) fn all(&self) -> f64 {
        let Self { unfilled, shut, full, losses, growing, undecided } = self;
        unfilled + shut + full + losses + growing + undecided
    }
}

fn points(flows: &[&Sent], length: usize) -> Vec<FlowsAtMoment> {
    let segment = flows.first().map_or(1, |flow| flow.tcp.send_mss_bytes.into());
    let runs_dry = runs_dry(flows, segment);
    (0..length).map(|place| FlowsAtMoment::of(flows, place, segment, runs_dry)).collect()
}

/// Whether the send buffer is empty again and again, or the program gives nothing.
fn runs_dry(flows: &[&Sent], segment: u64) -> bool {
    let moments = || flows.iter().flat_map(|flow| &flow.moments);
    let dry = moments().filter(|one| state(one, segment, false) == Some(FlowState::Unfilled));
    dry.count() as f64 >= DRY * moments().count() as f64
}

impl FlowsAtMoment {
    fn of(flows: &[&Sent], place: usize, segment: u64, runs_dry: bool) -> Self {
        let mut point = Self { segment, ..Self::default() };
        let mut carrying = 0;
        for moment in flows.iter().map(|flow| &flow.moments[place]) {
            point.seconds = moment.at_us as f64 / 1e6;
            point.delivered += f64::from(moment.delivered);
            point.in_flight += f64::from(moment.in_flight);
            point.window += f64::from(moment.window);
            point.round_trip += f64::from(moment.round_trip_us) / 1e6 / flows.len() as f64;
            carrying += usize::from(state(moment, segment, runs_dry) == Some(FlowState::Carrying));
        }
        Self { is_carrying: 2 * carrying > flows.len(), ..point }
    }
}

/// The rate at each point, over [`RATE_OVER`] or a round trip before it.
fn set_rates(points: &mut [FlowsAtMoment]) {
    for place in 0..points.len() {
        let point = points[place];
        let since = point.seconds - point.round_trip.max(RATE_OVER) + 1e-3;
        let from = points[..place].iter().rfind(|one| one.seconds <= since);
        points[place].rate =
            from.map(|from| (point.delivered - from.delivered) / (point.seconds - from.seconds));
    }
}

/// The rates while the path limits, in their order.
fn rates(points: &[FlowsAtMoment]) -> Vec<f64> {
    let carrying = points.iter().filter(|point| point.is_carrying);
    let mut rates: Vec<f64> = carrying.filter_map(|point| point.rate).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates
}

/// The highest rate, but for a tenth of the moments: a sender that was kept from running catches up.
fn line(points: &[FlowsAtMoment]) -> f64 {
    let rates = rates(points);
    rates.get(rates.len() * 9 / 10).copied().unwrap_or_default()
}

/// `None` where nothing was on its way or waited.
fn state(moment: &Moment, segment: u64, runs_dry: bool) -> Option<FlowState> {
    let Moment { unacknowledged, in_flight, window, .. } = *moment;
    let [unacknowledged, in_flight, window, waiting, room] =
        [unacknowledged, in_flight, window, moment.waiting_bytes, moment.receivers_window_bytes]
            .map(u64::from);
    let waits = waiting >= segment.max(1);
    // What TCP spreads of a buffer that would fit into the window as a whole.
    let is_small = runs_dry && in_flight * segment + waiting <= window * segment;
    // A sender with BBR spreads what the receiver's window lets through: it is seldom full, and nearly so always. One that the
    // receiver's kernel sizes by itself has room for twice what is on its way (`tcp_rcv_space_adjust`).
    // In recovery its window holds what was lost and what came after it, and the congestion window is what limits.
    let recovers = unacknowledged > in_flight && in_flight >= window;
    let is_filled = 4 * (unacknowledged + 1) * segment >= 3 * room && !recovers;
    match waits {
        false if unacknowledged == 0 => None,
        false if in_flight < window => Some(FlowState::Unfilled),
        true if is_filled && (room > 0 || unacknowledged == 0) => Some(FlowState::Shut),
        true if is_small => Some(FlowState::Unfilled),
        _ => Some(FlowState::Carrying),
    }
}

fn on_path(points: &[FlowsAtMoment], requests_wait: bool) -> OnPath {
    let carrying: Vec<&FlowsAtMoment> = points.iter().filter(|point| point.is_carrying).collect();
    if carrying.len() < LEAST_CARRYING {
        return OnPath::Undecided;
    }
    let is_paced = carrying.iter().filter(|one| 4.0 * one.in_flight <= 3.0 * one.window).count()
        * 2
        > carrying.len();
    // Where most of the time is the ends', they set the rate.
    let steady = if carrying.len() * 2 > points.len() { steady(points) } else { 0.0 };
    let growth = growth(&carrying);
    let is_steady = steady >= STEADY && (is_paced || requests_wait);
    if is_steady || growth.is_some_and(|growth| growth >= GROWS) {
        OnPath::Full
    } else if growth.is_some_and(|growth| growth <= GROWS_NOT) && !requests_wait && steady < VARIES
    {
        OnPath::Window
    } else {
        OnPath::Undecided
    }
}

/// The share of the moments in which the path limits and the rate is near its median.
fn steady(points: &[FlowsAtMoment]) -> f64 {
    let rates = rates(points);
    let Some(&median) = rates.get(rates.len() / 2) else { return 0.0 };
    let near = (median / STEADY_WITHIN)..=(median * STEADY_WITHIN);
    rates.iter().filter(|rate| near.contains(rate)).count() as f64 / rates.len() as f64
}

/// How the round trip grows with what is on its way: the exponent, between the medians of the third of the moments with the least
/// and of that with the most; `None` if these are too much alike.
fn growth(carrying: &[&FlowsAtMoment]) -> Option<f64> {
    let mut sorted: Vec<&FlowsAtMoment> = carrying
        .iter()
        .copied()
        .filter(|one| one.in_flight > 0.0 && one.round_trip > 0.0)
        .collect();
    sorted.sort_unstable_by(|one, other| one.in_flight.total_cmp(&other.in_flight));
    let third = sorted.len() / 3;
    let (least, most) = (&sorted[..third], &sorted[sorted.len() - third..]);
    let median = |of: &[&FlowsAtMoment], part: fn(&FlowsAtMoment) -> f64| {
        btu_stats::median(&of.iter().map(|one| part(one)).collect::<Vec<f64>>())
    };
    let ratio = |part: fn(&FlowsAtMoment) -> f64| Some(median(most, part)? / median(least, part)?);
    let variation = ratio(|one| one.in_flight).filter(|ratio| *ratio >= LEAST_VARIATION)?;
    Some(ratio(|one| one.round_trip)?.ln() / variation.ln())
}

#[cfg(test)]
mod tests {
    use btu_contract::record::TcpInfo;
    use btu_units::Bytes;

    use super::*;

    /// The round trip of an empty path, in milliseconds, and segments that the line carries in one.
    const EMPTY: f64 = 20.0;
    const LINE: f64 = 2.0;

    /// Numbers between 0 and 1 that look like chance and are always the same.
    fn chance() -> impl FnMut() -> f64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / f64::from(1 << 31)
        }
    }

    /// Every 100 ms for four seconds: what is on its way, and the round trip in milliseconds.
    fn sent(of: impl Fn(usize) -> (f64, f64), more: impl Fn(&mut Moment)) -> Sent {
        varied(of, |_| 0.0, more)
    }

    /// The same, with jitter, which does not change the rate.
    fn varied(
        of: impl Fn(usize) -> (f64, f64),
        jitter: impl Fn(usize) -> f64,
        more: impl Fn(&mut Moment),
    ) -> Sent {
        let mut delivered = 0.0;
        let moments = (1..=40).map(|place| {
            let (in_flight, round_trip) = of(place);
            delivered += in_flight * 100.0 / round_trip;
            let mut moment = Moment {
                at_us: place as u64 * 100_000,
                delivered: delivered as u32,
                sent_again: place as u32 / 3,
                unacknowledged: in_flight as u32,
                in_flight: in_flight as u32,
                waiting_bytes: 1_000_000,
                window: in_flight as u32,
                receivers_window_bytes: 1448 * 400,
                round_trip_us: ((round_trip + jitter(place)) * 1e3) as u32,
            };
            more(&mut moment);
            moment
        });
        let moments: Vec<Moment> = moments.collect();
        let tcp = TcpInfo { send_mss_bytes: 1448, ..TcpInfo::default() };
        Sent { bytes: Bytes::new(1), messages: 1, tcp, moments }
    }

    /// A window that grows from a third of `most` to all of it again and again, as after losses that are drawn.
    fn sawtooth(most: f64) -> impl Fn(usize) -> f64 {
        move |place| most * (0.3 + (place % 12) as f64 * 0.06)
    }

    fn share(of: fn(&Counted) -> f64, sent: &Sent, requests_wait: bool) -> f64 {
        let counted = Counted::of(&[sent], requests_wait).unwrap();
        of(&counted) / counted.all()
    }

    fn near(share: f64, expected: f64) {
        assert!((share - expected).abs() < 1e-9, "{share} instead of {expected}");
    }

    fn queued(in_flight: f64) -> f64 {
        EMPTY.max(in_flight / LINE)
    }

    /// Each way up to 8 ms, the more the later, as on a radio.
    fn jitter(place: usize) -> f64 {
        let mut chance = chance();
        (0..place).for_each(|_| {
            chance();
        });
        16.0 * chance()
    }

    #[test]
    fn a_queue_grows_with_what_is_on_its_way_and_jitter_does_not() {
        let window = sawtooth(80.0);
        let full = sent(|place| (window(place), queued(window(place))), |_| {});
        assert!(share(|one| one.full, &full, false) > 0.9);
        let window = sawtooth(8.0);
        let lossy = sent(|place| (window(place), EMPTY), |_| {});
        assert!(share(|one| one.losses, &lossy, false) > 0.9);
        let radio = varied(|place| (window(place), EMPTY), jitter, |_| {});
        assert!(share(|one| one.losses, &radio, false) > 0.9);
        near(share(|one| one.undecided, &radio, true), 1.0);
        let window = sawtooth(80.0);
        let full_radio = varied(|place| (window(place), queued(window(place))), jitter, |_| {});
        assert!(share(|one| one.full, &full_radio, true) > 0.8);
    }

    /// First the line is full; then it carries half, or losses keep the window small.
    #[test]
    fn what_carries_less_later_is_a_slower_line_or_losses() {
        let window = sawtooth(140.0);
        let line = |place: usize| if place < 20 { LINE } else { LINE / 2.0 };
        let slower = |place: usize| (window(place), EMPTY.max(window(place) / line(place)));
        assert!(share(|one| one.full, &sent(slower, |_| {}), true) > 0.9);
        let few = sawtooth(24.0);
        let lossy = |place: usize| {
            if place < 20 { (window(place), queued(window(place))) } else { (few(place), EMPTY) }
        };
        let [full, losses] = [|one: &Counted| one.full, |one: &Counted| one.losses]
            .map(|part| share(part, &sent(lossy, |_| {}), false));
        assert!((0.4..0.6).contains(&full) && losses > 0.4, "{full}, {losses}");
    }

    /// BBR has twice as much window as it uses, and a steady rate.
    #[test]
    fn a_paced_rate_is_a_full_line_unless_an_end_sets_it() {
        let paced = |moment: &mut Moment| moment.window = 2 * moment.in_flight;
        let full = sent(|place| (40.0 + (place % 3) as f64, 21.0), paced);
        near(share(|one| one.full, &full, false), 1.0);
        let shut = |moment: &mut Moment| {
            paced(moment);
            moment.receivers_window_bytes = 1448 * 50;
        };
        let window = sent(|place| (40.0 + (place % 3) as f64, 21.0), shut);
        near(share(|one| one.shut, &window, false), 1.0);
        // What was lost, and what came after it, is in the receiver's window, and no more is sent for the congestion window.
        let recovering = |moment: &mut Moment| {
            moment.unacknowledged = 2 * moment.in_flight;
            moment.receivers_window_bytes = 1448 * 80;
        };
        let recovery = sent(|place| (40.0 + (place % 3) as f64, 21.0), recovering);
        near(share(|one| one.shut, &recovery, false), 0.0);
        let dry = |moment: &mut Moment| {
            paced(moment);
            moment.waiting_bytes = if moment.at_us.is_multiple_of(300_000) { 30_000 } else { 0 };
        };
        let buffer = sent(|place| (40.0 + (place % 3) as f64, 21.0), dry);
        assert!(share(|one| one.unfilled, &buffer, false) > 0.6);
        near(share(|one| one.full, &buffer, false), 0.0);
    }

    #[test]
    fn a_window_that_only_grows_is_the_start_and_several_flows_are_one() {
        let start = |moment: &mut Moment| moment.sent_again = 0;
        let growing = sent(|place| (4.0 * place as f64, 20.0), start);
        near(share(|one| one.growing, &growing, false), 1.0);
        // What one has less of, the other has more of, and the queue is theirs together.
        let window = sawtooth(60.0);
        let one = sent(|place| (window(place), queued(90.0)), |_| {});
        let other = sent(|place| (90.0 - window(place), queued(90.0)), |_| {});
        let counted = Counted::of(&[&one, &other], true).unwrap();
        assert_eq!((counted.full, counted.all()), (80.0, 80.0));
    }

    #[test]
    fn few_moments_divide_nothing() {
        let mut few = sent(|_| (40.0, 20.0), |_| {});
        few.moments.truncate(LEAST_MOMENTS - 1);
        assert_eq!(Counted::of(&[&few], false), None);
        assert_eq!(Counted::of(&[], false), None);
        let still = sent(|_| (0.0, 20.0), |moment| moment.waiting_bytes = 0);
        assert_eq!(Counted::of(&[&still], false), None, "nothing to send");
    }
}
