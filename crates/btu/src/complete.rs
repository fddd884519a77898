//! The completions of a shell for names that only btu knows: runs, tags, networks, stations,
//! components, loads, transports and the like.
//!
//! The script of `btu completions SHELL` calls btu itself, each time, with an environment variable.
//! The completions follow from the name of an option or of its value, in one place for all
//! commands. Also the manual pages, which follow from the same commands.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use btu_contract::app::{Carrier, Workload};
use btu_contract::copy::{Cache, Direction, Mode, Storage};
use btu_contract::lan;
use btu_contract::lan::Task;
use btu_contract::load::Load;
use btu_contract::pipe::{Kind, Pattern};
use btu_network::{Host, library, library_text};
use btu_store::Store;
use btu_studies::papers::Study;
use btu_studies::rate::Component;
use btu_studies::run::EXAMPLES;
use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};

use crate::cli::{self, Common, TAG, congestion};
use crate::files;

/// The variable by which a shell's script asks.
const VARIABLE: &str = "BTU_COMPLETE";

/// The number of newest runs that are offered.
const MOST_RUNS: usize = 50;

/// Answers a shell that requests completions, and ends then; else does nothing.
pub(crate) fn answer() {
    CompleteEnv::with_factory(command).var(VARIABLE).completer("btu").complete();
}

/// Prints the completion script of `shell`.
pub(crate) fn completions(shell: clap_complete::Shell, common: &Common) -> anyhow::Result<()> {
    common.no_json("a script for a shell is printed")?;
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        shell.write_registration(VARIABLE, "btu", "btu", "btu", &mut script)?;
    }
    Ok(std::io::stdout().write_all(&script)?)
}

/// Writes a page for btu and one for each of its commands.
pub(crate) fn man(directory: &Path, common: &Common) -> anyhow::Result<()> {
    common.no_json("manual pages are written")?;
    clap_mangen::generate_to(cli::whole(), directory).with_context(|| {
        format!("writing manual pages to {}: does the directory exist?", directory.display())
    })
}

/// btu's commands with the completions of their values.
fn command() -> Command {
    with_values(cli::whole())
}

fn with_values(command: Command) -> Command {
    let command = command.mut_args(|arg| match values(&arg) {
        Some(values) => arg.add(ArgValueCompleter::new(values)),
        None => arg,
    });
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_values))
}

/// The completions of an argument, by its name and that of its value.
#[derive(Debug, Clone, Copy)]
enum Values {
    Runs,
    /// One side of a comparison: a run, or all with a tag.
    Sides,
    Tags,
    Networks,
    Stations,
    /// Those that stations may use on this machine.
    CongestionControls,
    Fixed(fn() -> Vec<&'static str>),
    Studies,
}

fn values(arg: &Arg) -> Option<Values> {
    let names = arg.get_value_names().unwrap_or_default();
    let takes = |word: &str| names.iter().any(|name| name.split('|').any(|part| part == word));
    Some(match arg.get_id().as_str() {
        "network" => Values::Networks,
        _ if takes("NETWORK") => Values::Networks,
        "component" => Values::Fixed(components),
        "load" => Values::Fixed(|| Load::ALL.iter().map(|load| load.name()).collect()),
        "message" => Values::Fixed(messages),
        "transport" if takes("NAME") => Values::Fixed(transports),
        "pattern" => Values::Fixed(patterns),
        "protocol" => Values::Fixed(protocols),
        "program" => Values::Fixed(programs),
        "mode" => Values::Fixed(|| Mode::ALL.iter().map(|mode| mode.name()).collect()),
        "direction" => Values::Fixed(|| Direction::ALL.iter().map(|one| one.name()).collect()),
        "cache" => Values::Fixed(|| Cache::ALL.iter().map(|cache| cache.name()).collect()),
        "workload" => {
            Values::Fixed(|| Workload::ALL.iter().map(|workload| workload.name()).collect())
        }
        "task" => Values::Fixed(|| Task::ALL.iter().map(|task| task.name()).collect()),
        "storage" => Values::Fixed(|| Storage::ALL.iter().map(|storage| storage.name()).collect()),
        "congestion_control" => Values::CongestionControls,
        "example" => Values::Fixed(|| EXAMPLES.iter().map(|one| one.name).collect()),
        "study" => Values::Studies,
        _ if takes("STUDY") => Values::Studies,
        "run" | "runs" | "resume" => Values::Runs,
        _ if takes("RUN") => Values::Runs,
        _ if takes("SIDE") => Values::Sides,
        _ if takes("TAG") => Values::Tags,
        _ if takes("STATION") => Values::Stations,
        _ => return None,
    })
}

/// The studies of the papers, each with its title.
fn studies() -> Vec<(String, String)> {
    Study::ALL.iter().map(|study| (study.name().to_owned(), study.about().to_owned())).collect()
}

fn components() -> Vec<&'static str> {
    Component::RATED.iter().chain(&Component::FURTHER).map(|component| component.name()).collect()
}

/// Those of `btu app`, with a window as an example.
fn protocols() -> Vec<&'static str> {
    vec!["stop-and-wait", "window-8", "pipelined", "construction", "batched", "redraw", "bitmap"]
}

/// Those of `btu copy`, with NFS in its usual form.
fn programs() -> Vec<&'static str> {
    vec![
        "local", "bare", "rcp", "ftp", "http", "mount", "scp", "sftp", "rsync", "vsftpd", "nfs",
        "nfs-16", "nfs-64k", "nfs-sync",
    ]
}

fn messages() -> Vec<&'static str> {
    vec!["100", "1024", "1250", "4096", "65536"]
}

/// Whether this is the command on the line: an option's names depend on it.
fn is_of(command: &str) -> bool {
    std::env::args_os().any(|word| word == command)
}

/// Those of messages, or of transactions at a file server.
fn patterns() -> Vec<&'static str> {
    if is_of("lan") {
        return lan::Pattern::ALL.iter().map(|pattern| pattern.name()).collect();
    }
    Pattern::ALL.iter().map(|pattern| pattern.name()).collect()
}

/// Those of `btu pipe`; `btu app` takes those of them that its help names.
fn transports() -> Vec<&'static str> {
    if is_of("app") {
        return Carrier::ALL.iter().map(|carrier| carrier.name()).collect();
    }
    Kind::ALL.iter().map(|kind| kind.name()).collect()
}

impl ValueCompleter for Values {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let begun = current.to_string_lossy().into_owned();
        let fitting = |found: Vec<(String, String)>| {
            let found = found.into_iter().filter(|(value, _)| value.starts_with(&begun));
            let candidate = |(value, help): (String, String)| {
                CompletionCandidate::new(value)
                    .help(Some(help).filter(|help| !help.is_empty()).map(Into::into))
            };
            found.map(candidate).collect::<Vec<_>>()
        };
        let plain = |names: Vec<String>| {
            names.into_iter().map(|name| (name, String::new())).collect::<Vec<_>>()
        };
        match self {
            Self::Runs => fitting(runs()),
            Self::Sides => fitting(
                [
                    runs(),
                    tags().into_iter().map(|(tag, help)| (format!("{TAG}{tag}"), help)).collect(),
                ]
                .concat(),
            ),
            Self::Tags => fitting(tags()),
            Self::Stations => fitting(plain(stations())),
            Self::CongestionControls => fitting(plain(congestion::allowed())),
            Self::Studies => fitting(studies()),
            Self::Fixed(names) => fitting(plain(names().into_iter().map(str::to_owned).collect())),
            Self::Networks => {
                let files = PathCompleter::file().filter(|path| {
                    path.is_dir() || path.extension().is_some_and(|end| end == "toml")
                });
                fitting(networks()).into_iter().chain(files.complete(current)).collect()
            }
        }
    }
}

/// The stored runs, if there are any: a completion makes no database.
fn stored() -> Option<Store> {
    let path = Store::default_path().ok().filter(|path| path.exists())?;
    Store::open_to_read(path).ok()
}

/// The newest runs, each with its description.
fn runs() -> Vec<(String, String)> {
    let runs = stored().and_then(|store| store.runs().ok()).unwrap_or_default();
    let newest = runs.iter().rev().take(MOST_RUNS);
    let named = newest.map(|run| {
        (run.id.to_string(), format!("{}, {}, {}", run.study, run.network, run.created))
    });
    std::iter::once(("latest".to_owned(), "the newest run".to_owned())).chain(named).collect()
}

fn tags() -> Vec<(String, String)> {
    let runs = stored().and_then(|store| store.runs().ok()).unwrap_or_default();
    let mut tags: Vec<String> = runs.into_iter().flat_map(|run| run.tags).collect();
    tags.sort();
    tags.dedup();
    tags.into_iter().map(|tag| (tag, String::new())).collect()
}

fn networks() -> Vec<(String, String)> {
    let about = |name: &str| {
        library_text(name)
            .and_then(|text| text.lines().find_map(|line| line.strip_prefix("about = ")))
    };
    let named = library().iter().map(|(name, _)| {
        ((*name).to_owned(), about(name).unwrap_or_default().trim_matches('"').to_owned())
    });
    std::iter::once(("veth".to_owned(), "nothing is emulated".to_owned())).chain(named).collect()
}

/// The stations of the network that the command line names, or the hosts of its inventory.
fn stations() -> Vec<String> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let after = |option: &str| {
        let place = words.iter().position(|word| word == option)?;
        words.get(place + 1)?.to_str()
    };
    if let Some(inventory) = after("--hosts") {
        let hosts = files::text(inventory.as_ref())
            .ok()
            .and_then(|text| btu_network::Inventory::read(&text, inventory).ok());
        let hosts: Vec<Host> = hosts.map(|read| read.hosts).unwrap_or_default();
        return hosts.iter().map(|host| host.name.clone()).collect();
    }
    // `btu net run FILE`, `btu net up FILE` name it without an option.
    let bare = || {
        words.iter().filter_map(|word| word.to_str()).find(|word| {
            library_text(word).is_some()
                || Path::new(word).extension().is_some_and(|end| end == "toml")
        })
    };
    let drawing =
        after("--network").or_else(bare).and_then(|network| files::network(network, &[]).ok());
    drawing
        .map(|drawing| drawing.stations.iter().map(|station| station.name.clone()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(words: &str, current: &str) -> Vec<String> {
        let mut command = command();
        command.build();
        let below = words.split(' ').skip(1).take_while(|word| !word.starts_with('-'));
        let command =
            below.fold(&command, |command, name| command.find_subcommand(name).expect("a command"));
        let option = words.rsplit(' ').next().unwrap().trim_start_matches('-').replace('-', "_");
        let arg =
            command.get_arguments().find(|arg| arg.get_id() == option.as_str()).expect("an option");
        let values = values(arg).unwrap_or_else(|| panic!("nothing is offered for {words}"));
        values
            .complete(OsStr::new(current))
            .iter()
            .map(|one| one.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn names_that_only_btu_knows_are_offered() {
        assert_eq!(offered("btu rate --component", "2xR"), ["2xRECV+DL"]);
        assert_eq!(offered("btu rate --load", ""), ["idle", "cpu", "disk", "transfer"]);
        assert_eq!(offered("btu pipe --transport", "unix"), ["unix-stream", "unix-seqpacket"]);
        for words in [
            "btu rate --network",
            "btu pipe --network",
            "btu app --network",
            "btu sim --network",
            "btu model --network",
        ] {
            assert!(offered(words, "home-").contains(&"home-bloated".to_owned()), "{words}");
        }
        for words in [
            "btu show --run",
            "btu rate --resume",
            "btu report --run",
            "btu runs export --runs",
            "btu compare --sides",
        ] {
            assert!(offered(words, "lat").contains(&"latest".to_owned()), "{words}");
        }
    }

    /// Every option that names a station, a run or a network has completions.
    #[test]
    fn no_command_is_left_out() {
        fn options(command: &Command, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let names = arg.get_value_names().unwrap_or_default();
                let parts = || names.iter().flat_map(|name| name.split('|'));
                if parts().any(|part| ["STATION", "RUN", "SIDE", "TAG", "NETWORK"].contains(&part))
                    && values(arg).is_none()
                {
                    found.push(format!("{} {}", command.get_name(), arg.get_id()));
                }
            }
            command.get_subcommands().for_each(|below| options(below, found));
        }
        let mut left_out = Vec::new();
        options(&command(), &mut left_out);
        assert!(left_out.is_empty(), "{left_out:?}");
    }
}
