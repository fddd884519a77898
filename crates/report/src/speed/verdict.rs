//! The verdict in a sentence: how much longer requests wait while the network is full.

use btu_studies::speed::{Bloat, BloatWord, Phase, Wait};

use super::MILLI;
use crate::unit::time;

/// The verdict of `btu speed` in a sentence, without a full stop.
pub fn bloat_sentence(bloat: &Bloat) -> String {
    let (word, end) = match bloat.word {
        BloatWord::Fine => ("Fine", ""),
        BloatWord::Borderline => ("Borderline", ""),
        BloatWord::Bloated => ("Bloated", "; fq_codel or cake cures it"),
    };
    let waits = waits(bloat);
    let bound = bloat.bound_seconds * MILLI;
    format!("{word}: requests wait {waits}; calls suffer above {bound:.0} ms{end}")
}

/// `1.83 s longer while you upload, 86.1 ms while you download`.
fn waits(bloat: &Bloat) -> String {
    let longer = |wait: &Wait| if wait.is_seen() { time(wait.seconds) } else { "no".to_owned() };
    let each = bloat.waits.iter().enumerate().map(|(place, wait)| {
        let longer = longer(wait) + if place == 0 || !wait.is_seen() { " longer" } else { "" };
        format!("{longer} {}", meanwhile(wait.phase))
    });
    each.collect::<Vec<_>>().join(", ")
}

fn meanwhile(phase: Phase) -> &'static str {
    match phase {
        Phase::Up => "while you upload",
        Phase::Down => "while you download",
        _ => "with both",
    }
}
