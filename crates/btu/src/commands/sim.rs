//! `btu sim`: simulates a network file in virtual time, with a thread for each processor.

use std::io::Write;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use btu_medium::sim::{
    Outcome, Replication, Settings, SimulationError, course, idealise, replicate,
};
use btu_network::{Drawing, library_text};
use btu_report::{Next, course_picture, first_screen, sim_page, sim_text};
use btu_units::{BitRate, Span};

use crate::cli::{Common, Sim};
use crate::exit::Refusal;
use crate::start::progress::SimulationBar;
use crate::{files, terminal};

/// The number of moments in a picture of the network: one for each pixel or two.
const MOMENTS: u32 = 500;

/// The interval of drawing progress.
const GLANCE: Duration = Duration::from_millis(100);

/// Simulates a network and prints the result.
pub(crate) fn run(sim: &Sim, common: &Common) -> anyhow::Result<()> {
    let network = files::network_with_delay(sim.subject.network(), sim.delay, &sim.settings)?;
    let mut drawing = files::emulated(network)?;
    if !sim.settings.is_empty() {
        let set: Vec<String> =
            sim.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        drawing.about =
            format!("{}; here with {}", drawing.about.trim_end_matches('.'), set.join(", "));
    }
    if sim.idealised {
        idealise(&mut drawing);
    }
    let settings = settings(sim, &drawing)?;
    let bar = SimulationBar::new(sim.quiet);
    let replications = replicate_all(&drawing, &settings, |share| bar.show(share));
    bar.clear();
    let outcome = Outcome::of(&drawing, &settings, &replications?);
    files::save_picture(sim.svg.as_deref(), || {
        let course = course(&drawing, &settings, MOMENTS)?;
        Ok(course_picture(&course, &format!("Simulated: {}", drawing.name)))
    })?;
    print(&outcome, sim, common)
}

fn settings(sim: &Sim, drawing: &Drawing) -> Result<Settings, Refusal> {
    let suited = match sim.duration {
        Some(duration) => Settings::lasting(duration),
        None => Settings::suited(drawing, sim.seed),
    };
    let warm_up = sim.warm_up.unwrap_or(suited.warm_up);
    if warm_up >= suited.duration {
        let problem = format!(
            "a warm-up of {warm_up} leaves nothing of {} to count: give a longer --duration or a shorter --warm-up",
            suited.duration
        );
        return Err(Refusal::Usage(problem));
    }
    Ok(Settings { warm_up, replications: sim.replications, seed: sim.seed, ..suited })
}

/// All replications in their order, whichever thread ran each of them; `progress` gets the share of
/// the work that is done.
pub(crate) fn replicate_all(
    drawing: &Drawing,
    settings: &Settings,
    progress: impl Fn(f64),
) -> anyhow::Result<Vec<Replication>> {
    let next = AtomicU32::new(0);
    let done = AtomicU64::new(0);
    let workers = std::thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(settings.replications as usize);
    let mut results: Vec<Option<Replication>> = (0..settings.replications).map(|_| None).collect();
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..workers {
            let tell = tell.clone();
            let (next, done) = (&next, &done);
            scope.spawn(move || work(drawing, settings, next, done, &tell));
        }
        drop(tell);
        collect(&told, &mut results, || progress(share(&done, settings)))
    })?;
    // A worker that ended without a message has panicked, and the scope has passed that on.
    results.into_iter().collect::<Option<_>>().context("a replication is missing")
}

type ReplicationResult = (u32, Result<Replication, SimulationError>);

/// Runs one replication after the other until there are no more, or until no receiver listens.
fn work(
    drawing: &Drawing,
    settings: &Settings,
    next: &AtomicU32,
    done: &AtomicU64,
    tell: &mpsc::Sender<ReplicationResult>,
) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= settings.replications {
            return;
        }
        let mut before = Span::ZERO;
        let result = replicate(drawing, settings, number, |at| {
            done.fetch_add(at.saturating_sub(before).nanoseconds(), Ordering::Relaxed);
            before = at;
        });
        if tell.send((number, result)).is_err() {
            return;
        }
    }
}

/// Takes results until all workers have ended.
fn collect(
    told: &mpsc::Receiver<ReplicationResult>,
    results: &mut [Option<Replication>],
    report_progress: impl Fn(),
) -> Result<(), SimulationError> {
    loop {
        match told.recv_timeout(GLANCE) {
            Ok((number, result)) => results[number as usize] = Some(result?),
            Err(mpsc::RecvTimeoutError::Timeout) => report_progress(),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The share of the virtual time of all replications that is done.
fn share(done: &AtomicU64, settings: &Settings) -> f64 {
    let all = settings.duration.seconds() * f64::from(settings.replications);
    Span::from_nanoseconds(done.load(Ordering::Relaxed)).seconds() / all
}

fn print(outcome: &Outcome, sim: &Sim, common: &Common) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if common.json {
        return terminal::print_json(outcome);
    }
    let options = terminal::text_options();
    let text = if sim.all || sim.stations {
        sim_text(outcome, sim.stations, &options)
    } else {
        let all = format!("{} --all", terminal::again());
        first_screen(&sim_page(outcome, &all, network(sim.subject.network())), &options)
    };
    Ok(out.write_all(text.as_bytes())?)
}

/// The command that shows a network: a user has the file of a network of their own.
fn network(name: &str) -> Next {
    let typed = files::typed(name, &[]);
    if library_text(name).is_some() || name.parse::<BitRate>().is_ok() {
        Next::new(format!("btu net show {typed}"), "the network file, to change it")
    } else {
        Next::new(format!("btu net check {typed}"), "what the network file draws")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Arguments, Command};

    fn parsed(words: &str) -> Sim {
        match Arguments::parse_from(words.split(' ')).command {
            Command::Sim(sim) => sim,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_warm_up_must_leave_something() {
        let drawing = Drawing::default();
        let error =
            settings(&parsed("btu sim x --duration 5s --warm-up 5s"), &drawing).unwrap_err();
        assert!(error.to_string().contains("--duration"), "{error}");
        let settings = settings(&parsed("btu sim x --duration 5s"), &drawing).unwrap();
        assert_eq!(settings.warm_up, Span::from_milliseconds(500));
    }

    /// No result depends on the threads of the replications, or on their order.
    #[test]
    fn threads_change_nothing() {
        let text = "name = \"x\"\n[segments.lab]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"lab\"\ncount = 3\n\
                    [traffic.load]\nfrom = \"a\"\nto = \"a\"\nsize = \"512 B\"\npackets_per_s = 100\n";
        let drawing = Drawing::read(text, "x.toml").unwrap();
        let settings = Settings { replications: 6, ..Settings::lasting(Span::from_seconds(2)) };
        let threaded = replicate_all(&drawing, &settings, |_| {}).unwrap();
        let json = |outcome: &Outcome| serde_json::to_string(outcome).unwrap();
        let plain = btu_medium::sim::simulate(&drawing, &settings).unwrap();
        assert_eq!(json(&Outcome::of(&drawing, &settings, &threaded)), json(&plain));
    }
}
