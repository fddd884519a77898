//! The verdict in a sentence: how much longer requests wait while the network is full, and how many are lost.

use btu_stats::Proportion;
use btu_studies::speed::{Bloat, BloatWord, Phase, PhaseLoss, Wait};

use super::{MILLI, PERCENT};
use crate::number::three_digits;
use crate::unit::{time, time_unit};

/// Waits up to here are called slight, in seconds: next to the 50 ms of a usual path one way still
/// stays below the 150 ms of ITU-T G.114, and a call only needs a longer buffer.
const SLIGHT: f64 = 0.1;

/// The verdict of `btu speed` in a sentence, without a full stop.
pub fn bloat_sentence(bloat: &Bloat) -> String {
    let bound = format!("calls suffer above {:.0} ms", bloat.bound_seconds * MILLI);
    let waits = format!("{}{}", silent(bloat), waits(bloat));
    match bloat.word {
        BloatWord::Fine => format!("Fine: {waits}; {bound}"),
        BloatWord::Borderline => {
            let more: String = tails(bloat).chain(losses(bloat)).collect();
            format!("Borderline: {waits}{more}; {bound}")
        }
        BloatWord::Lossy => {
            let lost = lost(bloat);
            format!("Lossy: {lost}; calls suffer above {:.0} %", bloat.lost_bound * PERCENT)
        }
        BloatWord::Bloated => {
            let is_slight =
                bloat.waits.iter().all(|wait| wait.seconds <= SLIGHT) && lost(bloat).is_empty();
            let word = if is_slight { "Slightly bloated" } else { "Bloated" };
            let cure = if bloat.has_cure { "; fq_codel or cake cures it" } else { "" };
            format!("{word}: {waits}; {bound}{cure}")
        }
        BloatWord::Unknown => format!("Cannot tell: {waits}; {bound}"),
        BloatWord::BusyEnd => {
            let why = "a host was kept from running, so this may be no queue";
            format!("Busy end: {waits}; {bound}; {why}")
        }
    }
}

/// The phases in which too few requests were answered.
fn silent(bloat: &Bloat) -> String {
    let phases: Vec<&str> = bloat.silent.iter().map(|phase| meanwhile(*phase)).collect();
    match phases[..] {
        [] => String::new(),
        _ => format!("too few requests were answered {}; ", phases.join(" and ")),
    }
}

/// `requests wait 1.83 s longer while you upload, 86.1 ms longer while you download`. What neighbours have in common is
/// said once.
fn waits(bloat: &Bloat) -> String {
    if bloat.waits.is_empty() {
        return "the wait of the others is unknown".to_owned();
    }
    let mut each: Vec<(String, String)> = Vec::new();
    for wait in &bloat.waits {
        let (longer, meanwhile) = (longer(wait, bloat.bound_seconds), meanwhile(wait.phase));
        match each.last_mut() {
            Some((same, phases)) if *same == longer => {
                phases.push_str(" and ");
                phases.push_str(meanwhile);
            }
            _ => each.push((longer, meanwhile.to_owned())),
        }
    }
    let each = each.into_iter().map(|(longer, phases)| format!("{longer} {phases}"));
    format!("requests wait {}", each.collect::<Vec<_>>().join(", "))
}

/// An uncertainty that includes the bound is said, since the word follows from it.
fn longer(wait: &Wait, bound: f64) -> String {
    let [low, high] = wait.ends();
    if low <= bound && high > bound {
        let low = three_digits(low.max(0.0) / time_unit(high).worth);
        format!("{low} to {} longer", time(high))
    } else if wait.is_seen() {
        format!("{} longer", time(wait.seconds))
    } else {
        "as long as before".to_owned()
    }
}

/// The phases in which a hundredth of the requests waits much longer.
fn tails(bloat: &Bloat) -> impl Iterator<Item = String> {
    bloat
        .tails
        .iter()
        .map(|tail| format!("; one in 100 {} longer {}", time(tail.seconds), meanwhile(tail.phase)))
}

/// The phases in which more were lost than calls stand, which may be chance.
fn losses(bloat: &Bloat) -> impl Iterator<Item = String> {
    let many = bloat.losses.iter().filter(|loss| loss.lost.share > bloat.lost_bound);
    many.map(|PhaseLoss { phase, lost: Proportion { events, trials, interval, .. } }| {
        let [low, high] = [interval.low, interval.high].map(|end| three_digits(end * PERCENT));
        format!("; {events} of {trials} lost {} ({low} to {high} %)", meanwhile(*phase))
    })
}

/// The phases in which too many are lost for certain.
fn lost(bloat: &Bloat) -> String {
    let many = bloat.losses.iter().filter(|loss| loss.lost.interval.low > bloat.lost_bound);
    let each = many.enumerate().map(|(place, PhaseLoss { phase, lost })| {
        let [share, low, high] = [lost.share, lost.interval.low, lost.interval.high]
            .map(|share| three_digits(share * PERCENT));
        let what = if place == 0 { "% of requests are lost" } else { "%" };
        format!("{share} {what} {} ({low} to {high})", meanwhile(*phase))
    });
    each.collect::<Vec<_>>().join(", ")
}

fn meanwhile(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "while idle",
        Phase::Up => "while you upload",
        Phase::Down => "while you download",
        _ => "with both",
    }
}
