//! A fixed number of users, each of whom thinks, sends a request to one server and waits, with a
//! constant service time.
//!
//! Method: the embedded Markov chain at the ends of services (the machine-repair model M/D/1 with
//! finite source; Takács, "Introduction to the Theory of Queues", 1962, chapter 5). During a
//! service each thinking user asks with probability 1 - e^(-service/think), independently of the
//! others. Assumptions: one server, first come first served, exponential times of thinking. Next to
//! [`closed_network`], with exponential service, it shows how much of a queue comes from irregular
//! service.

use btu_model::closed_network;
use proptest::prelude::*;

/// The chain has a state for each user and costs their square.
const MOST_USERS: u32 = 2000;

/// A weight above this is scaled down with all others before it overflows.
const LARGE: f64 = 1e200;

/// The performance that this number of users gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FixedService {
    /// The throughput of all users together, in requests per second.
    pub(super) throughput: f64,
    /// Mean users at the server, waiting or served.
    pub(super) users: f64,
    /// Share of time in which the server is busy.
    pub(super) busy: f64,
    /// Mean seconds of work before a rare additional request that arrives at a random time: each
    /// waiting request needs a whole service, the one in service half of one.
    pub(super) work_found: f64,
}

/// Mean values with `users` users who think for `think` seconds on the average between requests,
/// each of which takes `service` seconds of the one server. `None` for impossible times, for a
/// service time of 0, and above 2000 users.
pub(super) fn fixed_service(users: u32, think: f64, service: f64) -> Option<FixedService> {
    let sensible = think.is_finite() && think >= 0.0 && service.is_finite() && service > 0.0;
    if !sensible || users > MOST_USERS {
        return None;
    }
    let count = f64::from(users);
    let idle = match users {
        0 => return Some(FixedService { throughput: 0.0, users: 0.0, busy: 0.0, work_found: 0.0 }),
        _ if think == 0.0 => 0.0,
        _ => probability_of_nobody_left(users as usize, -(-service / think).exp_m1()),
    };
    // When a service leaves no user at the server, the server waits for the first of all users to
    // ask.
    let throughput = 1.0 / (service + idle * think / count);
    let busy = (throughput * service).min(1.0);
    let users = (count - throughput * think).max(busy);
    Some(FixedService { throughput, users, busy, work_found: (users - busy / 2.0) * service })
}

/// Probability that no user is at the server when a service ends. `ask` is the probability that a
/// thinking user asks during a service.
///
/// From state n (users left behind) the next state is n - 1 plus the users that ask, so the chain
/// falls by at most one. What flows up over the cut between n and n + 1 flows down over it: all
/// terms are positive, and nothing cancels.
fn probability_of_nobody_left(users: usize, ask: f64) -> f64 {
    let above: Vec<Vec<f64>> = (0..users).map(|left| tails(users - left.max(1), ask)).collect();
    let mut weights = vec![1.0];
    for left in 0..users - 1 {
        let up: f64 = weights
            .iter()
            .enumerate()
            .map(|(from, weight)| weight * tail(&above[from], left, from))
            .sum();
        let down = (1.0 - ask).powf((users - left - 1) as f64);
        push(&mut weights, up / down);
    }
    weights[0] / weights.iter().sum::<f64>()
}

/// From state `from` to a state above `left`: more than `left + 1 - max(from, 1)` users ask.
fn tail(above: &[f64], left: usize, from: usize) -> f64 {
    above.get(left + 1 - from.max(1)).copied().unwrap_or(0.0)
}

/// Adds a weight; one that is out of range makes all earlier ones negligible.
fn push(weights: &mut Vec<f64>, next: f64) {
    if next.is_finite() && next < LARGE {
        weights.push(next);
        return;
    }
    let scale = if next.is_finite() { 1.0 / next } else { 0.0 };
    for weight in weights.iter_mut() {
        *weight *= scale;
    }
    weights.push(1.0);
}

/// Probabilities that more than 0, 1, 2 ... of `trials` happen, each with probability `chance`.
fn tails(trials: usize, chance: f64) -> Vec<f64> {
    let (log_yes, log_no) = (chance.ln(), (-chance).ln_1p());
    let mut log_choices = 0.0;
    let mut probabilities = Vec::with_capacity(trials + 1);
    for happened in 0..=trials {
        let missed = (trials - happened) as f64;
        let log_missed = if missed > 0.0 { missed * log_no } else { 0.0 };
        probabilities.push((log_choices + happened as f64 * log_yes + log_missed).exp());
        log_choices += (missed / (happened as f64 + 1.0)).ln();
    }
    let mut sum = 0.0;
    for probability in probabilities.iter_mut().rev() {
        let above = sum;
        sum += *probability;
        *probability = above;
    }
    probabilities
}

/// Two users by hand: with q = e^(-service/think) the chain has states 0 and 1, up 1 - q from
/// both, down q, so no user is left with probability q.
#[test]
fn two_users_by_hand() {
    let (think, service) = (3.0f64, 2.0);
    let expected = 1.0 / (service + (-service / think).exp() * think / 2.0);
    let found = fixed_service(2, think, service).unwrap();
    assert!((found.throughput - expected).abs() < 1e-12, "{found:?}");
    assert!((found.users - (2.0 - expected * think)).abs() < 1e-12);
}

/// One user never waits, whatever the distribution of service.
#[test]
fn one_user_is_alone() {
    let found = fixed_service(1, 6.2, 1.0).unwrap();
    assert!((found.throughput - 1.0 / 7.2).abs() < 1e-12, "{found:?}");
    assert!((found.work_found - 0.5 / 7.2).abs() < 1e-12);
}

/// Computed by iterating the whole transition matrix in another program: think 6.2, service 1.
#[test]
fn reference_values() {
    let (think, service) = (6.2, 1.0);
    for (users, expected) in REFERENCE {
        let found = fixed_service(users, think, service).unwrap();
        assert!((found.users - expected).abs() < 1e-6, "{users}: {found:?}");
    }
}

const REFERENCE: [(u32, f64); 3] = [(3, 0.478_452_6), (5, 0.969_709_2), (10, 3.904_048_6)];

#[test]
fn without_thinking_the_server_never_rests() {
    let found = fixed_service(7, 0.0, 0.5);
    assert_eq!(
        found,
        Some(FixedService { throughput: 2.0, users: 7.0, busy: 1.0, work_found: 3.25 })
    );
}

#[test]
fn impossible_questions_have_no_answer() {
    assert_eq!(fixed_service(3, 1.0, 0.0), None);
    assert_eq!(fixed_service(3, f64::NAN, 1.0), None);
    assert_eq!(fixed_service(3, -1.0, 1.0), None);
    assert_eq!(fixed_service(2001, 1.0, 1.0), None);
    assert!(fixed_service(0, 1.0, 1.0).is_some_and(|nobody| nobody.throughput <= 0.0));
}

proptest! {
    /// Regular service never gives less than exponential service, and neither more than server
    /// or users allow.
    #[test]
    fn it_lies_between_exponential_service_and_the_bounds(
        users in 1u32..400, think in 0.001f64..1000.0, service in 0.001f64..10.0,
    ) {
        let fixed = fixed_service(users, think, service).unwrap();
        let exponential = closed_network(users, think, &[service]).unwrap();
        let most = (1.0 / service).min(f64::from(users) / (think + service));
        prop_assert!(fixed.throughput <= most * (1.0 + 1e-9), "{fixed:?} above {most}");
        prop_assert!(fixed.throughput >= exponential.throughput * (1.0 - 1e-9), "{fixed:?} {exponential:?}");
        prop_assert!(fixed.users >= 0.0 && fixed.users <= f64::from(users));
    }
}
