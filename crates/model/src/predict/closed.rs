//! Senders that wait for replies: mean-value analysis together with traffic at fixed rates.

use btu_network::{Arrivals, Flow, Target};

use super::network::QueueingNetwork;
use crate::answer::Answer;
use crate::closed_network::closed_network;

/// The parts of the round of a flow's senders.
struct Cycle {
    users: u32,
    /// Seconds between requests in which a user does not wait for a server: pause, service at the
    /// target, propagation.
    elsewhere: f64,
    /// The part of this time that belongs to the response.
    fixed: f64,
    /// Seconds at each server, stretched by its other load.
    demands: Vec<f64>,
}

impl QueueingNetwork<'_> {
    /// Finds the rates of all senders that wait, and each flow's response time in seconds.
    pub(super) fn settle(&mut self) -> Vec<Option<Answer>> {
        // Flows share servers: each round for one flow improves the rates of the others.
        const ROUNDS: usize = 30;
        let closed = |flow: &Flow| matches!(flow.arrivals, Arrivals::Closed { .. });
        let flows: Vec<usize> =
            (0..self.rates.len()).filter(|flow| closed(&self.drawing.traffic[*flow])).collect();
        let mut responses = vec![None; self.rates.len()];
        for _ in 0..if flows.len() > 1 { ROUNDS } else { 1 } {
            for flow in &flows {
                self.rates[*flow] = 0.0;
                let (rate, response) =
                    self.cycle(*flow).map_or((0.0, Answer::SATURATED), Cycle::solve);
                self.rates[*flow] = rate;
                responses[*flow] = Some(response);
            }
        }
        responses
    }

    /// `None` if other flows saturate a server on the path.
    fn cycle(&self, number: usize) -> Option<Cycle> {
        let flow = &self.drawing.traffic[number];
        let Arrivals::Closed { think, service, .. } = flow.arrivals else { return None };
        let (there, back) = self.of_flow[number];
        let mut cycle = Cycle {
            users: u32::try_from(flow.from.len()).unwrap_or(u32::MAX),
            elsewhere: think.seconds(),
            fixed: service.seconds(),
            demands: Vec::new(),
        };
        for class in std::iter::once(there).chain(back) {
            for (place, visits) in &self.routes[class].way {
                let server = &self.servers[*place as usize];
                let own = server.visits.iter().find(|visit| visit.class == class);
                let (frame, beyond) = own.map_or((0.0, 0.0), |visit| (visit.mean, visit.beyond));
                let others: f64 =
                    server.visits.iter().map(|visit| self.frames(visit) * visit.mean).sum();
                if others >= 1.0 {
                    return None;
                }
                cycle.fixed += visits * (beyond + server.idle_wait());
                cycle.demands.push(visits * frame / (1.0 - others));
            }
        }
        if self.takes_one_at_a_time(flow) {
            let others = self.busy_with_others(number);
            if others >= 1.0 {
                return None;
            }
            cycle.fixed -= service.seconds();
            cycle.demands.push(service.seconds() / (1.0 - others));
        }
        cycle.elsewhere += cycle.fixed.max(0.0);
        Some(cycle)
    }
}

impl QueueingNetwork<'_> {
    /// Whether requests of a flow wait for each other at their target.
    fn takes_one_at_a_time(&self, flow: &Flow) -> bool {
        matches!(flow.to, Target::Station(station) if self.drawing.station(station).one_at_a_time)
    }

    /// The share of its time in which the target of a flow works for other flows.
    fn busy_with_others(&self, number: usize) -> f64 {
        let target = &self.drawing.traffic[number].to;
        let others = (0..)
            .zip(&self.drawing.traffic)
            .filter(|(other, flow)| *other != number && flow.to == *target);
        others
            .map(|(other, flow)| match flow.arrivals {
                Arrivals::Closed { service, .. } => {
                    self.rates[other] * flow.from.len() as f64 * service.seconds()
                }
                _ => 0.0,
            })
            .sum()
    }
}

impl Cycle {
    /// Requests per second of each sender, and the response time.
    fn solve(mut self) -> (f64, Answer) {
        self.leave_out_idle();
        let users = f64::from(self.users);
        let own: f64 = self.demands.iter().sum();
        let bound = || {
            // Asymptotic bounds (Denning and Buzen 1978): exact for thousands of users, where both
            // bounds meet.
            let longest = self.demands.iter().copied().fold(0.0, f64::max);
            let throughput = (users / (self.elsewhere + own)).min(1.0 / longest);
            (throughput, users / throughput - self.elsewhere)
        };
        let (throughput, response) = self.few().unwrap_or_else(bound);
        (throughput / users, Answer::of(response + self.fixed.max(0.0)))
    }

    /// Leaves out the servers that all users together keep busy for less than one per cent of the
    /// time: no user waits at them. A single user never waits.
    fn leave_out_idle(&mut self) {
        const IDLE: f64 = 0.01;
        let own: f64 = self.demands.iter().sum();
        let most = f64::from(self.users) / (self.elsewhere + own).max(1e-12);
        let alone = self.users == 1;
        let (busy, idle): (Vec<f64>, Vec<f64>) =
            self.demands.iter().partition(|demand| !alone && most * **demand > IDLE);
        let idle: f64 = idle.iter().sum();
        (self.elsewhere, self.fixed, self.demands) =
            (self.elsewhere + idle, self.fixed + idle, busy);
    }

    /// The exact recursion, where it is short enough.
    fn few(&self) -> Option<(f64, f64)> {
        const STEPS: u64 = 5_000_000;
        if u64::from(self.users) * self.demands.len() as u64 > STEPS {
            return None;
        }
        let closed = closed_network(self.users, self.elsewhere, &self.demands)?;
        Some((closed.throughput, closed.response))
    }
}
