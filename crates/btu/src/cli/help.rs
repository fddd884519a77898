//! What `btu help`, `-h` and `--help` show: commands in groups, the options that answer a command's
//! question first, and all of them on demand.

use std::fmt::Write as _;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Command, ValueEnum as _};

use super::ProfileName;

/// A command and its purpose in a few words.
type CommandPurpose = (&'static str, &'static str);

/// The commands as users look for them.
const GROUPS: [(&str, &[CommandPurpose]); 5] = [
    (
        "Measure",
        &[
            ("speed", "how fast it is to a host, and how long requests wait meanwhile"),
            ("rate", "what an application gets while this machine is busy"),
            ("run", "your own program, on any network, under any load"),
            ("pipe", "the time of messages of every size"),
            ("fleet", "which of many hosts, or which link between them, is slow"),
        ],
    ),
    (
        "Networks",
        &[
            ("net", "networks from a file: run programs in them, with real packets"),
            ("model", "predict the performance of a network, by closed forms"),
            ("sim", "simulate a network in virtual time"),
        ],
    ),
    (
        "Results",
        &[
            ("runs", "list the stored runs; tag, delete, export and import them"),
            ("show", "the result of a stored run"),
            ("compare", "how much faster or slower, and how sure that is"),
            ("watch", "measure on a schedule, and serve the numbers to Prometheus"),
            ("report", "a run as one HTML file, or in another format"),
            ("rank", "machines by their stored runs, with price and configuration"),
            ("publish", "a signed rating on a board, without host, user or file names"),
        ],
    ),
    (
        "Studies",
        &[
            ("app", "an application and its display, over every protocol"),
            ("copy", "files between two hosts: what disks, programs and traffic cost"),
            ("lan", "a file server and its users"),
            ("history", "the tables of the papers behind btu"),
        ],
    ),
    (
        "Hosts",
        &[
            ("hosts", "check hosts; the agent for measuring between machines"),
            ("iperf3", "a server for many iperf3 clients at a time"),
        ],
    ),
];

/// The options of `-h`, besides those of all commands; `--help` has the others, too.
const SHORT: [(&str, &str); 8] = [
    (
        "speed",
        "host ssh network iperf3 from to time profile streams reverse udp congestion_control all",
    ),
    ("rate", "profile time network delay component message load ssh hosts tag resume all"),
    ("run", "file command network delay load service blocks time example congestion_control all"),
    ("pipe", "ssh network transport sizes load precision time congestion_control all"),
    ("fleet", "ssh hosts network per_pair at_once profile time resume all"),
    ("app", "protocol workload network delay ssh profile time watch all"),
    ("copy", "program size contention network delay ssh at profile time all"),
    ("lan", "at pattern stations task most network ssh profile time all"),
];

/// How long each profile of a command takes.
const PROFILES: [(&str, [&str; 3]); 7] = [
    (
        "speed",
        [
            "phases of 3 s: ten to thirty seconds in all",
            "five blocks with phases of 10 s: some three minutes",
            "15 blocks with phases of 30 s: some twenty minutes",
        ],
    ),
    (
        "rate",
        [
            "two to three minutes: a first look",
            "up to 45 minutes: numbers to work with",
            "up to eight hours: numbers to publish",
        ],
    ),
    ("run", ["5 repetitions of each row", "15 repetitions", "50 repetitions"]),
    ("fleet", ["each pair once", "each pair three times", "each pair ten times"]),
    ("app", ["up to three minutes", "up to 45 minutes", "up to eight hours"]),
    ("copy", ["four to five minutes", "up to an hour", "up to twelve hours"]),
    ("lan", ["up to four minutes", "up to 45 minutes", "up to eight hours"]),
];

/// Commands of the examples of `-h`.
const EXAMPLES: usize = 4;

/// The commands with their help as it is shown.
pub(super) fn arranged(command: Command) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let command = command
        .mut_args(|arg| if arg.get_id() == "data" { arg.hide_short_help(true) } else { arg });
    let command =
        names.into_iter().fold(command, |command, name| command.mut_subcommand(name, abridged));
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\nOptions:\n{{options}}\n{{after-help}}",
        listed(&command)
    );
    command.help_template(template)
}

/// The groups, as they stand in the help. A command in none of them is a study that was added: it has
/// its own words.
fn listed(command: &Command) -> String {
    let grouped =
        |name: &str| GROUPS.iter().flat_map(|(_, lines)| *lines).any(|(one, _)| *one == name);
    let added =
        command.get_subcommands().filter(|one| !one.is_hide_set() && !grouped(one.get_name()));
    let added = added.map(|one| {
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:<9}{about}\n", one.get_name())
    });
    let added: String = added.collect();
    let mut text = String::new();
    for (group, commands) in GROUPS {
        let _ = writeln!(text, "\n{group}:");
        for (name, purpose) in commands {
            let _ = writeln!(text, "  {name:<9}{purpose}");
        }
        if group == "Studies" {
            text.push_str(&added);
        }
    }
    text
}

/// One command: the times of its profiles, and its options in two lengths.
fn abridged(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = match PROFILES.iter().find(|(of, _)| *of == name) {
        Some((_, times)) => command.mut_arg("profile", |arg| {
            let values =
                PossibleValuesParser::new(ProfileName::value_variants().iter().zip(times).map(
                    |(profile, time)| clap::builder::PossibleValue::new(profile.name()).help(*time),
                ));
            arg.value_parser(values.try_map(|text| ProfileName::from_str(&text, false)))
        }),
        None => command,
    };
    let Some((_, short)) = SHORT.iter().find(|(of, _)| *of == name) else { return command };
    let whole = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.mut_args(|arg| {
        let is_short = short.split(' ').any(|id| arg.get_id() == id);
        arg.hide_short_help(!is_short)
    });
    command
        .after_help(format!(
            "{}\n\n`btu {name} --help` has all options and examples.",
            first(&whole)
        ))
        .after_long_help(whole)
}

/// The first commands of a text of examples.
fn first(examples: &str) -> String {
    let mut commands = 0;
    let lines = examples.lines().take_while(|line| {
        commands += usize::from(line.starts_with("  btu "));
        !line.is_empty() && commands <= EXAMPLES
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let mut shown: Vec<&str> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, lines)| lines.iter().map(|(name, _)| *name)).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    /// All commands fit one screen, and so do the options of each that answer its question.
    #[test]
    fn short_help_is_one_screen() {
        let mut command = arranged(Arguments::command()).term_width(100);
        let all = command.render_help().to_string();
        assert!(all.lines().count() <= 45, "{}\n{all}", all.lines().count());
        for (name, ids) in SHORT {
            let one = command.find_subcommand_mut(name).expect(name);
            for id in ids.split(' ') {
                assert!(one.get_arguments().any(|arg| arg.get_id() == id), "{name}: {id}");
            }
            let [short, long] =
                [one.render_help(), one.render_long_help()].map(|text| text.to_string());
            assert!(short.lines().count() <= 45, "{name}: {}\n{short}", short.lines().count());
            assert!(long.lines().count() > short.lines().count() * 2, "{name}\n{long}");
        }
    }
}
