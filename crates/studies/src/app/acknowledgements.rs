//! The time for which requests and answers of a mix wait because TCP acknowledges by itself.
//!
//! An end acknowledges every second segment at once (RFC 1122, section 4.2.3.2; Linux does so for
//! small ones, too, when the program has read all of them), unless it sends something itself before.
//! What it sends next is behind that acknowledgement on the line.

use btu_model::Passage;

use super::{Mix, Work};
use btu_contract::experiment::SEGMENT;

/// Seconds of all calls together, with so many requests on their way at once, or all of a call in one
/// message.
pub(super) fn waits(mix: &Mix, window: Option<u64>, bare: [Passage; 2], work: Work) -> f64 {
    let (calls, all) = (u64::from(mix.calls()), u64::from(mix.fan_out()));
    let segments = |octets: u64| octets.div_ceil(SEGMENT as u64);
    let (request, response) = (mix.request().count(), mix.response().count());
    let (messages, together) = if window.is_some() { (all, 1) } else { (1, all) };
    let at_once = window.unwrap_or(1);
    // Behind the acknowledgement of a request that has several segments.
    let [there, back] = bare.map(|bare| bare.occupied);
    let own = together as f64;
    let answering = (back - own * work.display).max(0.0);
    let answers =
        if is_even(segments(together * request)) { calls * rounds(messages, at_once) } else { 0 };
    // Behind that of an answer of several segments: within a call, and in the next call.
    let asking = (there - own * work.application).max(0.0);
    let next = (there - own * work.application - mix.think().seconds()).max(0.0);
    let of_answer = segments(together * response);
    let inside = if is_even(of_answer) { rounds(messages, at_once) - 1 } else { 0 };
    // The last answers of a call come while nothing is sent.
    let of_call = if is_even(at_once.min(messages) * of_answer) { calls - 1 } else { 0 };
    answers as f64 * answering + (calls * inside) as f64 * asking + of_call as f64 * next
}

const fn is_even(segments: u64) -> bool {
    segments.is_multiple_of(2)
}

/// Round trips of a call.
const fn rounds(messages: u64, at_once: u64) -> u64 {
    messages.div_ceil(at_once)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(mix: &str, window: Option<u64>) -> f64 {
        let bare = Passage { occupied: 720e-6, beyond: 0.010 };
        waits(&mix.parse().unwrap(), window, [bare; 2], Work::default()) / 720e-6
    }

    /// At 1 Mb/s an acknowledgement takes 0.72 ms. None is sent alone for an answer of one segment.
    #[test]
    fn what_follows_two_segments_waits_for_their_acknowledgement() {
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        };
        near(waiting("calls=8,response=8 B", Some(1)), 0.0);
        // Two segments: all requests but the first.
        near(waiting("calls=8,response=2 kB", Some(1)), 7.0);
        near(waiting("calls=8,response=3 kB", Some(1)), 0.0);
        // Two small answers of each call, but not three.
        near(waiting("calls=8,fan-out=2,response=8 B", Some(2)), 7.0);
        near(waiting("calls=8,fan-out=3,response=8 B", Some(3)), 0.0);
        // One at a time: within a call, too.
        near(waiting("calls=8,fan-out=3,response=2 kB", Some(1)), 23.0);
        // One message of 4000 octets and its answer of one segment.
        near(waiting("calls=8,fan-out=2,request=1 kB,response=8 B", None), 8.0);
        // The pause between two calls is longer.
        near(waiting("calls=8,response=2 kB,think=1 ms", Some(1)), 0.0);
    }
}
