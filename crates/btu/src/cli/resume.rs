//! The options that are allowed together with `--resume`. The run brings its own plan, so all
//! options that would make another plan are refused.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

use crate::exit::Refusal;

/// The run to continue, and what to accept for that.
#[derive(Debug, Args)]
pub(crate) struct Resuming {
    /// Complete this run with its own plan, instead of starting a new one: r12, or latest
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// Resume even if a machine, its kernel or btu has changed since the start; the run keeps a
    /// warning
    #[arg(long, requires = "resume")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) allowed: Allowed,
}

/// What the plan of an imported run may do.
#[derive(Debug, Args)]
pub(crate) struct Allowed {
    /// Resume an imported run even though its plan decides which hosts are contacted
    #[arg(long, requires = "resume")]
    pub(crate) call_hosts: bool,
    /// Resume an imported run even though its plan decides which programs are started
    #[arg(long, requires = "resume")]
    pub(crate) start_programs: bool,
    /// Resume an imported run even though its plan decides in which directories files are written
    #[arg(long, requires = "resume")]
    pub(crate) use_directory: bool,
}

/// Options that are allowed with `--resume`: how to reach hosts, where files go, and what is shown.
/// None of them decides what is measured.
const ALLOWED: [&str; 25] = [
    "resume",
    "force",
    "call_hosts",
    "start_programs",
    "use_directory",
    "junit",
    "fail_if_slow",
    "fail_if_slower",
    "quiet",
    "data",
    "json",
    "scratch",
    "scratch_limit",
    "reconnect_timeout",
    "launcher",
    "over",
    "identity",
    "ssh_program",
    "ssh_binary",
    "np_out",
    "csv",
    "svg",
    "with",
    "all",
    "watch",
];

/// Refuses the first option of a new run that is given together with `--resume`.
pub(super) fn check(command: &Command, matches: &ArgMatches) -> Result<(), Refusal> {
    let Some((name, given)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand(name) else { return Ok(()) };
    let written = command.get_arguments().filter(|argument| {
        // The user did not ask for environment variables and defaults for this run.
        given.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    });
    let written: Vec<_> = written.collect();
    if !written.iter().any(|argument| argument.get_id() == "resume") {
        return Ok(());
    }
    match written.iter().find(|argument| !ALLOWED.contains(&argument.get_id().as_str())) {
        None => Ok(()),
        Some(odd) => Err(Refusal::Usage(format!(
            "--{} cannot be used with --resume: the run keeps its original plan. Leave the option out, or start a new run \
             without --resume",
            odd.get_long().unwrap_or_default()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Arguments;
    use super::*;

    fn checked(line: &str) -> Result<(), String> {
        let mut command = Arguments::command();
        let matches = command.try_get_matches_from_mut(line.split(' ')).expect(line);
        check(&command, &matches).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn options_of_another_plan_are_refused_by_name() {
        for (line, option) in [
            ("btu rate --resume r1 --profile full", "--profile"),
            ("btu rate --resume r1 --profile quick", "--profile"),
            ("btu rate --resume r1 --component SEND", "--component"),
            ("btu rate --resume r1 --network veth", "--network"),
            ("btu rate --delay 1ms --resume r1", "--delay"),
            ("btu rate --resume r1 --label again", "--label"),
            ("btu rate --resume r1 --tag again", "--tag"),
            ("btu rate --resume r1 --seed 7", "--seed"),
            ("btu rate --resume r1 --ssh a,b,c", "--ssh"),
            ("btu pipe --resume r1 --sizes 1", "--sizes"),
            ("btu pipe --resume r1 --precision quick", "--profile"),
            ("btu pipe --resume r1 --layers", "--layers"),
            ("btu pipe --resume r1 --pin apart", "--pin"),
            ("btu pipe --resume r1 --ssh beta", "--ssh"),
        ] {
            let said = checked(line).unwrap_err();
            assert!(
                said.starts_with(&format!("{option} cannot be used with --resume")),
                "{line}: {said}"
            );
        }
    }

    #[test]
    fn what_decides_nothing_is_allowed() {
        for line in [
            "btu rate --resume r1 --force --scratch /tmp --quiet --json --identity me.pem",
            "btu pipe --resume r1 --force --csv a.csv --all --data here",
            "btu rate --profile full",
            "btu show r1",
        ] {
            checked(line).unwrap();
        }
    }

    /// A name that no command has allows nothing, and would hide that an option was renamed.
    #[test]
    fn every_allowed_option_is_one() {
        let mut command = Arguments::command();
        command.build();
        let has = |name: &str, id: &str| {
            let command = command.find_subcommand(name).unwrap();
            command.get_arguments().any(|argument| argument.get_id() == id)
        };
        for id in ALLOWED {
            assert!(
                ["rate", "pipe", "run", "app", "fleet"].iter().any(|name| has(name, id)),
                "{id}"
            );
        }
    }
}
