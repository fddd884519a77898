//! `btu run`: makes a plan from an experiment file or a command line.

mod arguments;
mod gate;
mod place;
mod short;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use btu_contract::experiment::{Field, LeftOut, MOST_BLOCKS, Raised};
use btu_contract::program::Part;
use btu_report::names_text;
use btu_studies::run::{
    EXAMPLES, Example, ExperimentFile, Found, Ground, RunPlan, RunRow, inventory_of, read,
};
use btu_units::{Span, shell_word, text_of_octets};

use serde_json::json;

use crate::cli::{Common, ProfileName, needs_more};
use crate::exit::Refusal;
use crate::files;
use crate::results::compare::of_scripts;
use crate::results::{Measure, StoredStudy, Studied};
use crate::start::hosts;
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};
use crate::terminal::{line_options, print, print_json};
use place::NetworkFinder;

pub(crate) use arguments::RunStudy;

/// The time of a cell in addition to its programs: preparing, and ending its processes.
const PROGRAM_MARGIN: Span = Span::from_seconds(60);

impl Measure for RunStudy {
    const STUDY: &'static dyn StoredStudy = &Studied::<RunPlan>::new(of_scripts::<RunPlan>);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        run(&self, common)
    }
}

/// Measures the experiment, and reports by the exit code whether a value is slower than allowed.
fn run(options: &RunStudy, common: &Common) -> anyhow::Result<ExitCode> {
    if let Some(name) = &options.example {
        show_example(name, common)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.as_file {
        let text = short::text(options)?;
        if common.json {
            print_json(&json!({"toml": text}))?;
        } else {
            print(&text)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (store, run) = study::run(
        &options.study,
        common,
        ProgressDisplay::Never,
        || plan(options),
        RunPlan::scratch,
    )?;
    gate::answer(options, &store, run)
}

/// Prints an example, or what there are.
fn show_example(name: &str, common: &Common) -> anyhow::Result<()> {
    if name.is_empty() {
        return list_examples(common);
    }
    let one = EXAMPLES.iter().find(|one| one.name == name).ok_or_else(|| {
        let names: Vec<&str> = EXAMPLES.iter().map(|one| one.name).collect();
        usage(format!("there is no example `{name}`; there are {}", names.join(", ")))
    })?;
    if common.json { print_json(&as_json(one)) } else { print(one.text) }
}

fn list_examples(common: &Common) -> anyhow::Result<()> {
    if common.json {
        return print_json(&EXAMPLES.iter().map(as_json).collect::<Vec<_>>());
    }
    let row = |one: &Example| {
        let needs = if one.programs.is_empty() {
            String::new()
        } else {
            format!(" (needs {})", one.programs.join(", "))
        };
        (one.name.to_owned(), format!("{}{needs}", one.question()))
    };
    let rows: Vec<(String, String)> = EXAMPLES.iter().map(row).collect();
    print(&format!(
        "{}\nbtu run --example NAME > NAME.toml; btu run NAME.toml",
        names_text(&rows, &line_options())
    ))
}

fn as_json(one: &Example) -> serde_json::Value {
    json!({"name": one.name, "question": one.question(), "programs": one.programs, "toml": one.text})
}

fn usage(problem: impl Into<String>) -> anyhow::Error {
    Refusal::Usage(problem.into()).into()
}

fn plan(options: &RunStudy) -> anyhow::Result<RunPlan> {
    let study = &options.study;
    let (text, name, directory) = match &options.file {
        Some(path) => source(path)?,
        None if options.command.is_empty() => {
            return Err(usage(needs_more("run")));
        }
        None => (short::text(options)?, "the command line".to_owned(), PathBuf::from(".")),
    };
    let named = match inventory_of(&text) {
        // Options on the command line replace values of the file.
        Some(file) if !study.real.is_any() && study.network.is_none() => {
            hosts::listed_hosts(&directory.join(file))?
        }
        _ => hosts::named_hosts(&study.real)?,
    };
    let mut file = if named.is_empty() {
        let places = NetworkFinder::new(options, &text, &name, &directory);
        let find = |asked: &_| places.find(asked);
        let instead = if options.file.is_some() { study.network.as_deref() } else { None };
        let ground = Ground::Networks { find: &find, instead };
        read(&text, &name, &study.settings, ground).map_err(|error| usage(error.to_string()))?
    } else {
        let all = named.iter().map(hosts::host_name).collect::<Result<Vec<_>, Refusal>>()?;
        read(&text, &name, &study.settings, Ground::Hosts(&all))
            .map_err(|error| usage(error.to_string()))?
    };
    for row in &mut file.rows {
        settle(row, &directory)?;
    }
    let network = if named.is_empty() {
        None
    } else {
        Some(Chosen::elsewhere(study, named, false)?.field(file.hosts.clone())?)
    };
    planned(options, file, network)
}

/// A file's text, what errors call it, and where the files lie that it names.
fn source(path: &Path) -> anyhow::Result<(String, String, PathBuf)> {
    if path.as_os_str() == "-" {
        return Ok((files::standard_input()?, "stdin".to_owned(), PathBuf::from(".")));
    }
    let name = path.to_string_lossy();
    if !path.exists() && is_in_path(&name) {
        let typed = shell_word(&name);
        let problem =
            format!("there is no file {name}; a command comes after `--`: btu run -- {typed}");
        return Err(usage(problem));
    }
    let directory = path.parent().filter(|above| !above.as_os_str().is_empty());
    Ok((
        files::text(path)?,
        path.display().to_string(),
        directory.map_or_else(|| PathBuf::from("."), Path::to_owned),
    ))
}

/// Programs by whole paths, each of which is there: stations have this machine's files, and other
/// working directories.
fn settle(row: &mut RunRow, directory: &Path) -> anyhow::Result<()> {
    let here = std::path::absolute(directory)?;
    for step in &mut row.programs {
        if let Some(named) = &step.order.directory {
            step.order.directory = Some(here.join(named));
        }
        let Some(program) = step.order.command.first_mut() else { continue };
        let is_path = program.contains('/');
        if is_path {
            *program = text_of_octets(here.join(files::path(program)).as_os_str().as_bytes());
        }
        let is_there = if is_path { files::path(program).exists() } else { is_in_path(program) };
        if !is_there {
            let (name, advice) = (&step.name, missing(program));
            return Err(usage(format!(
                "{name}: there is no program `{program}` on this machine: {advice}"
            )));
        }
    }
    Ok(())
}

/// What to do about a program that is not there.
fn missing(program: &str) -> String {
    if program.contains(char::is_whitespace) {
        format!("it is one word; a shell command is `sh -c {}`", shell_word(program))
    } else {
        "check its name and $PATH".to_owned()
    }
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(files::path(program)).is_file())
}

fn planned(
    options: &RunStudy,
    mut file: ExperimentFile,
    elsewhere: Option<Field>,
) -> anyhow::Result<RunPlan> {
    let study = &options.study;
    // Several are a factor of the short form.
    let is_factor = options.file.is_none() && !study.congestion.compared().is_empty();
    let everywhere = if is_factor { None } else { study.congestion.checked()? };
    let found = std::mem::take(&mut file.networks);
    if everywhere.is_some() && found.iter().any(|one| one.raised.congestion_control.is_some()) {
        let problem = "-C and congestion_control in the file both name one: leave one of them out";
        return Err(usage(problem));
    }
    let mut networks = found.into_iter().map(|Found { raised, .. }| Raised {
        stations: file.hosts.clone(),
        congestion_control: everywhere.clone().or_else(|| raised.congestion_control.clone()),
        ..raised
    });
    let network = match elsewhere {
        Some(field) => field,
        None => Field::Drawing(networks.next().ok_or_else(|| usage("there is no network"))?),
    };
    let least_blocks = options.blocks.unwrap_or(file.order.blocks);
    let blocks = match (options.blocks, options.time) {
        (None, Some(_)) => MOST_BLOCKS,
        _ => least_blocks,
    };
    let measured =
        file.rows.iter().flat_map(|row| &row.programs).filter(|step| step.part != Part::Service);
    let longest = measured.map(|step| step.order.deadline).max().unwrap_or(Span::ZERO);
    let lead = file.rows.iter().map(RunRow::longest_lead).max().unwrap_or(Span::ZERO);
    let budget = options.time.unwrap_or(file.order.at_most);
    let deadline = longest + lead + PROGRAM_MARGIN;
    let frame = study::frame::<RunPlan>(study, (blocks, budget), deadline, network)?;
    let networks = networks.collect();
    let plan = RunPlan { networks, least_blocks, ..RunPlan::new(frame, file) };
    options.time.map_or(Ok(()), |time| one_repetition_fits(&plan, time))?;
    Ok(plan)
}

/// Refuses a time in which not even one repetition of every row ends.
fn one_repetition_fits(plan: &RunPlan, time: Span) -> anyhow::Result<()> {
    let least = plan.least_time();
    if least <= time {
        return Ok(());
    }
    let every_row = LeftOut { cell: plan.name.clone(), least };
    let enough = LeftOut::enough(&[every_row]).unwrap_or(least);
    Err(usage(format!(
        "--time {time} is too short: one repetition of every row takes {:.1} s or more, by the leads of loads, the times of \
         activities and the rates of lines; give --time '{enough}' or more, or name fewer levels",
        least.seconds()
    )))
}

/// The repetitions of the short form.
const fn usual_blocks(profile: ProfileName) -> u32 {
    match profile {
        ProfileName::Quick => 5,
        ProfileName::Standard => 15,
        ProfileName::Full => 50,
    }
}
