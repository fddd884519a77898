//! A closed network: a fixed number of users, each of whom thinks, sends a request and waits.
//!
//! Source: Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks",
//! Journal of the ACM 27 (1980). Assumptions: one class of users; service stations with one server
//! each, exponential times and first come first served (or processor sharing); thinking of any
//! distribution. Exact for these. It never saturates.

use crate::answer::sensible;

/// The performance that this number of users gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Closed {
    /// The throughput of all users together, in requests per second.
    pub throughput: f64,
    /// Mean seconds from a request to its answer.
    pub response: f64,
    /// Mean users at each service station, waiting or served.
    pub users: Vec<f64>,
}

/// Mean values with `users` users who think for `think` seconds between requests, where a request
/// needs `demands` seconds of each service station. `None` for impossible times, and where neither
/// thinking nor service takes any.
pub fn closed_network(users: u32, think: f64, demands: &[f64]) -> Option<Closed> {
    if !sensible(demands) || !sensible(&[think]) || think + demands.iter().sum::<f64>() <= 0.0 {
        return None;
    }
    let mut closed =
        Closed { throughput: 0.0, response: demands.iter().sum(), users: vec![0.0; demands.len()] };
    for users in 1..=users {
        closed.add_one(f64::from(users), think, demands);
    }
    Some(closed)
}

impl Closed {
    /// One more user: an arriving user finds the network in the state without that user.
    fn add_one(&mut self, users: f64, think: f64, demands: &[f64]) {
        let residences =
            demands.iter().zip(&self.users).map(|(demand, queue)| demand * (1.0 + queue));
        self.response = residences.sum();
        self.throughput = users / (think + self.response);
        for (queue, demand) in self.users.iter_mut().zip(demands) {
            *queue = self.throughput * demand * (1.0 + *queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values() {
        let cases: [(f64, &[f64], u32, f64, f64); 6] = [
            (10.0, &[1.0], 1, 0.09091, 1.0),
            (10.0, &[1.0], 5, 0.43605, 1.46663),
            (10.0, &[1.0], 10, 0.78542, 2.73208),
            (10.0, &[1.0], 20, 0.99813, 10.03745),
            (50.0, &[0.8, 0.2, 1.0], 10, 0.19108, 2.33478),
            (50.0, &[0.8, 0.2, 1.0], 60, 0.95622, 12.74703),
        ];
        for (think, demands, users, throughput, response) in cases {
            let closed = closed_network(users, think, demands).unwrap();
            assert!((closed.throughput - throughput).abs() < 5e-6, "{users} users: {closed:?}");
            assert!((closed.response - response).abs() < 5e-6, "{users} users: {closed:?}");
        }
    }

    #[test]
    fn nobody_is_lost() {
        let closed = closed_network(60, 50.0, &[0.8, 0.2, 1.0]).unwrap();
        let users: f64 = closed.users.iter().sum();
        assert!((users + closed.throughput * 50.0 - 60.0).abs() < 1e-9);
    }

    #[test]
    fn impossible_questions_have_no_answer() {
        assert_eq!(closed_network(1, 0.0, &[]), None);
        assert_eq!(closed_network(1, -1.0, &[2.0]), None);
        assert_eq!(closed_network(1, f64::NAN, &[2.0]), None);
    }
}
