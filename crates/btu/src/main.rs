//! `btu`: measures what an application gets from a machine and its network while the machine also
//! works.

#![forbid(unsafe_code)]

mod agent;
mod archive;
mod cli;
mod company;
mod compare;
mod complete;
mod doctor;
mod exit;
mod files;
mod history;
mod hosts;
mod internal;
mod keys;
mod machine;
mod model;
mod model_check;
mod model_ui;
mod net;
mod net_accounts;
mod net_check;
mod net_exec;
mod net_run;
mod net_status;
mod net_up;
mod papers;
mod pictures;
mod preflight;
mod privilege;
mod progress;
mod provenance;
mod rank;
mod report;
mod resume;
mod runs;
mod sim;
mod stored;
mod study;
mod suites;
mod terminal;

use std::process::ExitCode;

// The suites, a line each, in the order of the help: docs/adding-a-suite.md.
suites::table! {
    speed::Speed,
    rate::Rate,
    pipe::Pipe,
    app::App,
    copy::Copy,
    lan::Lan,
    run::RunStudy,
}

fn main() -> ExitCode {
    complete::answer();
    let allowed =
        cli::read().and_then(|arguments| privilege::settle(&arguments.command).map(|()| arguments));
    let arguments = match allowed {
        Ok(arguments) => arguments,
        Err(refusal) => return exit::code(Err(refusal.into())),
    };
    let result = match arguments.command {
        cli::Command::Measure(command) => return exit::code_of(command.run(&arguments.common)),
        cli::Command::Model(model) => model::run(&model, &arguments.common),
        cli::Command::Hosts(hosts) => hosts::run(&hosts, &arguments.common),
        cli::Command::Net(net) => return net::run(net, &arguments.common),
        cli::Command::Sim(sim) => sim::run(&sim, &arguments.common),
        cli::Command::Runs(list) => runs::list(&list, &arguments.common),
        cli::Command::Show(show) => runs::show(&show, &arguments.common),
        cli::Command::Compare(compare) => {
            return exit::code_of(compare::run(&compare, &arguments.common));
        }
        cli::Command::Report(report) => report::run(&report, &arguments.common),
        cli::Command::Rank(rank) => rank::run(&rank, &arguments.common),
        cli::Command::Keys(keys) => keys::run(&keys, &arguments.common),
        cli::Command::Machine(machine) => machine::run(&machine, &arguments.common),
        cli::Command::Agent(agent) => agent::run(&agent),
        cli::Command::Doctor(doctor) => {
            return exit::code_of(doctor::run(&doctor, &arguments.common));
        }
        cli::Command::Tag(tag) => archive::tag(&tag, &arguments.common),
        cli::Command::Rm(remove) => archive::remove(&remove, &arguments.common),
        cli::Command::Export(export) => archive::export(&export, &arguments.common),
        cli::Command::Import(import) => archive::import(&import, &arguments.common),
        cli::Command::History(history) => history::run(&history, &arguments.common),
        cli::Command::Completions { shell } => papers::completions(shell),
        cli::Command::Man { directory } => papers::man(&directory),
        cli::Command::Internal(part) => return internal::run(part),
    };
    exit::code(result)
}
