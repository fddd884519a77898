//! The simulator's prediction for more stations: the network file's own media with their
//! collisions, and a server with a constant time for each operation, one after the other. It
//! complements the closed form, which assumes irregular times and no collisions.

use btu_medium::sim::{Settings, simulate};
use btu_network::{Arrivals, Drawing, Flow, Sizes, StationId, Target};
use btu_units::{Bytes, Span};

use super::forecast::{ANSWER, Alone, CALL, Demands};
use btu_contract::experiment::AROUND_SEGMENT;

/// The approximate number of simulated operations of a level: their mean is known to some per cent,
/// and a level takes some ten milliseconds.
const OPERATIONS: f64 = 4000.0;

/// Longest virtual time of a level, in seconds.
const LONGEST: f64 = 60.0;

/// More operations per second than any network and server can do: such a record is not a
/// measurement.
const MOST_PER_SECOND: f64 = 1e7;

/// A larger network takes longer to build than to simulate.
const MOST_STATIONS: usize = 1000;

/// Ethernet's shortest and longest frame.
const SHORTEST_FRAME: usize = 64;
const LONGEST_FRAME: usize = 1518;

/// The time of a task's operation at the server and on the path there and back, by the number of
/// stations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Simulated {
    alone: f64,
    levels: Vec<(u32, f64)>,
}

/// The background stations of a network with their work and the task's.
#[derive(Debug)]
pub(super) struct Office<'a> {
    pub(super) drawing: &'a Drawing,
    pub(super) server: StationId,
    pub(super) bench: StationId,
    pub(super) stations: Vec<StationId>,
    pub(super) seed: u64,
}

impl Simulated {
    /// The results of these levels; `None` if the simulator cannot compute them.
    pub(super) fn of(
        office: &Office<'_>,
        levels: &[u32],
        tasks: &[Alone],
        (demands, octets): (&Demands, [f64; 2]),
    ) -> Option<Self> {
        let task = mean_of(tasks).filter(|_| office.drawing.stations.len() <= MOST_STATIONS)?;
        let took = |count: u32| office.took(count, &task, demands, octets);
        let levels =
            levels.iter().filter(|count| **count > 0).map(|&count| Some((count, took(count)?)));
        Some(Self { alone: took(0)?, levels: levels.collect::<Option<_>>()? })
    }

    /// The slowdown of a task with this number of stations: its time over that with none.
    pub(super) fn slowdown(&self, task: &Alone, stations: u32) -> Option<f64> {
        let (_, took) = self.levels.iter().find(|(count, _)| *count == stations)?;
        Some(1.0 + task.operations * (took - self.alone) / task.seconds)
    }
}

/// The mean operation of all tasks: its octets, and its station's own time.
struct Mean {
    read: f64,
    written: f64,
    own: f64,
}

fn mean_of(tasks: &[Alone]) -> Option<Mean> {
    let sum = |of: fn(&Alone) -> f64| tasks.iter().map(of).sum::<f64>();
    let operations = sum(|task| task.operations);
    (operations > 0.0).then(|| Mean {
        read: sum(|task| task.read) / operations,
        written: sum(|task| task.written) / operations,
        own: ((sum(|task| task.seconds - task.stay * task.operations)) / operations).max(0.0),
    })
}

impl Office<'_> {
    /// Seconds of an operation of the task with this number of working stations.
    fn took(&self, count: u32, task: &Mean, demands: &Demands, octets: [f64; 2]) -> Option<f64> {
        let duration = duration(count, task, demands)?;
        let mut drawing = self.drawing.clone();
        drawing.stations.get_mut(self.server.0 as usize)?.one_at_a_time = true;
        let service = Span::from_seconds_f64(demands.server_seconds);
        let flow = |name: &str, from: Vec<StationId>, think: f64, [read, written]: [f64; 2]| Flow {
            name: name.to_owned(),
            from,
            to: Target::Station(self.server),
            sizes: Sizes::Fixed(frame(CALL + written)),
            arrivals: Arrivals::Closed {
                think: Span::from_seconds_f64(think),
                reply: Some(frame(ANSWER + read)),
                service,
            },
            start: Span::ZERO,
            stop: None,
        };
        drawing.traffic = vec![flow("task", vec![self.bench], task.own, [task.read, task.written])];
        if count > 0 {
            let mut stations = self.stations.get(..count as usize)?.to_vec();
            stations.sort_unstable();
            let think = demands.think_seconds / demands.operations;
            drawing.traffic.push(flow("stations", stations, think, octets));
        }
        let settings = Settings { replications: 1, seed: self.seed, ..Settings::lasting(duration) };
        let outcome = simulate(&drawing, &settings).ok()?;
        Some(outcome.flows.first()?.exchanges.as_ref()?.took.as_ref()?.mean.value)
    }
}

/// Virtual time for this approximate number of operations of the task and the stations together:
/// the server's and the stations' own times bound the rate. `None` for times that no measurement
/// can give.
fn duration(count: u32, task: &Mean, demands: &Demands) -> Option<Span> {
    let cycle = demands.server_seconds + demands.medium_seconds.iter().sum::<f64>();
    let asked = 1.0 / (task.own + cycle)
        + f64::from(count) / (demands.think_seconds / demands.operations + cycle);
    let most =
        demands.medium_seconds.iter().copied().fold(demands.server_seconds, f64::max).recip();
    let per_second = asked.min(most);
    let is_possible = per_second.is_finite() && (0.0..MOST_PER_SECOND).contains(&per_second);
    is_possible.then(|| Span::from_seconds_f64((OPERATIONS / per_second).min(LONGEST)))
}

/// A call or an answer as one frame: the simulator adds no further waits for data beyond a full
/// frame.
fn frame(payload: f64) -> Bytes {
    Bytes::new(
        (AROUND_SEGMENT + payload.round() as usize).clamp(SHORTEST_FRAME, LONGEST_FRAME) as u64
    )
}

#[cfg(test)]
mod tests {
    use btu_network::Reader;

    use super::*;
    use btu_contract::lan::{Pattern, StationProgram, StationWork};

    const OFFICE: &str = "
name = \"office\"
[segments.switch]
medium = \"switched-ethernet\"
rate = \"1 Gb/s\"
[stations.server]
segment = \"switch\"
[stations.bench]
segment = \"switch\"
[stations.station]
segment = \"switch\"
count = 10
";

    /// At a server of 2 ms stations with very short pauses wait for each other: (k + 1) times 2 ms,
    /// less an operation's time outside the server, as the form for regular times has it. The
    /// simulator's pauses are exponential ones of 0.1 ms, which leaves it within 2 %.
    #[test]
    fn a_server_of_two_milliseconds_is_simulated_as_its_closed_form_has_it() {
        let drawing = Reader::new("office").read(OFFICE).unwrap();
        let found = |name: &str| drawing.station_called(name).unwrap();
        let stations = (1..=10).map(|number| found(&format!("station-{number}"))).collect();
        let office = Office {
            drawing: &drawing,
            server: found("server"),
            bench: found("bench"),
            stations,
            seed: 3,
        };
        let task =
            Alone { seconds: 0.21, operations: 100.0, read: 400_000.0, written: 0.0, stay: 0.002 };
        let (pattern, program) = (Pattern::Record, StationProgram::Constant);
        let work = StationWork::Transactions { pattern, program, record: Bytes::new(512) };
        let demands = Demands::of(&[task], None, &work).unwrap();
        let simulated =
            Simulated::of(&office, &[0, 1, 3, 10], &[task], (&demands, [256.0, 256.0])).unwrap();
        for count in [1, 3, 10] {
            let [expected, _] = demands.regular(&task, count, 0.002).unwrap();
            let slowdown = simulated.slowdown(&task, count).unwrap();
            assert!(
                (slowdown / expected - 1.0).abs() < 0.02,
                "{count}: {slowdown}, not {expected}"
            );
        }
        assert_eq!(simulated.slowdown(&task, 2), None);
    }
}
