//! What is measured: a TCP stream from every host to every other one, and all hosts at once in pairs.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_contract::accounting::flow_faults;
use btu_contract::activity::{Activity, Order, Receiving, Rendezvous, TcpReceive, TcpSend, Work};
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, RunFacts, Scripts, Slot, Warning,
    left, stream, warnings,
};
use btu_contract::network::{HostName, Impairments};
use btu_contract::record::{Failure, Outcome, PlacedReport, Received, Sent, bytes_by};
use btu_contract::script::{Role, Script, Step};
use btu_contract::text::count;
use btu_stats::{Estimate, Level, arithmetic_mean, geometric_interval, median};
use btu_units::{Bytes, Span};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::LogRates;
use super::model::Fleet;
use crate::Judged;

/// More hosts than this are no fleet of one run: their pairs grow with the square.
pub const MOST_HOSTS: usize = 256;

/// A quick run of few hosts measures each pair again until there are so many rates: all pairs of eight hosts.
const LEAST_RATES: u32 = 56;

/// One call of a stream.
const MESSAGE: Bytes = Bytes::new(65_536);

/// What a cell takes in addition to its streams.
const AROUND_A_CELL: Span = Span::from_milliseconds(200);

/// The random stream of the tournament's order.
const TOURNAMENT: u64 = 1 << 41;

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// The common part of all plans; its hosts are the fleet.
    #[serde(flatten)]
    pub frame: Frame,
    /// How long a stream sends.
    #[serde(rename = "time_ns")]
    pub time: Span,
    /// Whether every ordered pair is measured alone; otherwise its rate is that in its round.
    pub each_alone: bool,
    /// The blocks in which every pair is measured. Of later ones those are that look slow by these, each with
    /// three other pairs: what disturbs a single measurement looks like a slow pair.
    pub whole_blocks: u32,
}

/// The key of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FleetCell {
    /// One host sends to another, and no other pair is at work.
    Pair {
        /// Who sends.
        from: HostName,
        /// Who receives.
        to: HostName,
    },
    /// All pairs of a round of the tournament at once.
    Round {
        /// Its number, from 0.
        round: u32,
        /// Whether who received in the round sends.
        back: bool,
    },
}

impl FleetCell {
    fn is_round(&self) -> bool {
        matches!(self, Self::Round { .. })
    }
}

impl fmt::Display for FleetCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair { from, to } => write!(f, "{from} to {to}"),
            Self::Round { round, back } => {
                write!(f, "round {} {}", round + 1, if *back { "back" } else { "forth" })
            }
        }
    }
}

/// The verdict over a run. Rows and columns are the plan's hosts, in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetVerdict {
    /// Their names.
    pub hosts: Vec<String>,
    /// Every ordered pair.
    pub pairs: Vec<PairResult>,
    /// Those that failed whenever they were measured.
    pub broken: Vec<BrokenPair>,
    /// The pairs that were not tried: the run ended before.
    pub missing: usize,
    /// The rates taken apart; `None` if pairs are missing, or nothing was measured.
    pub model: Option<Fleet>,
    /// All pairs at once; `None` if no round was measured.
    pub at_once: Option<AtOnce>,
    /// The warnings about the result.
    pub warnings: Vec<Warning>,
}

/// A pair whose stream failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenPair {
    /// Who was to send.
    pub from: HostName,
    /// Who was to receive.
    pub to: HostName,
    /// The first reason.
    pub why: String,
}

/// What one host gets through to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairResult {
    /// Who sends.
    pub from: HostName,
    /// Who receives.
    pub to: HostName,
    /// Payload that arrived over time, in bits per second: the geometric mean of the blocks (95 %).
    pub goodput_bits_per_second: Option<Estimate>,
    /// The shortest round trip that TCP saw.
    pub round_trip_seconds: Option<f64>,
    /// Octets that were sent again, of all that were sent.
    pub sent_again: Option<f64>,
}

/// Half of the hosts send to the other half.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AtOnce {
    /// All pairs of a round together, the mean of the rounds, in bits per second.
    pub sum_bits_per_second: f64,
    /// The same pairs alone, added up; `None` if they were not measured alone.
    pub alone_bits_per_second: Option<f64>,
}

/// One stream of a cell: the places of its hosts.
struct FleetStream<'a> {
    from: usize,
    to: usize,
    sent: &'a Sent,
    received: &'a Received,
}

impl FleetStream<'_> {
    fn bits_per_second(&self) -> f64 {
        self.received.bytes.bits() / self.received.last_byte.seconds()
    }
}

/// What all streams of a cell carry in the time in which all of them run: over times of their own,
/// streams that share a line would add up to more than it has.
fn together(flows: &[FleetStream<'_>]) -> Option<f64> {
    let time = flows.iter().map(|flow| flow.received.last_byte.nanoseconds()).min()? as f64;
    let bytes: f64 = flows.iter().map(|flow| bytes_by(&flow.received.progress, time)).sum();
    Some(bytes * 8e9 / time)
}

/// The whole blocks of a quick run of so many hosts.
pub fn blocks_of(hosts: usize) -> u32 {
    let pairs = u32::try_from(hosts * hosts.saturating_sub(1)).unwrap_or(u32::MAX);
    LEAST_RATES.div_ceil(pairs.max(1))
}

impl FleetPlan {
    /// No more than [`MOST_HOSTS`], whatever a file of others holds.
    fn hosts(&self) -> Vec<&HostName> {
        let mut hosts = self.frame.network.hosts();
        hosts.truncate(MOST_HOSTS);
        hosts
    }

    /// The number of rounds in which each pair of hosts meets once.
    fn rounds(&self) -> u32 {
        let hosts = self.hosts().len() as u32;
        (hosts + hosts % 2).saturating_sub(1)
    }

    /// A round of disjoint pairs, with hosts in an order drawn from the seed: all but the first move by a place from round to round
    /// (the circle method). One host rests where their number is odd.
    fn round(&self, number: u32) -> Vec<[usize; 2]> {
        if number >= self.rounds() {
            return Vec::new();
        }
        let count = self.hosts().len();
        let mut seats: Vec<Option<usize>> = (0..count).map(Some).collect();
        seats.shuffle(&mut stream(self.frame.seed, TOURNAMENT));
        seats.extend((count % 2 == 1).then_some(None));
        seats[1..].rotate_right(number as usize);
        let last = seats.len() - 1;
        let meets = |place: usize| Some([seats[place]?, seats[last - place]?]);
        (0..seats.len() / 2).filter_map(meets).collect()
    }

    /// The ordered pairs of a cell, by the hosts' places.
    fn pairs(&self, cell: &FleetCell) -> Vec<[usize; 2]> {
        match cell {
            FleetCell::Pair { from, to } => {
                let place = |name| self.hosts().iter().position(|host| *host == name);
                place(from).zip(place(to)).map(|(from, to)| [from, to]).into_iter().collect()
            }
            FleetCell::Round { round, back } => {
                let mut pairs = self.round(*round);
                if *back {
                    for pair in &mut pairs {
                        pair.reverse();
                    }
                }
                pairs
            }
        }
    }

    /// The streams of a cell; a receiver and its sender follow each other in the script.
    fn flows<'a>(&self, cell: &FleetCell, seen: &'a Observation) -> Vec<FleetStream<'a>> {
        let outcome = |place: usize| Some(&seen.reports.get(place)?.result.as_ref().ok()?.outcome);
        let flow = |(number, [from, to]): (usize, [usize; 2])| match (
            outcome(2 * number)?,
            outcome(2 * number + 1)?,
        ) {
            (Outcome::Received(received), Outcome::Sent(sent)) => {
                Some(FleetStream { from, to, sent, received })
            }
            _ => None,
        };
        self.pairs(cell).into_iter().enumerate().filter_map(flow).collect()
    }

    /// The streams of each cell that counts and is of this kind.
    fn by_cell<'a>(
        &self,
        cells: &'a [Measured<FleetCell>],
        is_round: bool,
    ) -> Vec<Vec<FleetStream<'a>>> {
        let own = cells.iter().filter(|one| one.is_valid() && one.cell.is_round() == is_round);
        own.map(|one| self.flows(&one.cell, &one.seen)).collect()
    }

    /// The streams with accounts that balance, also of a cell in which another one failed; and the
    /// pairs of those that failed, with the reasons.
    fn sorted<'a>(
        &self,
        cells: impl Iterator<Item = &'a Measured<FleetCell>>,
    ) -> (Vec<FleetStream<'a>>, Vec<([usize; 2], String)>) {
        let (mut good, mut failed) = (Vec::new(), Vec::new());
        for one in cells {
            let why = self.faults_by_pair(one);
            let is_good =
                |flow: &FleetStream<'_>| !why.iter().any(|(pair, _)| *pair == [flow.from, flow.to]);
            good.extend(self.flows(&one.cell, &one.seen).into_iter().filter(is_good));
            failed.extend(why);
        }
        (good, failed)
    }

    /// The pairs of a cell that do not count. Without reports none of them does.
    fn faults_by_pair(&self, one: &Measured<FleetCell>) -> Vec<([usize; 2], String)> {
        let Some(first) = one.faults.first() else { return Vec::new() };
        let script = self.script(&one.cell, &CellSetting::unplayed(&self.frame));
        let steps = script.steps.chunks(2).zip(one.seen.reports.chunks(2));
        let mut reasons: Vec<Option<String>> = steps
            .map(|(steps, reports)| {
                let mut steps = steps.to_vec();
                if let Some(sender) = steps.get_mut(1) {
                    sender.peer = Some(0);
                }
                let failed = |report: &&PlacedReport| {
                    matches!(&report.result, Err(failure) if *failure != Failure::NotStarted)
                };
                if let Some(failed) = reports.iter().find(failed) {
                    return failed.failure();
                }
                let alone = Script { impairments: Impairments::new(), steps };
                flow_faults(&alone, reports).into_iter().next()
            })
            .collect();
        let pairs = self.pairs(&one.cell);
        if reasons.len() < pairs.len() || reasons.iter().all(Option::is_none) {
            reasons = vec![Some(first.clone()); pairs.len()];
        }
        pairs.into_iter().zip(reasons).filter_map(|(pair, why)| Some((pair, why?))).collect()
    }

    /// The pairs that failed whenever they were measured, each with its first reason.
    fn broken(
        &self,
        good: &[FleetStream<'_>],
        failed: Vec<([usize; 2], String)>,
    ) -> Vec<BrokenPair> {
        let mut broken: Vec<BrokenPair> = Vec::new();
        let hosts = self.hosts();
        for ([from, to], why) in failed {
            let is_good = good.iter().any(|flow| [flow.from, flow.to] == [from, to]);
            let pair = BrokenPair { from: hosts[from].clone(), to: hosts[to].clone(), why };
            let is_new =
                broken.iter().all(|known| (&known.from, &known.to) != (&pair.from, &pair.to));
            if is_new && !is_good {
                broken.push(pair);
            }
        }
        broken
    }

    fn pair(&self, flows: &[&FleetStream<'_>], [from, to]: [usize; 2]) -> PairResult {
        let hosts = self.hosts();
        let rates: Vec<f64> = flows.iter().map(|flow| flow.bits_per_second()).collect();
        let sent: u64 = flows.iter().map(|flow| flow.sent.tcp.bytes_sent).sum();
        let again: u64 = flows.iter().map(|flow| flow.sent.tcp.bytes_retransmitted).sum();
        let trips = flows.iter().map(|flow| flow.sent.tcp.min_rtt_us).filter(|trip| *trip > 0);
        PairResult {
            from: hosts[from].clone(),
            to: hosts[to].clone(),
            goodput_bits_per_second: geometric_interval(&rates, Level::P95),
            round_trip_seconds: trips.min().map(|trip| f64::from(trip) * 1e-6),
            sent_again: (sent > 0).then(|| again as f64 / sent as f64),
        }
    }

    /// The rates in a block, of each pair alone, or of the rounds.
    fn table(&self, cells: &[Measured<FleetCell>], block: u32) -> LogRates {
        let hosts = self.hosts().len();
        let mut table = vec![vec![None; hosts]; hosts];
        let own = cells.iter().filter(|one| one.block == block && self.is_judged(&one.cell));
        for flow in self.sorted(own).0 {
            let rate = Some(flow.bits_per_second()).filter(|rate| *rate > 0.0);
            table[flow.from][flow.to] = rate.map(f64::ln);
        }
        table
    }

    /// The rates in each whole block, and in those before `end` in which pairs were measured again, of blocks that have any.
    fn tables(&self, cells: &[Measured<FleetCell>], end: u32) -> [Vec<LogRates>; 2] {
        let blocks: BTreeSet<u32> = cells.iter().map(|one| one.block).collect();
        let whole = self.whole_blocks.min(end);
        [0..whole, whole..end]
            .map(|range| blocks.range(range).map(|&block| self.table(cells, block)).collect())
    }

    /// Whether pairs are judged by cells of this kind.
    fn is_judged(&self, cell: &FleetCell) -> bool {
        cell.is_round() != self.each_alone
    }

    /// The cells of a block that measure suspicious pairs again.
    fn again(&self, block: u32, done: &[Measured<FleetCell>]) -> Vec<Slot<FleetCell>> {
        let [whole, later] = self.tables(done, block);
        let pairs: BTreeSet<[usize; 2]> = Fleet::next_pairs(&whole, &later).into_iter().collect();
        let mut slots = left(self, block, done);
        slots.retain(|slot| {
            self.is_judged(&slot.cell)
                && self.pairs(&slot.cell).iter().any(|pair| pairs.contains(pair))
        });
        slots
    }

    /// All pairs of a round together, next to the same pairs alone.
    fn at_once(
        &self,
        rounds: &[Vec<FleetStream<'_>>],
        alone: &[Vec<Option<f64>>],
    ) -> Option<AtOnce> {
        let sums = |of: &dyn Fn(&FleetStream<'_>) -> Option<f64>| -> Option<Vec<f64>> {
            rounds.iter().map(|flows| flows.iter().map(of).sum::<Option<f64>>()).collect()
        };
        let alone = self.each_alone.then(|| sums(&|flow| alone[flow.from][flow.to])).flatten();
        Some(AtOnce {
            sum_bits_per_second: arithmetic_mean(
                &rounds.iter().filter_map(|flows| together(flows)).collect::<Vec<f64>>(),
            )?,
            alone_bits_per_second: alone.and_then(|sums| arithmetic_mean(&sums)),
        })
    }
}

/// Pairs that were not told from chance.
fn untold(model: &Fleet) -> Option<Warning> {
    (model.open_pairs > 0).then(|| Warning {
        cause: "few repetitions",
        observed: format!(
            "{} {} slow, and the time was over before enough repetitions",
            count(model.open_pairs as u64, "pair"),
            if model.open_pairs == 1 { "looks" } else { "look" }
        ),
        advice: "what disturbs a single measurement looks like a slow pair: give more time (--time)",
    })
}

impl Named for FleetPlan {
    const STUDY: &'static str = "fleet";
    const COMMAND: &'static str = "btu fleet";
    const VERSION: u32 = 1;
}

impl Scripts for FleetPlan {
    const GOES_ON: bool = true;
    const HOSTS_APART: bool = true;

    type Cell = FleetCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn missing(&self, block: u32, done: &[Measured<FleetCell>]) -> Vec<Slot<FleetCell>> {
        if block >= self.frame.blocks {
            Vec::new()
        } else if block >= self.whole_blocks {
            self.again(block, done)
        } else {
            left(self, block, done)
        }
    }

    fn sure_after(&self, block: u32, _done: &[Measured<FleetCell>]) -> usize {
        self.whole_blocks.saturating_sub(block + 1) as usize * self.cells().len()
    }

    fn forecast(&self) -> Span {
        self.time + AROUND_A_CELL
    }

    /// Every ordered pair alone, and the rounds forth; where pairs are not measured alone, back too.
    fn cells(&self) -> Vec<FleetCell> {
        let hosts = self.hosts();
        let pairs = hosts.iter().filter(|_| self.each_alone).flat_map(|from| {
            let others = hosts.iter().filter(move |to| *to != from);
            others.map(|to| FleetCell::Pair { from: (*from).clone(), to: (*to).clone() })
        });
        let ways: &[bool] = if self.each_alone { &[false] } else { &[false, true] };
        let rounds = (0..self.rounds())
            .flat_map(|round| ways.iter().map(move |back| FleetCell::Round { round, back: *back }));
        pairs.chain(rounds).collect()
    }

    fn script(&self, cell: &FleetCell, setting: &CellSetting) -> Script {
        let unset = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let (token, message) = (setting.token, MESSAGE);
        let receive = Activity::TcpReceive(TcpReceive {
            meeting: Rendezvous::Listen(unset),
            token,
            message,
            window: None,
            volume: None,
            receiving: Receiving::Plain,
        });
        let send = Activity::TcpSend(TcpSend {
            meeting: Rendezvous::Connect(SocketAddr::new(unset, 0)),
            token,
            message,
            work: Work::For(self.time),
            window: None,
            unsent: None,
        });
        let hosts = self.hosts();
        let step = |host: usize, peer, activity: &Activity| Step {
            host: hosts[host].clone(),
            role: Role::Network,
            peer,
            order: Order::new(setting.seed, setting.deadline, activity.clone()),
        };
        let pair = |(number, [from, to]): (usize, [usize; 2])| {
            [step(to, None, &receive), step(from, Some(2 * number), &send)]
        };
        let steps = self.pairs(cell).into_iter().enumerate().flat_map(pair).collect();
        Script { impairments: Impairments::new(), steps }
    }

    fn faults(&self, cell: &FleetCell, seen: &Observation) -> Vec<String> {
        flow_faults(&self.script(cell, &CellSetting::unplayed(&self.frame)), &seen.reports)
    }

    fn facts(&self, cell: &FleetCell, seen: &Observation) -> Facts {
        let goodput_bits_per_second = together(&self.flows(cell, seen));
        Facts { message: MESSAGE, goodput_bits_per_second, ..Facts::default() }
    }
}

impl Judged for FleetPlan {
    type Verdict = FleetVerdict;

    fn judge(&self, cells: &[Measured<FleetCell>], _: &RunFacts) -> FleetVerdict {
        let hosts = self.hosts();
        let rounds = self.by_cell(cells, true);
        let (flows, failed) = self.sorted(cells.iter().filter(|one| self.is_judged(&one.cell)));
        let mut by_pair: Vec<Vec<Vec<&FleetStream<'_>>>> =
            vec![vec![Vec::new(); hosts.len()]; hosts.len()];
        for flow in &flows {
            by_pair[flow.from][flow.to].push(flow);
        }
        let typical = |flows: &Vec<&FleetStream<'_>>| {
            median(&flows.iter().map(|flow| flow.bits_per_second()).collect::<Vec<_>>())
        };
        let rates: Vec<Vec<Option<f64>>> =
            by_pair.iter().map(|row| row.iter().map(typical).collect()).collect();
        let places = 0..hosts.len();
        let ordered = places.clone().flat_map(|from| places.clone().map(move |to| [from, to]));
        let broken = self.broken(&flows, failed);
        let judged = cells.iter().filter(|one| self.is_judged(&one.cell));
        let tried: BTreeSet<[usize; 2]> = judged.flat_map(|one| self.pairs(&one.cell)).collect();
        let missing = (hosts.len() * hosts.len().saturating_sub(1)).saturating_sub(tried.len());
        let end = cells.iter().map(|one| one.block.saturating_add(1)).max().unwrap_or(0);
        let [whole, later] = self.tables(cells, end.min(self.frame.blocks));
        let model = Fleet::of(&whole, &later).filter(|_| missing == 0);
        let untold = model.as_ref().and_then(untold);
        FleetVerdict {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            pairs: ordered
                .filter(|[from, to]| from != to)
                .map(|[from, to]| self.pair(&by_pair[from][to], [from, to]))
                .collect(),
            broken,
            missing,
            model,
            at_once: self.at_once(&rounds, &rates),
            warnings: warnings(cells).into_iter().chain(untold).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use btu_contract::experiment::{Field, Raised};

    use super::*;

    fn plan(count: usize) -> FleetPlan {
        let stations =
            (0..count).map(|one| HostName::try_from(format!("h{one}").as_str()).unwrap());
        let network = Field::Drawing(Raised {
            name: "drawn".to_owned(),
            text: String::new(),
            stations: stations.collect(),
            congestion_control: None,
            ipv6: false,
        });
        let seconds = Span::from_seconds;
        let frame = Frame {
            version: FleetPlan::VERSION,
            seed: 7,
            profile: "quick".to_owned(),
            blocks: 1,
            budget: seconds(9),
            deadline: seconds(9),
            left_out: Vec::new(),
            network,
        };
        FleetPlan { frame, time: seconds(1), each_alone: true, whole_blocks: 1 }
    }

    #[test]
    fn each_pair_meets_once_and_no_host_is_twice_in_a_round() {
        for count in [2, 3, 8, 9, 16] {
            let mut met = BTreeSet::new();
            let plan = plan(count);
            for round in (0..plan.rounds()).map(|number| plan.round(number)) {
                let at_work: BTreeSet<usize> = round.iter().flatten().copied().collect();
                assert_eq!(at_work.len(), 2 * round.len(), "{round:?}");
                assert_eq!(round.len(), count / 2);
                for [one, other] in round {
                    assert!(met.insert([one.min(other), one.max(other)]));
                }
            }
            assert_eq!(met.len(), count * (count - 1) / 2);
        }
    }

    /// Blocks after the whole ones are for pairs that look slow; here nothing was measured.
    #[test]
    fn later_blocks_measure_nothing_that_looks_well() {
        let mut plan = plan(8);
        plan.frame.blocks = 3;
        assert_eq!((plan.missing(0, &[]).len(), plan.missing(1, &[]).len()), (63, 0));
        assert_eq!((plan.sure_after(0, &[]), plan.missing(3, &[]).len()), (0, 0));
        let whole = FleetPlan { whole_blocks: 3, ..plan };
        assert_eq!((whole.missing(1, &[]).len(), whole.sure_after(0, &[])), (63, 126));
    }

    #[test]
    fn every_ordered_pair_is_measured_and_rounds_only_where_that_takes_too_long() {
        assert_eq!(plan(8).cells().len(), 56 + 7);
        let rounds = FleetPlan { each_alone: false, ..plan(9) };
        assert_eq!(rounds.cells().len(), 2 * 9);
        let setting = CellSetting::unplayed(&rounds.frame);
        let ordered: BTreeSet<(HostName, HostName)> = rounds
            .cells()
            .iter()
            .flat_map(|cell| {
                rounds
                    .script(cell, &setting)
                    .steps
                    .chunks(2)
                    .map(|pair| (pair[1].host.clone(), pair[0].host.clone()))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(ordered.len(), 9 * 8);
        let names: BTreeSet<String> = plan(8).cells().iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 63, "names are unique");
    }
}
