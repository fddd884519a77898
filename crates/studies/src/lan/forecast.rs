//! The closed form's prediction for more stations, from the measurement of one alone.
//!
//! A closed network (`btu_model::closed_network`): the background stations are its users; each
//! pauses, and then visits the server and the medium before it. A foreground operation finds these
//! users' work there (Reiser and Lavenberg's arrival theorem), and is slower by it. Everything
//! comes from the cells without background, and from the network file.

use btu_model::closed_network;
use btu_network::{Attachment, Drawing, Medium, StationId};
use serde::Serialize;

use super::StationWork;
use btu_contract::experiment::{AROUND_SEGMENT, SEGMENT, passage};

/// Octets of a call and of its answer in addition to file data (RFC 1813, RFC 5531): those of
/// WRITE. WRITE and READ are the most frequent calls; a call of READ is 12 octets shorter.
pub(super) const CALL: f64 = 144.0;
pub(super) const ANSWER: f64 = 140.0;

/// The measurement of a task without background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alone {
    /// Seconds of the task.
    pub(super) seconds: f64,
    /// The number of operations of the task.
    pub(super) operations: f64,
    /// Octets that it read and wrote.
    pub(super) read: f64,
    pub(super) written: f64,
    /// Seconds from a call to its answer at the server.
    pub(super) stay: f64,
}

/// The time for which an operation occupies a medium, by the octets that it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wire {
    /// Seconds of a frame with no payload, and of a payload's octet, from client to server.
    up: [f64; 2],
    /// Like `up`, from server to client.
    down: [f64; 2],
    /// Whether both directions share one medium.
    is_shared: bool,
}

/// A station's demand on the server and on the medium.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demands {
    /// Seconds of an operation at the server.
    pub server_seconds: f64,
    /// Seconds for which an operation of a background station occupies the medium: both ways
    /// together where they share it, else each way, up and down.
    pub medium_seconds: Vec<f64>,
    /// A station's own seconds between two operations, without pauses.
    pub own_seconds: f64,
    /// Seconds from one transaction to the next that are neither the server's nor the medium's.
    pub think_seconds: f64,
    /// Operations of a transaction.
    pub operations: f64,
}

impl Wire {
    /// The medium between a station and the server; `None` if the closed forms have no answer.
    pub(super) fn between(drawing: &Drawing, bench: StationId, server: StationId) -> Option<Self> {
        if drawing.bare {
            return None;
        }
        let way = |from, to| {
            let occupied =
                |payload| Some(passage(drawing, from, to, AROUND_SEGMENT + payload)?.occupied);
            let (least, most) = (occupied(100)?, occupied(SEGMENT)?);
            let octet = (most - least) / (SEGMENT - 100) as f64;
            Some([least - 100.0 * octet, octet])
        };
        let is_shared = match [bench, server].map(|station| drawing.station(station).attachment) {
            [Attachment::Segment(one, _), Attachment::Segment(other, _)] if one == other => {
                !matches!(drawing.segment(one).medium, Medium::SwitchedEthernet(_) | Medium::Atm(_))
            }
            _ => false,
        };
        Some(Self { up: way(bench, server)?, down: way(server, bench)?, is_shared })
    }

    /// Seconds of an operation that reads and writes this number of octets: both ways together, or
    /// each.
    fn busy(&self, read: f64, written: f64) -> Vec<f64> {
        let way = |[frame, octet]: [f64; 2], payload: f64| {
            (payload / SEGMENT as f64).max(1.0) * frame + payload * octet
        };
        let (up, down) = (way(self.up, CALL + written), way(self.down, ANSWER + read));
        if self.is_shared { vec![up + down] } else { vec![up, down] }
    }
}

impl Alone {
    /// Seconds of an operation that are the station's own.
    fn own(&self, wire: Option<&Wire>) -> f64 {
        let [read, written] = [self.read, self.written].map(|octets| octets / self.operations);
        let busy: f64 = wire.map_or(0.0, |wire| wire.busy(read, written).iter().sum());
        (self.seconds / self.operations - self.stay - busy).max(0.0)
    }
}

impl Demands {
    /// The demand of stations with this work; `None` for work without a closed form. The station's
    /// own time comes from the task in which it is least, because that task does the least work
    /// outside its operations.
    pub(super) fn of(tasks: &[Alone], wire: Option<&Wire>, work: &StationWork) -> Option<Self> {
        let program = work.closed_program()?;
        let own = tasks.iter().map(|task| task.own(wire)).min_by(f64::total_cmp)?;
        let all: f64 = tasks.iter().map(|task| task.operations).sum();
        let stayed: f64 = tasks.iter().map(|task| task.stay * task.operations).sum();
        let operations = work.operations() as f64;
        let [read, written] = work.octets().map(|octets| octets / operations);
        let medium_seconds = wire.map_or_else(Vec::new, |wire| wire.busy(read, written));
        let think_seconds = own * operations + program.pause_seconds();
        Some(Self {
            server_seconds: stayed / all,
            medium_seconds,
            own_seconds: own,
            think_seconds,
            operations,
        })
    }

    /// Seconds of an operation at each place where stations meet.
    fn places(&self) -> Vec<f64> {
        std::iter::once(self.server_seconds).chain(self.medium_seconds.iter().copied()).collect()
    }

    /// The number of background stations at each place, of this number in total.
    fn queues(&self, stations: u32) -> Option<Vec<f64>> {
        let demands: Vec<f64> =
            self.places().iter().map(|seconds| seconds * self.operations).collect();
        Some(closed_network(stations, self.think_seconds, &demands)?.users)
    }

    /// The number of stations at the server, waiting or served, of this number in total.
    pub(crate) fn at_server(&self, stations: u32) -> Option<f64> {
        self.queues(stations)?.first().copied()
    }

    /// The slowdown of a task with this number of stations: its time over that with none.
    pub(super) fn slowdown(&self, task: &Alone, stations: u32) -> Option<f64> {
        let queues = self.queues(stations)?;
        let waited: f64 =
            queues.iter().zip(self.places()).map(|(queue, seconds)| queue * seconds).sum();
        (task.seconds > 0.0).then(|| 1.0 + task.operations * waited / task.seconds)
    }

    /// The slowdown at a server with a constant time of `service` seconds for each operation: a
    /// station that needs no longer for itself than the others need at the server returns before
    /// the server is free, so all stations wait for each other, and an operation of the task takes
    /// one service more for each station. The second number is the number of other operations for
    /// which it waits. `None` if a station or the task takes longer, or pauses.
    pub(super) fn regular(&self, task: &Alone, stations: u32, service: f64) -> Option<[f64; 2]> {
        let alone = task.seconds / task.operations;
        let others = f64::from(stations) * service;
        let theirs = self.think_seconds / self.operations + self.medium_seconds.iter().sum::<f64>();
        let is_full =
            stations > 0 && service > 0.0 && theirs <= others && alone - service <= others;
        is_full.then(|| [(others + service) / alone, (others + service - alone) / service])
    }

    /// The number of stations beyond which each further one adds all of its demand: from there on
    /// the busiest place is never idle.
    pub fn knee(&self) -> Option<f64> {
        let places = self.places();
        let most = places.iter().copied().fold(0.0, f64::max) * self.operations;
        let all: f64 = places.iter().sum::<f64>() * self.operations + self.think_seconds;
        (most > 0.0).then(|| all / most)
    }
}

#[cfg(test)]
mod tests {
    use btu_network::Reader;
    use btu_units::Bytes;

    use super::*;
    use btu_contract::lan::{Pattern, StationProgram};

    fn records() -> StationWork {
        let (pattern, program) = (Pattern::Record, StationProgram::Constant);
        StationWork::Transactions { pattern, program, record: Bytes::new(512) }
    }

    fn alone(server: f64, own: f64) -> Alone {
        let operations = 100.0;
        let seconds = operations * (server + own);
        Alone { seconds, operations, read: 0.0, written: 0.0, stay: server }
    }

    /// A server of 2 ms and no other time: every station adds its own service, and the knee is at
    /// one.
    #[test]
    fn without_a_pause_slowdown_is_the_number_of_stations_and_one() {
        let task = alone(0.002, 0.0);
        let demands = Demands::of(&[task], None, &records()).unwrap();
        for stations in [0, 1, 3, 10] {
            let slowdown = demands.slowdown(&task, stations).unwrap();
            assert!((slowdown - f64::from(stations) - 1.0).abs() < 1e-9, "{stations}: {slowdown}");
        }
        assert!((demands.knee().unwrap() - 1.0).abs() < 1e-9);
    }

    /// By hand, D = 2 ms and Z = 2 ms: Q(1) = 1/2, Q(2) = 2 x 1.5/2.5 = 1.2; a task that is as long
    /// at the server as outside is slower by half of Q.
    #[test]
    fn the_arrival_theorem_by_hand() {
        let task = alone(0.002, 0.002);
        let demands = Demands::of(&[task], None, &records()).unwrap();
        assert!((demands.at_server(1).unwrap() - 0.5).abs() < 1e-12);
        assert!((demands.at_server(2).unwrap() - 1.2).abs() < 1e-12);
        assert!((demands.slowdown(&task, 2).unwrap() - 1.6).abs() < 1e-12);
        assert!((demands.knee().unwrap() - 2.0).abs() < 1e-12);
    }

    /// By hand: 2 ms of service, 0.5 ms of their own: at one station an operation takes 4 ms
    /// instead of 2.5, and waits for 1.5.
    #[test]
    fn regular_times_by_hand() {
        let task = alone(0.002, 0.0005);
        let demands = Demands::of(&[task], None, &records()).unwrap();
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        };
        let [slowdown, queue] = demands.regular(&task, 1, 0.002).unwrap();
        near(slowdown, 1.6);
        near(queue, 0.75);
        assert_eq!(demands.regular(&task, 0, 0.002), None);
        assert_eq!(demands.regular(&alone(0.002, 0.01), 1, 0.002), None, "it is not back in time");
        // Irregular ones wait longer.
        assert!(demands.slowdown(&task, 1).unwrap() > slowdown);
    }

    #[test]
    fn the_task_with_least_of_its_own_tells_what_is_a_station_s() {
        let demands = Demands::of(&[alone(0.002, 0.001), alone(0.002, 0.005)], None, &records());
        assert!((demands.unwrap().own_seconds - 0.001).abs() < 1e-12);
        assert_eq!(Demands::of(&[], None, &records()), None);
    }

    /// 10 Mb/s, by hand: a call of 144 octets has 14 + 20 + 32 + 4 around it, 8 of preamble and 12
    /// of gap: 234 octets; an answer of 140 is 230. A record of 512 adds itself once in two
    /// operations each way.
    #[test]
    fn a_shared_cable_by_hand() {
        let text = btu_network_text();
        let drawing = Reader::new("office").read(&text).unwrap();
        let [bench, server] = ["bench", "server"].map(|name| drawing.station_called(name).unwrap());
        let wire = Wire::between(&drawing, bench, server).unwrap();
        let busy = wire.busy(256.0, 256.0);
        let expected = 8.0 * (234.0 + 230.0 + 512.0) / 10e6;
        assert!(busy.len() == 1 && (busy[0] / expected - 1.0).abs() < 0.03, "{busy:?}, {expected}");
    }

    fn btu_network_text() -> String {
        btu_network::library_text("office-1988").expect("a network of the library").to_owned()
    }
}
