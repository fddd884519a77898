//! `btu`: measures what an application gets from a machine and its network while the machine also
//! works.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod complete;
mod exit;
mod files;
mod internal;
mod net;
mod published;
mod results;
mod start;
mod stored;
mod terminal;

use std::process::ExitCode;

use btu_testbed::own_process;

use commands::{
    agent, archive, doctor, history, iperf3, kubernetes, machine, model, publish, rank, report,
    runs, sim, watch,
};
use results::compare;
use start::{hosts, privilege};

// The studies, a line each, in the order of the help: docs/adding-a-study.md.
results::table! {
    speed::Speed,
    rate::Rate,
    pipe::Pipe,
    app::App,
    copy::Copy,
    lan::Lan,
    fleet::Fleet,
    run::RunStudy,
}

fn main() -> ExitCode {
    // If this fails, a file that is too large ends the process without a word.
    let _ = own_process::fail_beyond_limit();
    complete::answer();
    let allowed =
        cli::read().and_then(|arguments| privilege::settle(&arguments.command).map(|()| arguments));
    let arguments = match allowed {
        Ok(arguments) => arguments,
        Err(refusal) => return exit::code(Err(refusal.into())),
    };
    run(arguments.command, &arguments.common)
}

fn run(command: cli::Command, common: &cli::Common) -> ExitCode {
    let result = match command {
        cli::Command::Measure(command) => return exit::code_of(command.run(common)),
        cli::Command::Model(model) => model::run(&model, common),
        cli::Command::Hosts(hosts) => return exit::code_of(on_hosts(&hosts, common)),
        cli::Command::Net(net) => return net::run(net, common),
        cli::Command::Iperf3(server) => iperf3::run(&server, common),
        cli::Command::Sim(sim) => sim::run(&sim, common),
        cli::Command::Runs(stored) => on_runs(&stored, common),
        cli::Command::Show(show) => runs::show(&show, common),
        cli::Command::Compare(compare) => {
            return exit::code_of(compare::run(&compare, common));
        }
        cli::Command::Report(report) => report::run(&report, common),
        cli::Command::Watch(watch) => return exit::code_of(watch::run(&watch, common)),
        cli::Command::Publish(publish) => publish::run(&publish, common),
        cli::Command::Rank(rank) => rank::run(&rank, common),
        cli::Command::History(history) => history::run(&history, common),
        cli::Command::Completions { shell } => complete::completions(shell, common),
        cli::Command::Man { directory } => complete::man(&directory, common),
        cli::Command::Internal(part) => return internal::run(part),
    };
    exit::code(result)
}

/// The commands of `btu runs`.
fn on_runs(stored: &cli::Runs, common: &cli::Common) -> anyhow::Result<()> {
    match &stored.command {
        None => runs::list(stored, common),
        Some(cli::RunsCommand::Tag(tag)) => archive::tag(tag, common),
        Some(cli::RunsCommand::Rm(remove)) => archive::remove(remove, common),
        Some(cli::RunsCommand::Export(export)) => archive::export(export, common),
        Some(cli::RunsCommand::Import(import)) => archive::import(import, common),
        Some(cli::RunsCommand::Machine(machine)) => machine::run(machine, common),
    }
}

/// The commands of `btu hosts`.
fn on_hosts(hosts: &cli::Hosts, common: &cli::Common) -> anyhow::Result<ExitCode> {
    match hosts {
        cli::Hosts::Check(check) => hosts::check(check, common)?,
        cli::Hosts::Agent(agent) => {
            common.no_json("an agent prints no result")?;
            agent::run(agent)?;
        }
        cli::Hosts::Kubernetes(options) => kubernetes::run(options, common)?,
        cli::Hosts::Doctor(doctor) => return doctor::run(doctor, common),
    }
    Ok(ExitCode::SUCCESS)
}
