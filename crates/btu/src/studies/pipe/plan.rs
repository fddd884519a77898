//! Makes a plan for each transport and chooses the network between the stations, from the command
//! line.

use btu_contract::hint::{HintPlan, HintRun};
use btu_contract::job::Job;
use btu_contract::network::{Network, Path};
use btu_contract::pipe::{
    Buffers, Cache, Check, Engine, Kind, Pattern, PipePlan, Place, Precision, Processors, Purpose,
    Remote, SetPlan, Sizes, SocketOptions,
};
use btu_control::awake::Wakefulness;
use btu_network::{Drawing, Reader};
use btu_testbed::note;
use btu_units::{BitRate, Bytes, Span};

use super::arguments::{EngineName, Pipe, PrecisionName};
use super::pin::processors;
use crate::exit::Refusal;
use crate::files;
use crate::start::{hosts, preflight};

/// Larger than any processor's cache (`NetPIPE` 5 has 200 MB).
const COLD_POOL: Bytes = Bytes::new(200_000_000);

/// Two stations with only one veth pair between them.
const VETH_PAIR: &str = "\
name = \"pair\"
bare = true
[segments.cable]
medium = \"switched-ethernet\"
[stations.near]
segment = \"cable\"
[stations.far]
segment = \"cable\"
";

/// Two stations on an emulated line.
const PAIR: &str = "\
name = \"pair\"
[stations.near]
[stations.far]
[links.cable]
between = [\"near\", \"far\"]
rate = \"1 Gb/s\"
";

/// The work.
pub(super) struct PlannedWork {
    /// One after the other.
    pub(super) jobs: Vec<Job>,
    /// The path between the ends, as the user would write it.
    pub(super) network: String,
}

/// The stations of the ends.
pub(super) struct Stations {
    pub(super) drawing: Drawing,
    pub(super) near: String,
    pub(super) far: String,
}

/// Reads the command line.
pub(super) fn asked(pipe: &Pipe) -> anyhow::Result<PlannedWork> {
    let (place, network) = place(pipe)?;
    if matches!(place, Place::Here | Place::Machines(_)) {
        pipe.calls.congestion.refused()?;
    }
    let seed = match pipe.seed {
        Some(seed) => seed,
        None => u64::from(preflight::random()?),
    };
    let jobs = jobs(pipe, seed, &place)?;
    refuse_files(pipe, &jobs)?;
    Ok(PlannedWork { jobs, network })
}

/// The profile's name in the list of runs.
pub(super) fn profile(pipe: &Pipe) -> &'static str {
    match pipe.precision {
        PrecisionName::Quick => "quick",
        PrecisionName::Standard => "standard",
        PrecisionName::Full => "full",
    }
}

/// Files that are for one run, or for one kind of run.
pub(super) fn refuse_files(pipe: &Pipe, jobs: &[Job]) -> Result<(), Refusal> {
    let (np_out, csv) = (pipe.wanted.np_out.is_some(), pipe.wanted.csv.is_some());
    if np_out && !matches!(jobs, [Job::One(_)]) {
        return Err(Refusal::Usage(
            "--np-out is a file for one signature: name one transport".to_owned(),
        ));
    }
    if csv && jobs.len() > 1 {
        return Err(Refusal::Usage("--csv is a file for one run: name one transport".to_owned()));
    }
    Ok(())
}

/// The default stack: from transports to application protocols.
const STACK: [Kind; 7] =
    [Kind::UnixStream, Kind::Udp, Kind::Tcp, Kind::Tls, Kind::Http2, Kind::Quic, Kind::Mpi];

fn jobs(pipe: &Pipe, seed: u64, place: &Place) -> anyhow::Result<Vec<Job>> {
    let held = processors(pipe.calls.pin, pipe.calls.pairs, place)?;
    let plan = |kind| plan(pipe, kind, seed, place, held);
    if pipe.aim.layers {
        return Ok(vec![Job::Set(SetPlan {
            purpose: Purpose::Layers,
            series: stack(pipe, place, plan)?,
        })]);
    }
    let tcp = [Kind::Tcp];
    let kinds = if pipe.transport.is_empty() { &tcp[..] } else { &pipe.transport };
    let job = |kind: &Kind| {
        let idle = plan(*kind)?;
        Ok(match () {
            () if pipe.aim.hint => Job::Hint(Box::new(hint(pipe, idle)?)),
            () if pipe.aim.load.is_empty() => Job::One(Box::new(idle)),
            () => {
                let busy =
                    pipe.aim.load.iter().map(|load| PipePlan { load: *load, ..idle.clone() });
                Job::Set(SetPlan {
                    purpose: Purpose::Load,
                    series: std::iter::once(idle.clone()).chain(busy).collect(),
                })
            }
        })
    };
    kinds.iter().map(job).collect()
}

/// The layers: the named ones, or all that this place and these options allow.
fn stack(
    pipe: &Pipe,
    place: &Place,
    plan: impl Fn(Kind) -> anyhow::Result<PipePlan>,
) -> anyhow::Result<Vec<PipePlan>> {
    if pipe.memory.cold {
        let problem = "--layers has both ends of all transports at once, and --cold takes 400 MB for each end: leave one out";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    let plans: Vec<PipePlan> = if pipe.transport.is_empty() {
        let possible = STACK.into_iter().filter(|kind| *place == Place::Here || !kind.is_local());
        possible.filter_map(|kind| plan(kind).ok()).collect()
    } else {
        pipe.transport.iter().map(|kind| plan(*kind)).collect::<anyhow::Result<_>>()?
    };
    let mut kinds: Vec<Kind> = plans.iter().map(|plan| plan.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if plans.len() < 2 || kinds.len() < plans.len() {
        let problem = "--layers needs two transports or more, each once: the others are compared with the first";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    Ok(plans)
}

/// HINT over this pipe, together with ping-pong messages over the same pipe.
fn hint(pipe: &Pipe, plan: PipePlan) -> Result<HintRun, Refusal> {
    if plan.socket.zero_copy {
        let problem = "HINT's messages have 24 bytes, and their memory is used again at once: leave --zerocopy out";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    let of = |processes| {
        let standard = HintPlan::standard(processes);
        match pipe.precision {
            PrecisionName::Quick => HintPlan {
                trials: 5,
                target: Span::from_milliseconds(5),
                most_intervals: 1 << 17,
                ..standard
            },
            PrecisionName::Standard => standard,
            PrecisionName::Full => HintPlan { target: Span::from_milliseconds(200), ..standard },
        }
    };
    let pipe = PipePlan { pattern: Pattern::PingPong, pairs: 1, ..plan };
    Ok(HintRun { pipe, two: of(2), one: Some(of(1)) })
}

/// The message size for comparison with HINT's exchange: two double-precision numbers.
const EXCHANGE_SIZE: Bytes = Bytes::new(16);

fn plan(
    pipe: &Pipe,
    kind: Kind,
    seed: u64,
    place: &Place,
    processors: Option<Processors>,
) -> anyhow::Result<PipePlan> {
    if kind.is_local() && matches!(place, Place::Machines(_)) {
        let problem = format!(
            "{} moves bytes inside one machine: leave --to or the transport out",
            kind.label()
        );
        return Err(Refusal::Usage(problem).into());
    }
    let place = if kind.is_local() { Place::Here } else { place.clone() };
    let sizes = match pipe.perturbation {
        _ if pipe.aim.hint => Sizes::one(EXCHANGE_SIZE),
        Some(perturbation) => pipe.sizes.clone().perturbed(perturbation)?,
        None => pipe.sizes.clone(),
    };
    let cache = if pipe.memory.cold { Cache::Cold { pool: COLD_POOL } } else { Cache::Warm };
    let check = if pipe.memory.integrity { Check::Whole } else { Check::Ends };
    let congestion_control = match &place {
        Place::Here | Place::Machines(_) => None,
        Place::Stations { .. } | Place::Drawing { .. } => pipe.calls.congestion.checked()?,
    };
    let sizes = fitting(sizes, kind)?;
    let plan = PipePlan {
        pattern: pipe.pattern,
        precision: precision(pipe, &place, sizes.list().len()),
        sizes,
        buffers: Buffers { cache, offset: pipe.memory.offset, check },
        socket: SocketOptions {
            no_delay: pipe.nodelay,
            send_buffer: pipe.send_buffer,
            receive_buffer: pipe.receive_buffer,
            zero_copy: pipe.calls.zerocopy,
            busy_poll: pipe.calls.busy_poll,
            engine: match pipe.calls.engine {
                EngineName::Blocking => Engine::Blocking,
                EngineName::IoUring => Engine::IoUring,
            },
        },
        pairs: pipe.calls.pairs,
        processors,
        kept_awake: !pipe.calls.idle_states && Wakefulness::is_possible(),
        congestion_control,
        ..PipePlan::new(seed, kind, place)
    };
    btu_traffic::pipe_check(&plan).map_err(|error| Refusal::Usage(error.to_string()))?;
    Ok(plan)
}

/// The sizes that this transport supports.
fn fitting(sizes: Sizes, kind: Kind) -> anyhow::Result<Sizes> {
    let most = btu_traffic::pipe_largest(kind);
    let (fitting, too_large): (Vec<_>, Vec<_>) =
        sizes.list().into_iter().partition(|size| *size <= most);
    if too_large.is_empty() {
        return Ok(sizes);
    }
    if fitting.is_empty() {
        return Err(Refusal::Usage(format!(
            "{} moves at most {most} at once: give smaller sizes",
            kind.label()
        ))
        .into());
    }
    note!(
        "{} moves at most {} B at once: {} left out.",
        kind.label(),
        most.count(),
        if too_large.len() == 1 {
            "one larger size is".to_owned()
        } else {
            format!("{} larger sizes are", too_large.len())
        }
    );
    Ok(Sizes::of(fitting)?)
}

fn precision(pipe: &Pipe, place: &Place, sizes: usize) -> Precision {
    let named = match pipe.precision {
        PrecisionName::Quick => Precision::quick(),
        PrecisionName::Standard => Precision::standard(),
        PrecisionName::Full => Precision::full(),
    };
    let in_passes = is_in_passes(pipe, place);
    let named = if in_passes { named.in_passes() } else { named };
    let trials = pipe.trials.unwrap_or(named.trials);
    let passes = if in_passes { trials.clamp(1, MOST_PASSES) } else { 1 };
    let named = Precision { trials, passes, ..named };
    let named = match pipe.time {
        Some(time) => within(time, sizes, signatures(pipe), &named),
        None => named,
    };
    Precision {
        target: pipe.target_time.unwrap_or(named.target),
        limit: pipe.limit.unwrap_or(named.limit),
        each: pipe.each,
        ..named
    }
}

/// Starting processes and connections for more passes would take longer than their trials.
const MOST_PASSES: u32 = 20;

/// Whether each trial is in a pass of its own: where messages are fast, and their time depends on where processes,
/// connections and their memory happen to be. On a slow network only its own times count, and
/// every new connection would begin slowly.
fn is_in_passes(pipe: &Pipe, place: &Place) -> bool {
    let is_fast = matches!(place, Place::Here | Place::Stations { network: Network::Veth });
    is_fast && pipe.aim.load.is_empty() && !pipe.aim.hint && pipe.time.is_none()
}

/// The number of signatures that share the time.
fn signatures(pipe: &Pipe) -> usize {
    match pipe.transport.len() {
        0 if pipe.aim.layers => STACK.len(),
        kinds => kinds.max(1) * (1 + pipe.aim.load.len()),
    }
}

/// A trial of less says little more than how long the clock takes to be read.
const SHORTEST_TRIAL: Span = Span::from_milliseconds(1);

/// With a time limit, a message may take this part of it; two such exchanges are half of the time.
const PARTS_OF_TIME: u64 = 8;

/// `time` for each of these signatures, half of it for trials of the planned length: on a slow
/// network they last longer, because one message does, and fewer sizes fit.
fn within(time: Span, sizes: usize, signatures: usize, named: &Precision) -> Precision {
    let time = Span::from_nanoseconds(time.nanoseconds() / (signatures as u64).max(1));
    let trials = (sizes as u64 * u64::from(named.trials)).max(1);
    let target = Span::from_nanoseconds(time.nanoseconds() / 2 / trials);
    let limit = Span::from_nanoseconds(time.nanoseconds() / PARTS_OF_TIME);
    Precision {
        target: target.max(SHORTEST_TRIAL),
        limit: limit.max(named.limit),
        time: Some(time),
        ..named.clone()
    }
}

/// The place of the ends, and its name for users.
fn place(pipe: &Pipe) -> anyhow::Result<(Place, String)> {
    if pipe.local {
        return Ok((Place::Here, "local".to_owned()));
    }
    if pipe.network == "veth" {
        if let Some(remote) = hosts::remote(&pipe.remote, pipe.to.as_deref())? {
            return between_machines(pipe, remote);
        }
        return Ok((Place::Stations { network: Network::Veth }, "veth".to_owned()));
    }
    if let Ok(rate) = pipe.network.parse::<BitRate>() {
        let path = Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 };
        return Ok((Place::Stations { network: Network::Path(path) }, rate.to_string()));
    }
    drawn(pipe)
}

fn between_machines(pipe: &Pipe, remote: Remote) -> anyhow::Result<(Place, String)> {
    if let Some(from) = &pipe.from {
        let problem = format!(
            "this machine sends first: give --from {from} with a --network FILE, or run btu there"
        );
        return Err(Refusal::Usage(problem).into());
    }
    let name = remote.name.clone();
    Ok((Place::Machines(remote), name))
}

fn drawn(pipe: &Pipe) -> anyhow::Result<(Place, String)> {
    let source = files::source(&pipe.network)?;
    let drawing = source.read(&pipe.settings).map_err(|error| Refusal::Usage(error.to_string()))?;
    btu_testbed::testbed::check(&drawing)?;
    let station = |wanted: &Option<String>, usual: Option<&btu_network::Station>| {
        let found = match wanted {
            Some(name) => drawing.stations.iter().find(|station| station.name == *name),
            None => usual,
        };
        found.map(|station| station.name.clone()).ok_or_else(|| {
            Refusal::Usage(files::no_such_station(
                wanted.as_deref().unwrap_or_default(),
                &pipe.network,
            ))
        })
    };
    let near = station(&pipe.from, drawing.stations.first())?;
    let far = station(&pipe.to, drawing.stations.last())?;
    if near == far {
        return Err(Refusal::Usage(format!(
            "--from and --to are both {near}: use --local for two processes in one place"
        ))
        .into());
    }
    let text = source.with_settings(&pipe.settings);
    let name = drawing.name;
    Ok((Place::Drawing { name: name.clone(), text, from: near, to: far }, name))
}

impl Stations {
    /// The stations between which a stored plan was measured; `None` if it was on this machine.
    pub(super) fn of(place: &Place) -> anyhow::Result<Option<Self>> {
        match place {
            Place::Here | Place::Machines(_) => Ok(None),
            Place::Stations { network: Network::Veth } => Self::pair(None).map(Some),
            Place::Stations { network: Network::Path(path) } => {
                Self::pair(Some(path.rate)).map(Some)
            }
            Place::Drawing { text, from, to, .. } => {
                let drawing =
                    files::stored(text).map_err(|error| Refusal::Usage(error.to_string()))?;
                btu_testbed::testbed::check(&drawing)?;
                Ok(Some(Self { drawing, near: from.clone(), far: to.clone() }))
            }
            Place::Stations { network: Network::Machines(_) | Network::Drawing(_) } => {
                Err(Refusal::Usage(
                    "a pipe is measured between two machines, not three: begin a new run"
                        .to_owned(),
                )
                .into())
            }
        }
    }

    fn pair(rate: Option<BitRate>) -> anyhow::Result<Self> {
        let reader = Reader::new("the pair of stations");
        let drawing = match rate {
            Some(rate) => reader
                .set("links.cable.rate", &format!("{} b/s", rate.bits_per_second()))
                .read(PAIR),
            None => reader.read(VETH_PAIR),
        };
        let drawing = drawing.map_err(|error| Refusal::Usage(error.to_string()))?;
        let (near, far) = ("near".to_owned(), "far".to_owned());
        Ok(Self { drawing, near, far })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six trials of 124 sizes: 744 trials in half of 30 s.
    #[test]
    fn a_time_is_shared_among_trials() {
        let found = within(Span::from_seconds(30), 124, 1, &Precision::quick());
        assert_eq!(found.target, Span::from_nanoseconds(15_000_000_000 / 744));
        assert_eq!(found.limit, Span::from_milliseconds(3750));
        let short = within(Span::from_milliseconds(10), 124, 1, &Precision::quick());
        assert_eq!(short.target, SHORTEST_TRIAL);
        assert_eq!(short.limit, Precision::quick().limit);
    }

    #[test]
    fn signatures_share_the_time() {
        let [one, two] = [1, 2].map(|signatures| {
            within(Span::from_seconds(40), 124, signatures, &Precision::standard())
        });
        assert_eq!(two.time, Some(Span::from_seconds(20)));
        assert_eq!((one.time, one.target), (Some(two.time.unwrap() * 2), two.target * 2));
    }
}
