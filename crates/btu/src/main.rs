//! `btu`: what an application gets from a machine and its network while the machine also works.

mod cli;
mod exit;
mod files;
mod history;
mod internal;
mod net_check;
mod papers;
mod preflight;
mod progress;
mod rate;
mod runs;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    let result = match arguments.command {
        cli::Command::Rate(rate) => rate::run(&rate, &arguments.common),
        cli::Command::Net(cli::Net::Check(check)) => net_check::check(&check, &arguments.common),
        cli::Command::Net(cli::Net::List) => net_check::list(&arguments.common),
        cli::Command::Net(cli::Net::Show { name }) => net_check::show(&name),
        cli::Command::Runs(list) => runs::list(&list, &arguments.common),
        cli::Command::Show(show) => runs::show(&show, &arguments.common),
        cli::Command::History(history) => history::run(&history, &arguments.common),
        cli::Command::Completions { shell } => papers::completions(shell),
        cli::Command::Man { directory } => papers::man(&directory),
        cli::Command::Internal(part) => return internal::run(part),
    };
    exit::code(result)
}
