//! Tests of impairments of a line: delays that vary, losses in bursts, damage.
//!
//! Distributions are judged by quantiles, not by means: one late wake-up of a driver in real time
//! can move a mean by any amount, but hardly moves a quantile.

use btu_conditions::judge;
use btu_network::{Direction, Jitter, Loss, Shape};
use btu_units::{Probability, Span};

use super::{
    Arrival, Bench, SHORTEST_FRAME, TWO_SIDED_99_9_PERCENT, fast, nothing_is_lost, steady,
    within_binomial,
};

const DELAY: Span = Span::from_milliseconds(10);
const SPREAD: Span = Span::from_milliseconds(2);

/// Delays that vary by 2 ms about 10 ms have the quantiles of their distribution at 0.1, 0.5 and
/// 0.9, within the bench's tolerance and what 2000 frames allow (99.9 per cent, from the binomial
/// distribution of how many are below a quantile).
///
/// # Panics
/// When they have not.
pub fn jitter_is_distributed_as_asked(bench: &mut impl Bench, shape: Shape) {
    let script: Vec<_> =
        (0..2000).map(|n| (Span::from_milliseconds(1) * n, SHORTEST_FRAME)).collect();
    let arrivals = bench.run(&varying(shape, false), &script);
    nothing_is_lost(bench, &arrivals, &script);
    let mut delays: Vec<f64> =
        arrivals.iter().map(|arrival| arrival.delay().milliseconds()).collect();
    delays.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| delays[(share * delays.len() as f64) as usize];
    // A shortest frame takes 5.76 us at 100 Mb/s.
    let tolerance = bench.tolerance().milliseconds() + 0.006;
    for share in [0.1, 0.5, 0.9] {
        let margin = TWO_SIDED_99_9_PERCENT * (share * (1.0 - share) / delays.len() as f64).sqrt();
        let expected = DELAY.milliseconds() + SPREAD.milliseconds() * quantile(shape, share);
        let (low, high) = (at(share - margin) - tolerance, at(share + margin) + tolerance);
        judge!(
            bench,
            low <= expected && expected <= high,
            "{shape:?}, {share}: {expected} ms is not in {low} to {high} ms"
        );
    }
}

/// If the order is to be kept, no frame overtakes another; if it is not, at 200 us between frames
/// and 2 ms of deviation, many frames do.
///
/// # Panics
/// When it is otherwise.
pub fn jitter_keeps_order_where_asked(bench: &mut impl Bench) {
    let script: Vec<_> =
        (0..1000).map(|n| (Span::from_microseconds(200) * n, SHORTEST_FRAME)).collect();
    for keep_order in [true, false] {
        let arrivals = bench.run(&varying(Shape::Normal, keep_order), &script);
        nothing_is_lost(bench, &arrivals, &script);
        let overtaken = arrivals.windows(2).filter(|pair| pair[0].number > pair[1].number).count();
        if keep_order {
            judge!(bench, overtaken == 0, "{overtaken} of 1000 overtaken");
        } else {
            judge!(bench, overtaken > 100, "{overtaken} of 1000 overtaken");
        }
    }
}

/// A Gilbert-Elliott loss with 2 % from good to bad and 25 % back loses all in the bad state and
/// nothing in the good one: 2/27 of frames, in bursts of 4 in the mean. Bounds of 99.9 per cent:
/// the share's variance is that of a chain with correlation 1-p-r between neighbours, bursts are
/// geometric.
///
/// # Panics
/// When it does not.
pub fn losses_come_in_bursts(bench: &mut impl Bench) {
    let (p, r) = (0.02, 0.25);
    let [from_good, from_bad] = [p, r].map(probability);
    let (bad, good) = (Probability::ALWAYS, Probability::NEVER);
    let bursts = Loss::GilbertElliott { p: from_good, r: from_bad, bad, good };
    let script = steady(10_000);
    let arrivals = bench.run(&Direction { loss: bursts, ..fast() }, &script);
    let lost = missing(&arrivals, script.len());
    let frames = script.len() as f64;
    let (count, share) = (lost.iter().filter(|&&lost| lost).count() as f64, p / (p + r));
    let deviation = (share * (1.0 - share) / frames * (2.0 - p - r) / (p + r)).sqrt();
    let allowed = TWO_SIDED_99_9_PERCENT * deviation;
    judge!(
        bench,
        (count / frames - share).abs() <= allowed,
        "{} lost, not {share} +- {allowed}",
        count / frames
    );
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64
        + f64::from(u8::from(lost[0]));
    let allowed = TWO_SIDED_99_9_PERCENT * ((1.0 - r) / (r * r) / bursts).sqrt();
    judge!(
        bench,
        (count / bursts - 1.0 / r).abs() <= allowed,
        "bursts of {}, not {} +- {allowed}",
        count / bursts,
        1.0 / r
    );
}

/// Damaged frames are binomial (99.9 per cent), and the others whole. A frame that does not arrive
/// counts as damaged, because its headers may be hit.
///
/// # Panics
/// When they are not.
pub fn damage_is_binomial(bench: &mut impl Bench, share: Probability) {
    let script = steady(4000);
    let arrivals = bench.run(&Direction { corrupt: share, ..fast() }, &script);
    let whole = arrivals.iter().filter(|arrival| !arrival.damaged).count();
    within_binomial(bench, "damaged", script.len() - whole, script.len(), share);
    judge!(bench, whole < arrivals.len(), "some arrive in spite of their damage");
}

fn varying(shape: Shape, keep_order: bool) -> Direction {
    let jitter = Jitter { spread: SPREAD, shape, correlation: Probability::NEVER, keep_order };
    Direction { delay: DELAY, jitter: Some(jitter), ..fast() }
}

/// The distribution's quantile in spreads. That of the normal one is a constant because the tests
/// use only 0.1, 0.5 and 0.9.
fn quantile(shape: Shape, below: f64) -> f64 {
    match shape {
        Shape::Uniform => 2.0 * below - 1.0,
        Shape::Normal if below < 0.5 => -1.281_552,
        Shape::Normal if below > 0.5 => 1.281_552,
        Shape::Normal => 0.0,
        Shape::Pareto => ((1.0 - below).cbrt().recip() - 1.5) * 2.0 / 3f64.sqrt(),
    }
}

/// For each frame of a script whether it was lost.
fn missing(arrivals: &[Arrival], frames: usize) -> Vec<bool> {
    let mut lost = vec![true; frames];
    for arrival in arrivals {
        lost[arrival.number as usize] = false;
    }
    lost
}

fn probability(share: f64) -> Probability {
    Probability::new(share).expect("between 0 and 1")
}
