//! What the command line asks for: a plan for each transport, and the network between the stations.

use btu_network::{Drawing, Reader};
use btu_suite::network::{Network, Path};
use btu_suite::pipe::{Buffers, Cache, Check, Kind, PipePlan, Place, Precision, Sizes, SocketOptions};
use btu_units::{BitRate, Bytes, Span};

use crate::cli::{Pipe, PrecisionName};
use crate::exit::Refusal;
use crate::{files, preflight};

/// Larger than any processor's cache (`NetPIPE` 5 has 200 MB).
const COLD_POOL: Bytes = Bytes::new(200_000_000);

/// Two stations; the rate counts only where it is emulated.
const PAIR: &str = "\
name = \"pair\"
[stations.near]
[stations.far]
[links.cable]
between = [\"near\", \"far\"]
rate = \"1 Gb/s\"
";

/// What is to be done.
pub(super) struct Asked {
    /// One for each transport.
    pub(super) plans: Vec<PipePlan>,
    /// What is between the ends, as the user would write it.
    pub(super) network: String,
    /// The profile's name in the list of runs.
    pub(super) profile: &'static str,
    /// The stations, unless everything happens here.
    pub(super) stations: Option<Stations>,
}

/// The stations that the ends are put in.
pub(super) struct Stations {
    pub(super) drawing: Drawing,
    /// Whether they have a veth pair between them and nothing else.
    pub(super) bare: bool,
    pub(super) near: String,
    pub(super) far: String,
}

/// Reads the command line.
pub(super) fn asked(pipe: &Pipe) -> anyhow::Result<Asked> {
    for (option, file) in [("--np-out", &pipe.wanted.np_out), ("--csv", &pipe.wanted.csv)] {
        if file.is_some() && pipe.transport.len() > 1 {
            return Err(Refusal::Usage(format!("{option} is a file for one transport: name one")).into());
        }
    }
    let (place, network, stations) = place(pipe)?;
    let seed = match pipe.seed {
        Some(seed) => seed,
        None => u64::from(preflight::random()?),
    };
    let plans =
        pipe.transport.iter().map(|kind| plan(pipe, *kind, seed, &place)).collect::<anyhow::Result<Vec<_>>>()?;
    let stations = stations.filter(|_| plans.iter().any(|plan| plan.place != Place::Here));
    let network = if stations.is_some() { network } else { "local".to_owned() };
    let profile = match pipe.precision {
        PrecisionName::Quick => "quick",
        PrecisionName::Standard => "standard",
        PrecisionName::Full => "full",
    };
    Ok(Asked { plans, network, profile, stations })
}

fn plan(pipe: &Pipe, kind: Kind, seed: u64, place: &Place) -> anyhow::Result<PipePlan> {
    let place = if kind.is_local() { Place::Here } else { place.clone() };
    let sizes = match pipe.perturbation {
        Some(perturbation) => pipe.sizes.clone().perturbed(perturbation)?,
        None => pipe.sizes.clone(),
    };
    let cache = if pipe.memory.cold { Cache::Cold { pool: COLD_POOL } } else { Cache::Warm };
    let check = if pipe.memory.integrity { Check::Whole } else { Check::Ends };
    let plan = PipePlan {
        pattern: pipe.pattern,
        sizes: fitting(sizes, kind)?,
        precision: precision(pipe),
        buffers: Buffers { cache, offset: pipe.memory.offset, check },
        socket: SocketOptions {
            no_delay: pipe.nodelay,
            send_buffer: pipe.send_buffer,
            receive_buffer: pipe.receive_buffer,
            ..SocketOptions::default()
        },
        ..PipePlan::new(seed, kind, place)
    };
    btu_traffic::pipe_check(&plan).map_err(|error| Refusal::Usage(error.to_string()))?;
    Ok(plan)
}

/// The sizes that this transport moves at once.
fn fitting(sizes: Sizes, kind: Kind) -> anyhow::Result<Sizes> {
    let most = btu_traffic::pipe_largest(kind);
    let (fitting, too_large): (Vec<_>, Vec<_>) = sizes.list().into_iter().partition(|size| *size <= most);
    if too_large.is_empty() {
        return Ok(sizes);
    }
    if fitting.is_empty() {
        return Err(Refusal::Usage(format!("{} moves at most {most} at once: give smaller sizes", kind.label())).into());
    }
    eprintln!(
        "{} moves at most {} B at once: {} larger sizes are left out.",
        kind.label(),
        most.count(),
        too_large.len()
    );
    Ok(Sizes::of(fitting)?)
}

fn precision(pipe: &Pipe) -> Precision {
    let named = match pipe.precision {
        PrecisionName::Quick => Precision::quick(),
        PrecisionName::Standard => Precision::standard(),
        PrecisionName::Full => Precision::full(),
    };
    Precision {
        trials: pipe.trials.unwrap_or(named.trials),
        target: pipe.target_time.unwrap_or(named.target),
        limit: pipe.limit.unwrap_or(named.limit),
        each: pipe.each,
        ..named
    }
}

/// Where the ends are, what users call it, and the stations to be raised.
fn place(pipe: &Pipe) -> anyhow::Result<(Place, String, Option<Stations>)> {
    if pipe.local {
        return Ok((Place::Here, "local".to_owned(), None));
    }
    if pipe.network == "veth" {
        let stations = Stations::pair(None)?;
        return Ok((Place::Stations { network: Network::Veth }, "veth".to_owned(), Some(stations)));
    }
    if let Ok(rate) = pipe.network.parse::<BitRate>() {
        let path = Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 };
        let stations = Stations::pair(Some(rate))?;
        return Ok((Place::Stations { network: Network::Path(path) }, rate.to_string(), Some(stations)));
    }
    drawn(pipe)
}

fn drawn(pipe: &Pipe) -> anyhow::Result<(Place, String, Option<Stations>)> {
    let source = files::source(&pipe.network)?;
    let drawing = source.read(&pipe.settings).map_err(|error| Refusal::Usage(error.to_string()))?;
    btu_testbed::house::check(&drawing)?;
    let station = |wanted: &Option<String>, usual: Option<&btu_network::Station>| {
        let found = match wanted {
            Some(name) => drawing.stations.iter().find(|station| station.name == *name),
            None => usual,
        };
        found.map(|station| station.name.clone()).ok_or_else(|| {
            let wanted = wanted.as_deref().unwrap_or_default();
            Refusal::Usage(format!("there is no station `{wanted}` in {}: see `btu net check {0}`", pipe.network))
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
    // What was set belongs to the network as much as what its file says.
    let set = pipe.settings.iter().fold(String::new(), |set, (key, value)| set + &format!("# --set {key}={value}\n"));
    let place =
        Place::Drawing { name: drawing.name.clone(), text: set + &source.text, from: near.clone(), to: far.clone() };
    let name = drawing.name.clone();
    Ok((place, name, Some(Stations { drawing, bare: false, near, far })))
}

impl Stations {
    fn pair(rate: Option<BitRate>) -> anyhow::Result<Self> {
        let reader = Reader::new("the pair of stations");
        let reader = match rate {
            Some(rate) => reader.set("links.cable.rate", &format!("{} b/s", rate.bits_per_second())),
            None => reader,
        };
        let drawing = reader.read(PAIR).map_err(|error| Refusal::Usage(error.to_string()))?;
        let (near, far) = ("near".to_owned(), "far".to_owned());
        Ok(Self { drawing, bare: rate.is_none(), near, far })
    }
}
