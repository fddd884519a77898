//! The short form: a command line as an experiment file.

use std::fmt::Write;

use btu_units::Span;

use super::arguments::RunStudy;
use super::usual_blocks;
use crate::cli::congestion;
use crate::exit::Refusal;
use crate::start::study::NetworkText;

/// The default network of a command: as fast as this machine allows.
const USUAL: &str = "veth";

/// The experiment file that corresponds to the command line.
pub(super) fn text(options: &RunStudy) -> anyhow::Result<String> {
    let study = &options.study;
    let factors = factors(options)?;
    let asked = network(options, &factors)?;
    let network = NetworkText::of(asked, study.delay, &[], None)?;
    let stations: Vec<&str> =
        network.drawing.stations.iter().map(|station| station.name.as_str()).collect();
    let from = options.from.as_deref().or(stations.first().copied()).unwrap_or_default();
    let other = stations.iter().rev().find(|station| **station != from).copied();
    let to = options.to.as_deref().or(other).unwrap_or_default();
    for (option, station) in [("--from", from), ("--to", to)]
        .into_iter()
        .chain(options.service.iter().map(|(station, _)| ("--service", station.as_str())))
    {
        if !stations.contains(&station) {
            let problem = crate::files::no_such_station(station, &network.source);
            return Err(Refusal::Usage(format!("{option}: {problem}")).into());
        }
    }
    let name = name(&options.command);
    let mut text = format!("name = {}\nnetwork = {}\n", quoted(&name), quoted(asked));
    for (number, (station, command)) in options.service.iter().enumerate() {
        let command = list(&["sh".to_owned(), "-c".to_owned(), format!("exec {command}")]);
        let _ = write!(
            text,
            "\n[service.service-{}]\non = {}\nrun = {command}\n",
            number + 1,
            quoted(station)
        );
    }
    let _ = write!(
        text,
        "\n[measure.{name}]\non = {}\nrun = {}\n",
        quoted(from),
        list(&options.command)
    );
    if let Some(deadline) = options.deadline {
        let _ = writeln!(text, "deadline = {}", quoted(&in_words(deadline)));
    }
    for load in &options.load {
        let _ = write!(text, "\n[load.{load}]\n{}", at_work(load, from, to));
    }
    if !factors.is_empty() {
        text.push_str("\n[factors]\n");
        for (name, levels) in &factors {
            let _ = writeln!(text, "{} = {}", quoted(name), list(levels));
        }
    }
    let blocks = options.blocks.unwrap_or_else(|| usual_blocks(study.profile));
    let _ = write!(text, "\n[order]\nblocks = {blocks}\n");
    if let Some(time) = options.time {
        let _ = writeln!(text, "at_most = {}", quoted(&in_words(time)));
    }
    Ok(text)
}

/// What is varied: each with its levels, the baseline first.
fn factors(options: &RunStudy) -> Result<Vec<(String, Vec<String>)>, Refusal> {
    let mut factors = options.factor.clone();
    let compared = options.study.congestion.compared();
    for control in compared {
        congestion::check(control, "--congestion-control: ")?;
    }
    if !compared.is_empty() {
        let names = compared.iter().map(ToString::to_string).collect();
        factors.push(("congestion_control".to_owned(), names));
    }
    if !options.load.is_empty() {
        let levels = std::iter::once("none".to_owned()).chain(options.load.iter().cloned());
        factors.push(("load".to_owned(), levels.collect()));
    }
    let twice = factors
        .iter()
        .enumerate()
        .find(|(place, (name, _))| factors[..*place].iter().any(|(other, _)| other == name));
    match twice {
        None => Ok(factors),
        Some((_, (name, _))) => Err(Refusal::Usage(format!(
            "{name} is varied twice: name all its values in one option"
        ))),
    }
}

/// The network that decides the stations: the named one, or the first of those that are compared.
fn network<'a>(
    options: &'a RunStudy,
    factors: &'a [(String, Vec<String>)],
) -> Result<&'a str, Refusal> {
    let named = options.study.network.as_deref();
    let compared = factors.iter().find(|(name, _)| name == "network");
    let first = compared.and_then(|(_, levels)| levels.first()).map(String::as_str);
    if named.is_some() && first.is_some() {
        let problem = "--network and --factor network=... both name networks: leave --network out";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    Ok(named.or(first).unwrap_or(USUAL))
}

/// A load by its name.
fn at_work(load: &str, from: &str, to: &str) -> String {
    let (activity, [on, to]) = match load {
        "upload" => ("tcp-stream", [from, to]),
        "download" => ("tcp-stream", [to, from]),
        other => (other, [from, to]),
    };
    let mut text = format!("on = {}\nactivity = {}\n", quoted(on), quoted(activity));
    if matches!(activity, "tcp-stream" | "transfer") {
        let _ = writeln!(text, "to = {}", quoted(to));
    }
    text
}

/// A command's name as a file has it: the program's own, with what a name may have.
fn name(command: &[String]) -> String {
    let program =
        command.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let letters = program.chars().map(|letter| {
        if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' }
    });
    let name: String = letters.take(40).collect();
    if name.is_empty() || name == "none" { "command".to_owned() } else { name }
}

fn in_words(span: Span) -> String {
    format!("{} ns", span.nanoseconds())
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string().trim().to_owned()
}
