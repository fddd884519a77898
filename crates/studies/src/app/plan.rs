//! The plan of `btu app`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use btu_units::{Bytes, Span, hexadecimal};
use serde::{Deserialize, Serialize};

use super::accounts::{accounts, broadcast, x11perf};
use super::verdict::{AppVerdict, judge, least_times};
use super::{
    AppCell, Broadcasts, Carrier, Displayed, Drawing, Drawn, Factor, Factors, Mix, Niceness,
    Protocol, Questions, REPLY_BYTES, Slowing, Speeds, Workload, paper, x11perf_test,
};
use crate::Judged;
use btu_contract::activity::{Activity, Broadcast, DrawEnd, Order, PipeMeeting, Relay, Rendezvous};
use btu_contract::border;
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, RunFacts, Scripts,
};
use btu_contract::network::{HostName, Impairments};
use btu_contract::pipe::{End, PipePlan, Place, SocketOptions};
use btu_contract::record::Outcome;
use btu_contract::script::{Role, Script, Step};

/// A picture of any workload takes no longer, one request at a time over the slowest line of the
/// study; nor does a cell.
pub const DEADLINE: Span = Span::from_seconds(3600);

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppPlan {
    /// The common part of all plans; of the two stations the first is the application's, the second
    /// the display's.
    #[serde(flatten)]
    pub frame: Frame,
    /// The pictures that are drawn, each listed once.
    #[serde(deserialize_with = "border::once")]
    pub workloads: Vec<Workload>,
    /// The protocols with which they are drawn, each listed once.
    #[serde(deserialize_with = "border::once")]
    pub protocols: Vec<Protocol>,
    /// The carriers. Cells that a carrier cannot carry are left out.
    #[serde(deserialize_with = "border::once")]
    pub carriers: Vec<Carrier>,
    /// The displays, where cells are drawn on several; they are hosts of the frame, as the
    /// application is.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "border::once")]
    pub displays: Vec<HostName>,
    /// The speeds of the processors, one after the other; full speed without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "border::once")]
    pub speeds: Vec<Speeds>,
    /// What another station sends to all hosts, one rate after the other; nothing without any.
    #[serde(rename = "broadcasts_per_second")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "border::once")]
    pub broadcasts: Vec<Broadcasts>,
    /// The station that sends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcaster: Option<HostName>,
    /// How processors are made slower.
    #[serde(default, skip_serializing_if = "Slowing::is_usual")]
    pub slowing: Slowing,
    /// The nice value of both ends.
    #[serde(default, skip_serializing_if = "Niceness::is_usual")]
    pub nice: Niceness,
    /// The requests and responses of [`Workload::Mix`]; absent when the plan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// The host on which a relay runs, for [`Carrier::Relay`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<HostName>,
    /// Factors that are tried together; other settings have the first value of every list above.
    /// Without them every level of these lists is tried with every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    /// Only what repeats a number of the study's tables is measured, as far as the lists above have
    /// its levels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paper: bool,
    /// The inverse questions for the closed forms.
    #[serde(default, skip_serializing_if = "Questions::are_none")]
    pub questions: Questions,
    /// The application's additional computing for each request.
    #[serde(rename = "application_ns")]
    pub application: Span,
    /// The display's additional computing for each request.
    #[serde(rename = "display_ns")]
    pub display: Span,
    /// A picture is drawn again until this time has passed, once at least.
    #[serde(rename = "target_ns")]
    pub target: Span,
}

impl AppPlan {
    /// The protocols of the study's tables.
    pub const PAPER_PROTOCOLS: [Protocol; 5] = paper::PROTOCOLS;

    /// The carrier of requests in the study's tables: a procedure call where both ends are on one
    /// workstation, else its internet protocols.
    pub const PAPER_CARRIERS: [Carrier; 2] = [Carrier::InProcess, Carrier::Tcp];

    /// The time of a VAX-780 of the study for making an item: 510 a second are its fastest (Table
    /// 4-2, construction).
    pub const PAPER_APPLICATION: Span = Span::from_nanoseconds(1_000_000_000 / 510);

    /// The time of its workstation of 10 MHz for drawing one: 430 a second (Table 3-1, display).
    pub const PAPER_DISPLAY: Span = Span::from_nanoseconds(1_000_000_000 / 430);

    /// The trials that the study takes the mean of (section 3.1.1).
    pub const PAPER_BLOCKS: u32 = 10;

    /// Requests of one picture.
    pub(super) fn requests(&self, cell: &AppCell) -> u64 {
        self.mix(cell)
            .map_or_else(|| self.drawing(cell).requests().len() as u64, |mix| mix.requests())
    }

    /// Round trips of one picture with so many requests on their way at once.
    pub(super) fn round_trips(&self, cell: &AppCell, window: u64) -> u64 {
        match self.mix(cell) {
            Some(mix) => u64::from(mix.calls()) * u64::from(mix.fan_out()).div_ceil(window),
            None => self.requests(cell).div_ceil(window),
        }
    }

    /// The mix, where a cell is one.
    pub(super) fn mix(&self, cell: &AppCell) -> Option<Mix> {
        self.mix.filter(|_| cell.workload == Workload::Mix)
    }

    /// The visible items of a finished picture, which a rate counts.
    pub(super) fn shown(&self, cell: &AppCell) -> u64 {
        self.mix(cell).map_or_else(|| cell.workload.shown(), |mix| mix.requests())
    }

    fn drawing(&self, cell: &AppCell) -> Drawing {
        Drawing {
            workload: cell.workload,
            protocol: cell.protocol,
            application: self.application,
            display: self.display,
            speeds: cell.speeds,
            slowing: self.slowing,
            nice: self.nice,
            target: self.target,
            most_pictures: Drawing::MOST_PICTURES,
            mix: self.mix(cell),
            counts_broadcasts: self.has_broadcasts(),
            echoes: cell.carrier.has_form(),
        }
    }

    /// Whether broadcasts are sent in some cell.
    fn has_broadcasts(&self) -> bool {
        let factors = self.factors.iter().flat_map(Factors::list);
        self.broadcasts.iter().any(|broadcasts| !broadcasts.are_none())
            || factors.into_iter().any(|factor| matches!(factor, Factor::Broadcasts { .. }))
    }

    /// The hosts of a cell's application and display.
    pub fn hosts<'a>(&'a self, cell: &'a AppCell) -> [Option<&'a HostName>; 2] {
        let [application, display] = self.frame.network.ends();
        let display = cell.display.as_ref().or(display);
        if cell.carrier.is_local() { [display, display] } else { [application, display] }
    }

    /// What its cells need in the scratch directory: room for a Unix socket, if some have one.
    pub fn scratch(&self) -> Bytes {
        let has_socket = self.cells().iter().any(|cell| cell.carrier == Carrier::Unix);
        if has_socket { Bytes::new(4096) } else { Bytes::ZERO }
    }

    /// Every level of every list with every other, as far as transports carry them.
    fn crossed(&self) -> Vec<AppCell> {
        let displays: Vec<Option<HostName>> =
            several(&self.displays, |display| Some(display.clone()));
        let speeds = several(&self.speeds, |speeds| *speeds);
        let broadcasts = several(&self.broadcasts, |broadcasts| *broadcasts);
        let surroundings: Vec<_> = crossed(&displays, &speeds)
            .flat_map(|(display, speeds)| {
                broadcasts.iter().map(move |one| (display, *speeds, *one))
            })
            .collect();
        let mut cells = Vec::new();
        for (&workload, &protocol) in crossed(&self.workloads, &self.protocols) {
            let carriers: Vec<Carrier> = self
                .carriers
                .iter()
                .copied()
                .filter(|carrier| can_be(workload, protocol, *carrier))
                .collect();
            for (&carrier, &(display, speeds, broadcasts)) in crossed(&carriers, &surroundings) {
                cells.push(AppCell {
                    display: display.clone(),
                    speeds,
                    broadcasts,
                    ..AppCell::new(workload, protocol, carrier)
                });
            }
        }
        cells
    }

    /// The cell that has the first level of everything.
    fn base(&self) -> Option<AppCell> {
        let (workload, protocol, carrier) =
            (self.workloads.first()?, self.protocols.first()?, self.carriers.first()?);
        let speeds = self.speeds.first().copied().unwrap_or_default();
        Some(AppCell {
            display: self.displays.first().cloned(),
            speeds,
            broadcasts: self.broadcasts.first().copied().unwrap_or_default(),
            ..AppCell::new(*workload, *protocol, *carrier)
        })
    }
}

/// Each of `list`, or the default if it is empty.
fn several<T, U: Default>(list: &[T], one: impl Fn(&T) -> U) -> Vec<U> {
    if list.is_empty() { vec![U::default()] } else { list.iter().map(one).collect() }
}

/// Every one with every other.
fn crossed<'a, A, B>(first: &'a [A], second: &'a [B]) -> impl Iterator<Item = (&'a A, &'a B)> {
    first.iter().flat_map(move |a| second.iter().map(move |b| (a, b)))
}

/// The octets that a relay passed on, there and back; `None` for other carriers.
fn relayed(seen: &Observation, cell: &AppCell) -> Option<(Bytes, Bytes)> {
    let outcomes =
        seen.reports.iter().filter_map(|placed| Some(&placed.result.as_ref().ok()?.outcome));
    let passed = outcomes.into_iter().find_map(|outcome| match outcome {
        Outcome::Relayed(relayed) => Some((relayed.there, relayed.back)),
        _ => None,
    });
    (cell.carrier == Carrier::Relay).then(|| passed.unwrap_or_default())
}

/// Broadcasts in a cell of which an end's host must receive some: if none of so many came, they did
/// not reach its segment.
const SOME_BROADCASTS: u64 = 100;

/// No end discards more broadcasts than were sent, and each discards some of many.
fn broadcast_faults(
    seen: &Observation,
    cell: &AppCell,
    drawn: &Drawn,
    displayed: &Displayed,
) -> Vec<String> {
    if cell.broadcasts.are_none() {
        return Vec::new();
    }
    let Some(sent) = broadcast(seen).map(|sent| sent.datagrams) else {
        return vec!["the station that sends broadcasts has no account".to_owned()];
    };
    let ends = [("application", drawn.discarded), ("display", displayed.discarded)];
    let came = ends.into_iter().filter_map(|(end, came)| Some((end, came?.broadcasts)));
    let wrong = came.filter(|(_, came)| *came > sent || (*came == 0 && sent >= SOME_BROADCASTS));
    wrong
        .map(|(end, came)| format!("{came} of {sent} broadcasts came to the {end}'s host"))
        .collect()
}

/// Octets of all answers that the display accounts for.
fn replies_bytes(plan: &AppPlan, cell: &AppCell, displayed: &Displayed) -> u64 {
    let each = plan.mix(cell).map_or(REPLY_BYTES as u64, |mix| match mix.window(cell.protocol) {
        Some(_) => mix.response().count(),
        None => mix.response().count() * u64::from(mix.fan_out()),
    });
    displayed.replies * each
}

/// The meeting place of two processes of one host.
fn meeting_path(setting: &CellSetting) -> PathBuf {
    setting.scratch.join(format!("app-{}", hexadecimal(&setting.token[..6])))
}

/// Whether a workload can be carried like that.
fn can_be(workload: Workload, protocol: Protocol, carrier: Carrier) -> bool {
    let is_meant =
        workload != Workload::Mix || (Mix::takes(protocol) && carrier != Carrier::InProcess);
    let is_known = match carrier {
        // X has no symbols that call each other: a picture by symbols would be another protocol.
        Carrier::X11 => !matches!(workload, Workload::StructuredRectangles | Workload::Mix),
        Carrier::X11perf => x11perf_test(workload, protocol).is_some(),
        _ => true,
    };
    is_meant && is_known && carrier.carries(protocol)
}

/// The socket options of a carrier.
fn socket(carrier: Carrier) -> SocketOptions {
    SocketOptions {
        no_delay: (carrier == Carrier::TcpNagle).then_some(false),
        ..SocketOptions::default()
    }
}

impl Named for AppPlan {
    const STUDY: &'static str = "app";
    const COMMAND: &'static str = "btu app";
    const VERSION: u32 = 1;
}

impl Scripts for AppPlan {
    type Cell = AppCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn cells(&self) -> Vec<AppCell> {
        let mut cells = match (&self.factors, self.base()) {
            _ if self.paper => paper::cells(self),
            (Some(factors), Some(base)) => factors.cells(&base),
            _ => self.crossed(),
        };
        cells.retain(|cell| self.frame.has_time_for(cell));
        cells
    }

    fn least_times(&self) -> Vec<(AppCell, Span)> {
        least_times(self)
    }

    /// The display listens, a relay passes on, the application draws and keeps the time.
    fn script(&self, cell: &AppCell, setting: &CellSetting) -> Script {
        let unset = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let [application, display] = self.hosts(cell);
        let step = |host: Option<&HostName>, peer: Option<usize>, activity: Activity| {
            let order = Order::new(setting.seed, setting.deadline, activity);
            Some(Step { host: host?.clone(), role: Role::Network, peer, order })
        };
        let end = |end: End, meeting: PipeMeeting| {
            let kind = cell.carrier.kind();
            let pipe = PipePlan {
                socket: socket(cell.carrier),
                ..PipePlan::new(setting.seed, kind, Place::Here)
            };
            let (token, drawing) = (setting.token, self.drawing(cell));
            let part = Box::new(DrawEnd { end, meeting, token, drawing, pipe });
            match cell.carrier {
                Carrier::Ssh => Activity::DrawOverSsh(part),
                Carrier::X11 => Activity::DrawOverX11(part),
                Carrier::X11perf => Activity::DrawByX11perf(part),
                _ => Activity::Draw(part),
            }
        };
        let listen = || end(End::Far, PipeMeeting::Network(Rendezvous::Listen(unset)));
        let connect =
            || end(End::Near, PipeMeeting::Network(Rendezvous::Connect(SocketAddr::new(unset, 0))));
        let steps = match cell.carrier {
            Carrier::InProcess => {
                vec![step(display, None, Activity::DrawInside(Box::new(self.drawing(cell))))]
            }
            Carrier::Unix => {
                let path = meeting_path(setting);
                let listen = end(End::Far, PipeMeeting::ListenAt(path.clone()));
                vec![
                    step(display, None, listen),
                    step(display, Some(0), end(End::Near, PipeMeeting::ConnectAt(path))),
                ]
            }
            Carrier::Relay => {
                let relay =
                    Relay { on: unset, to: SocketAddr::new(unset, 0), token: setting.token };
                let relay = step(self.relay.as_ref(), Some(0), Activity::Relay(relay));
                vec![step(display, None, listen()), relay, step(application, Some(1), connect())]
            }
            _ => vec![step(display, None, listen()), step(application, Some(0), connect())],
        };
        let broadcast = Activity::Broadcast(Broadcast { on: unset, broadcasts: cell.broadcasts });
        let polluter = self.broadcaster.as_ref().filter(|_| !cell.broadcasts.are_none());
        let polluter =
            step(polluter, None, broadcast).map(|step| Step { role: Role::Support, ..step });
        let steps = steps.into_iter().chain([polluter]);
        Script { impairments: Impairments::new(), steps: steps.flatten().collect() }
    }

    fn faults(&self, cell: &AppCell, seen: &Observation) -> Vec<String> {
        if cell.carrier == Carrier::X11perf {
            let none = x11perf(seen).is_none().then(|| "x11perf has no result".to_owned());
            return none.into_iter().collect();
        }
        let Some((drawn, displayed)) = accounts(seen) else {
            return vec!["the application or the display has no account".to_owned()];
        };
        let pictures = drawn.pictures.len() as u64;
        let pairs = [
            ("pictures", pictures, displayed.pictures),
            ("requests", drawn.requests, displayed.requests),
            ("octets of requests", drawn.bytes.count(), displayed.bytes.count()),
            ("replies", drawn.replies, displayed.replies),
        ];
        // An X server counts nothing; the picture is read back.
        let counted = if cell.carrier == Carrier::X11 { 1 } else { pairs.len() };
        let apart = pairs
            .into_iter()
            .take(counted)
            .filter(|(_, application, display)| application != display);
        let apart = apart.map(|(what, application, display)| {
            format!("{what}: {application} at the application, {display} at the display")
        });
        let wrong = (displayed.wrong > 0).then(|| {
            format!(
                "{} of {pictures} pictures are not, to the bit, what the items draw",
                displayed.wrong
            )
        });
        let relayed = relayed(seen, cell).map(|(there, back)| {
            let (sent, answered) = (drawn.bytes.count(), replies_bytes(self, cell, displayed));
            let short = there.count() < sent || back.count() < answered;
            short.then(|| format!("the relay passed on {there} of {sent} B at least, and {back} of {answered} B back"))
        });
        let polluted = broadcast_faults(seen, cell, drawn, displayed);
        let none = (pictures == 0).then(|| "no picture was drawn".to_owned());
        apart.chain(wrong).chain(relayed.flatten()).chain(polluted).chain(none).collect()
    }

    fn facts(&self, cell: &AppCell, seen: &Observation) -> Facts {
        let Some((drawn, displayed)) = accounts(seen) else { return Facts::default() };
        let all: Span = drawn.pictures.iter().copied().sum();
        let bytes = if cell.carrier == Carrier::X11 { drawn.bytes } else { displayed.bytes };
        let goodput = (all > Span::ZERO).then(|| bytes.bits() / all.seconds());
        Facts { goodput_bits_per_second: goodput, duration: Some(all), ..Facts::default() }
    }
}

impl Judged for AppPlan {
    type Verdict = AppVerdict;

    fn judge(&self, cells: &[Measured<AppCell>], _: &RunFacts) -> AppVerdict {
        judge(self, cells)
    }
}

#[cfg(test)]
mod tests {
    use btu_contract::json;
    use btu_units::Time;

    use super::*;
    use crate::app::Discarded;
    use btu_contract::experiment::Experiment;
    use btu_contract::experiment::{CellSetting, Field, Raised};
    use btu_contract::record::{CpuTime, DatagramsSent, PlacedReport, Report};

    fn plan() -> AppPlan {
        let stations = ["b", "a"].map(|name| HostName::try_from(name).unwrap()).to_vec();
        AppPlan {
            frame: Frame {
                version: AppPlan::VERSION,
                seed: 7,
                profile: "quick".to_owned(),
                blocks: 2,
                budget: Span::from_seconds(60),
                deadline: DEADLINE,
                left_out: Vec::new(),
                network: Field::Drawing(Raised {
                    name: "line".to_owned(),
                    text: String::new(),
                    stations,
                    congestion_control: None,
                    ipv6: false,
                }),
            },
            workloads: vec![Workload::Vectors, Workload::Text],
            protocols: vec![Protocol::StopAndWait, Protocol::Batched],
            carriers: vec![Carrier::Tcp, Carrier::Udp],
            displays: Vec::new(),
            speeds: Vec::new(),
            broadcasts: Vec::new(),
            broadcaster: None,
            slowing: Slowing::default(),
            nice: Niceness::default(),
            mix: None,
            relay: None,
            factors: None,
            paper: false,
            questions: Questions::default(),
            application: Span::ZERO,
            display: Span::ZERO,
            target: Span::from_milliseconds(50),
        }
    }

    fn observed(change: impl FnOnce(&mut Drawn, &mut Displayed)) -> Observation {
        let mut drawn = Drawn {
            pictures: vec![Span::from_milliseconds(5); 3],
            requests: 1890,
            bytes: Bytes::new(37_800),
            replies: 1890,
            busy: Span::from_milliseconds(1),
            repeated: 0,
            discarded: None,
            echoes: None,
        };
        let mut displayed = Displayed {
            pictures: 3,
            spans: vec![Span::from_milliseconds(4); 3],
            requests: 1890,
            bytes: Bytes::new(37_800),
            replies: 1890,
            busy: Span::from_milliseconds(2),
            wrong: 0,
            digest: Workload::Vectors.picture().digest(),
            file: Bytes::new(12_600),
            memory: Bytes::new(20_480),
            discarded: None,
        };
        change(&mut drawn, &mut displayed);
        let reports =
            vec![placed("a", Outcome::Displayed(displayed)), placed("b", Outcome::Drawn(drawn))];
        Observation { reports, ..Observation::default() }
    }

    fn placed(station: &str, outcome: Outcome) -> PlacedReport {
        PlacedReport {
            station: HostName::try_from(station).unwrap(),
            activity: "draw".to_owned(),
            result: Ok(Report {
                started: Time::from_nanoseconds(0),
                finished: Time::from_nanoseconds(15_000_000),
                cpu: CpuTime::default(),
                outcome,
            }),
        }
    }

    fn cell() -> AppCell {
        AppCell::new(Workload::Vectors, Protocol::StopAndWait, Carrier::Tcp)
    }

    /// The plan on a line with a round trip of 0.54 s.
    fn far() -> AppPlan {
        let text = "name = \"line\"\n[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\n\
                    rate = \"1 Mb/s\"\ndelay = \"270 ms\"\n";
        let mut far = AppPlan { carriers: vec![Carrier::Tcp], ..plan() };
        if let Field::Drawing(raised) = &mut far.frame.network {
            raised.text = text.to_owned();
        }
        far
    }

    /// 630 vectors wait for 630 round trips of 0.54 s, and all of them together for one.
    #[test]
    fn what_does_not_end_in_time_is_left_out_and_named() {
        let mut plan = far();
        plan.frame.budget = Span::from_seconds(5);
        plan.within(plan.frame.budget).unwrap();
        let names =
            |plan: &AppPlan| plan.cells().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&plan), ["vectors batched tcp", "text batched tcp"]);
        let said = plan.frame.says_left_out().unwrap();
        let vectors = "in the 5 s of --time: vectors stop-and-wait tcp (341 s), ";
        for part in [vectors, "text stop-and-wait tcp (352 s); --time '360 s' is"] {
            assert!(said.contains(part), "{said}");
        }
        let stored: AppPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(names(&stored), names(&plan));

        let mut plenty = far();
        plenty.within(Span::from_seconds(3600)).unwrap();
        assert_eq!((plenty.cells().len(), plenty.frame.says_left_out()), (4, None));
    }

    #[test]
    fn a_plan_of_which_nothing_ends_in_time_stays_as_it_is() {
        let mut plan = AppPlan { protocols: vec![Protocol::StopAndWait], ..far() };
        let too_long = plan.within(Span::from_seconds(5)).unwrap_err();
        assert_eq!((too_long.len(), plan.cells().len()), (2, 2));
        // Of real hosts nothing is known before.
        let mut unknown = super::tests::plan();
        assert_eq!(unknown.within(Span::from_nanoseconds(1)), Ok(()));
        assert_eq!(unknown.cells().len(), 6);
    }

    #[test]
    fn what_a_carrier_cannot_carry_is_left_out() {
        let cells: Vec<String> = plan().cells().iter().map(ToString::to_string).collect();
        let expected =
            ["vectors stop-and-wait tcp", "vectors stop-and-wait udp", "vectors batched tcp"];
        assert_eq!((cells.len(), &cells[..3]), (6, &expected.map(str::to_owned)[..]));
    }

    #[test]
    fn a_relay_stands_between_and_local_carriers_stay_on_the_display_s_host() {
        let relay = HostName::try_from("r").ok();
        let plan = AppPlan { relay, ..plan() };
        let script = |carrier| {
            let (seed, token, scratch) = (1, [9; 16], "/s".into());
            let cell = AppCell { carrier, ..cell() };
            let script =
                plan.script(&cell, &CellSetting { seed, token, deadline: DEADLINE, scratch });
            let steps = script
                .steps
                .iter()
                .map(|step| (step.host.to_string(), step.peer, step.order.activity.kind()));
            steps.collect::<Vec<_>>()
        };
        let step = |host: &str, peer, kind| (host.to_owned(), peer, kind);
        let relayed =
            [step("a", None, "draw"), step("r", Some(0), "relay"), step("b", Some(1), "draw")];
        assert_eq!(script(Carrier::Relay), relayed);
        let over_ssh = [step("a", None, "draw-over-ssh"), step("b", Some(0), "draw-over-ssh")];
        assert_eq!(script(Carrier::Ssh), over_ssh);
        assert_eq!(script(Carrier::Unix), [step("a", None, "draw"), step("a", Some(0), "draw")]);
        assert_eq!(script(Carrier::InProcess), [step("a", None, "draw-inside")]);
    }

    /// The third station sends until the others have finished, and counts with them.
    #[test]
    fn broadcasts_are_sent_by_a_third_station_and_counted_at_the_ends() {
        let rates = vec![Broadcasts::NONE, Broadcasts::THOUSAND];
        let broadcaster = HostName::try_from("r").ok();
        let plan = AppPlan { broadcasts: rates, broadcaster, ..plan() };
        let cells = plan.cells();
        assert_eq!(cells.len(), 12);
        let polluted = AppCell { broadcasts: Broadcasts::THOUSAND, ..cell() };
        assert_eq!(polluted.to_string(), "vectors stop-and-wait tcp broadcasts 1000/s");
        assert!(cells.contains(&polluted) && cells.contains(&cell()));
        let (seed, token, scratch) = (1, [9; 16], "/s".into());
        let setting = CellSetting { seed, token, deadline: DEADLINE, scratch };
        let [clean, script] = [cell(), polluted.clone()].map(|cell| plan.script(&cell, &setting));
        assert_eq!((clean.steps.len(), script.steps.len()), (2, 3));
        let step = &script.steps[2];
        assert_eq!((step.host.as_str(), step.role), ("r", Role::Support));
        let faults = |sent: Option<u64>, came: u64| {
            let discarded =
                Some(Discarded { broadcasts: came, span: Span::from_milliseconds(200) });
            let mut told = observed(|drawn, displayed| {
                (drawn.discarded, displayed.discarded) = (discarded, discarded);
            });
            told.reports
                .extend(sent.map(|sent| placed("r", Outcome::DatagramsSent(datagrams(sent)))));
            plan.faults(&polluted, &told)
        };
        assert_eq!(faults(Some(200), 199), [""; 0]);
        assert_eq!(faults(None, 1), ["the station that sends broadcasts has no account"]);
        let more = [
            "2 of 1 broadcasts came to the application's host",
            "2 of 1 broadcasts came to the display's host",
        ];
        assert_eq!(faults(Some(1), 2), more);
        assert_eq!(faults(Some(200), 0).len(), 2);
    }

    fn datagrams(datagrams: u64) -> DatagramsSent {
        DatagramsSent {
            datagrams,
            bytes: Bytes::new(18 * datagrams),
            refused: 0,
            offered: Broadcasts::THOUSAND.payload_rate(),
            span: Span::from_milliseconds(200),
            lateness: btu_stats::Histogram::new(),
            held: None,
        }
    }

    /// Every display and speed with everything else, or the runs of an experiment.
    #[test]
    fn cells_are_crossed_or_designed() {
        let half: Speeds =
            serde_json::from_str(r#"{"application_percent":50,"display_percent":100}"#).unwrap();
        let displays = ["a", "c"].map(|name| HostName::try_from(name).unwrap()).to_vec();
        let many = AppPlan { displays, speeds: vec![Speeds::default(), half], ..plan() };
        let cells: Vec<String> = many.cells().iter().map(ToString::to_string).collect();
        assert_eq!(cells.len(), 6 * 4);
        assert!(
            cells.contains(&"text batched tcp at c application 50% display 100%".to_owned()),
            "{cells:?}"
        );
        let designed = AppPlan { factors: Some(Factors::usual()), ..plan() };
        assert_eq!(designed.cells().len(), 32);
        assert_ne!(designed.hash(), plan().hash());
    }

    /// The cells of the study's tables, each once: 10 MHz is full speed, 8 MHz four fifths of it; a
    /// VAX-780 is full speed, a 750 half of it.
    #[test]
    fn the_study_s_tables_are_repeated_number_by_number() {
        let stations = ["workstation-10", "workstation-3", "workstation-arpanet", "terminal-1200"];
        let displays = stations.map(|name| HostName::try_from(name).unwrap()).to_vec();
        let plan = AppPlan {
            workloads: Workload::ALL.to_vec(),
            protocols: AppPlan::PAPER_PROTOCOLS.to_vec(),
            carriers: AppPlan::PAPER_CARRIERS.to_vec(),
            displays,
            paper: true,
            ..plan()
        };
        let cells = plan.cells();
        let names: std::collections::BTreeSet<String> =
            cells.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), cells.len());
        for expected in [
            "vectors batched tcp at workstation-arpanet application 100% display 80%",
            "vectors redraw in-process at workstation-10 application 50% display 100%",
            "text pipelined tcp at workstation-10 application 50% display 100%",
            "rectangles stop-and-wait tcp at workstation-arpanet application 50% display 100%",
            "structured-rectangles batched tcp at terminal-1200 application 50% display 100%",
        ] {
            assert!(names.contains(expected), "{expected}: {names:#?}");
        }
        assert!(!names.iter().any(|name| name.contains("terminal-2400")), "not in the plan");
        let few = AppPlan { workloads: vec![Workload::Text], ..plan.clone() };
        assert!(few.cells().iter().all(|cell| cell.workload == Workload::Text));
        let records: Vec<Measured<AppCell>> = cells
            .into_iter()
            .map(|cell| {
                let slot = btu_contract::experiment::Slot { cell, block: 0, position: 0 };
                plan.record(slot, observed(|_, _| {}))
            })
            .collect();
        let tables = plan.judge(&records, &RunFacts::default()).paper;
        let numbers: Vec<&str> = tables.iter().map(|table| table.number).collect();
        assert_eq!(numbers, ["3-1", "3-2", "4-1", "4-2", "4-3", "5-1", "8-1", "8-2"]);
        let text = &tables[1].lines[0];
        assert_eq!((text.name, text.unit), ("10,780,text", "characters/s"));
        let local = text.cells.iter().find(|cell| cell.column == "Local").unwrap();
        // 5000 characters in 5 ms.
        assert!((local.printed - 7700.0).abs() < 1e-9, "{local:?}");
        assert!((local.measured.unwrap().value / 1e6 - 1.0).abs() < 1e-9, "{local:?}");
        assert!(text.cells.iter().all(|cell| cell.column != "IKP"), "another protocol");
    }

    #[test]
    fn the_display_listens_and_the_application_calls_it() {
        let (seed, token, scratch) = (1, [9; 16], "/".into());
        let script =
            plan().script(&cell(), &CellSetting { seed, token, deadline: DEADLINE, scratch });
        let steps: Vec<(&str, Option<usize>)> =
            script.steps.iter().map(|step| (step.host.as_str(), step.peer)).collect();
        assert_eq!(steps, [("a", None), ("b", Some(0))]);
    }

    #[test]
    fn accounts_that_do_not_agree_void_a_cell() {
        let faults =
            |change: fn(&mut Drawn, &mut Displayed)| plan().faults(&cell(), &observed(change));
        assert!(faults(|_, _| {}).is_empty());
        assert_eq!(
            faults(|_, displayed| displayed.requests -= 1),
            ["requests: 1890 at the application, 1889 at the display"]
        );
        assert_eq!(
            faults(|_, displayed| displayed.wrong = 1),
            ["1 of 3 pictures are not, to the bit, what the items draw"]
        );
        assert_eq!(
            faults(|drawn, displayed| {
                drawn.pictures.clear();
                displayed.pictures = 0;
            }),
            ["no picture was drawn"]
        );
    }

    /// A picture of 630 items in 5 ms, in every block.
    #[test]
    fn a_rate_is_items_over_the_typical_picture() {
        let plan = plan();
        let record = |block| {
            let slot = btu_contract::experiment::Slot { cell: cell(), block, position: 0 };
            plan.record(slot, observed(|_, _| {}))
        };
        let records = [record(0), record(1)];
        let verdict = plan.judge(&records, &RunFacts::default());
        let row = verdict.rows.iter().find(|row| row.cell == cell()).unwrap();
        assert!((row.items_per_second.unwrap().value / 126_000.0 - 1.0).abs() < 1e-9);
        assert_eq!((row.pictures, row.requests, row.invalid), (6, 630, 0));
        assert_eq!(verdict.pictures[0].cells, 2);
        // Cells that are measured already are not measured again.
        let left = plan.missing(0, &records);
        assert_eq!(left.len(), plan.cells().len() - 1);
        assert!(
            left.iter().all(|slot| slot.cell != cell()) && plan.missing(2, &records).is_empty()
        );
    }

    /// Wherever an experiment of six factors breaks off, what is left is what an uninterrupted one
    /// still had to do, in its order.
    #[test]
    fn an_interrupted_experiment_goes_on_as_if_it_had_not_been() {
        let plan = AppPlan { factors: Some(Factors::usual()), ..plan() };
        let left = |plan: &AppPlan, records: &[Measured<AppCell>]| -> Vec<_> {
            (0..plan.frame.blocks).flat_map(|block| plan.missing(block, records)).collect()
        };
        let whole = left(&plan, &[]);
        assert_eq!(whole.len(), 2 * 32);
        let stored = json::to_value(&plan).unwrap();
        for done in [1, 17, 32, 45, 64] {
            let records: Vec<Measured<AppCell>> = whole[..done]
                .iter()
                .map(|slot| plan.record(slot.clone(), observed(|_, _| {})))
                .collect();
            let resumed: AppPlan = json::from_value(&stored).unwrap();
            assert_eq!(left(&resumed, &records), whole[done..], "after {done}");
        }
    }

    /// X has no symbols, and x11perf only some tests.
    #[test]
    fn an_x_server_is_drawn_on_by_requests_that_it_has() {
        let carriers = vec![Carrier::X11, Carrier::X11perf];
        let workloads = Workload::ALL.to_vec();
        let protocols = vec![Protocol::Pipelined, Protocol::Batched];
        let cells = AppPlan { workloads, protocols, carriers, ..plan() }.cells();
        let names: Vec<String> = cells.iter().map(ToString::to_string).collect();
        let expected = [
            "vectors pipelined x11",
            "vectors batched x11",
            "vectors batched x11perf",
            "rectangles pipelined x11",
            "rectangles batched x11",
            "rectangles batched x11perf",
            "text pipelined x11",
            "text batched x11",
        ];
        assert_eq!(names, expected);
        let seen = |outcome| {
            let reports = vec![placed("a", Outcome::X11Served), placed("b", outcome)];
            Observation { reports, ..Observation::default() }
        };
        let faults = |outcome| plan().faults(&cells[2], &seen(outcome));
        assert_eq!(faults(Outcome::X11perf { per_second: 5e4 }), [""; 0]);
        assert_eq!(faults(Outcome::Null), ["x11perf has no result"]);
    }

    #[test]
    fn a_plan_s_name_leaves_the_seed_out() {
        let mut other = plan();
        other.frame.seed = 8;
        assert_eq!(plan().hash(), other.hash());
        other.frame.blocks = 3;
        assert_ne!(plan().hash(), other.hash());
        assert_eq!(json::from_value::<AppPlan>(&json::to_value(&other).unwrap()).unwrap(), other);
    }
}
