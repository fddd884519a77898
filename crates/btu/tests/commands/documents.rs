//! Commands of README and docs that need neither hosts nor time, run as they are written there.

use std::collections::BTreeMap;

use btu_contract::network::Network;
use btu_studies::rate::{Plan, Profile};

use crate::console::{Written, commands, commands_of, commands_of_help, is_answer, measures_here};
use crate::shelf::Shelf;
use crate::support::write_recordings;

/// Rates of three blocks.
const RATES: [f64; 3] = [9.0, 9.1, 9.2];

/// Enough runs are stored for all names on the pages.
const RUNS: usize = 13;

/// Commands that work on stored runs, on papers, and on drawn networks. The simulations take 8 s
/// together.
fn is_quick(written: &Written) -> bool {
    let words: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let has = |option: &str| words.contains(&option);
    let needs_more =
        ["--open", "--ui", "--hosts", "--check", "--by", "lab.toml", "home.toml", "FILE"]
            .into_iter()
            .any(has);
    if !written.is_whole || needs_more {
        return false;
    }
    matches!(
        words.as_slice(),
        [
            "show" | "report" | "compare" | "runs" | "rank" | "history" | "model" | "sim" | "help",
            ..
        ] | ["net", "list" | "check" | "show", ..]
            | ["run", "--example" | "--as-file", ..]
            | ["hosts", "doctor", ..]
    ) && !matches!(words.as_slice(), ["runs", "rm" | "import", ..])
}

/// Why no test runs a command as it is written, by the words with which it begins or that it has.
const MARKED: [(&[&str], &str); 36] = [
    (&["--to"], "another host: lab/hosts_pipe.rs has its own"),
    (&["--ssh"], "another host: lab/hosts_ssh.rs has its own"),
    (&["--hosts"], "hosts of the reader: lab/hosts.rs has its own"),
    (&["watch"], "runs until it is ended: lab/watch.rs"),
    (&["--launcher"], "a job's nodes: lab/launchers.rs"),
    (&["hosts", "kubernetes"], "prints keys: lab/launchers.rs"),
    (&["--identity"], "keys of the reader"),
    (&["hosts", "check"], "an inventory of the reader: lab/hosts.rs"),
    (&["hosts", "agent"], "runs until it is ended: lab/agent.rs"),
    (&["iperf3"], "runs until it is ended: crates/iperf3/tests"),
    (&["--iperf3"], "another host: lab/speed_iperf3.rs has its own"),
    (&["--rpm"], "another host: lab/responsiveness.rs has its own"),
    (&["--rpm-server"], "runs until it is ended: lab/responsiveness.rs"),
    (&["--stamp"], "another host: lab/stamp.rs has its own"),
    (&["--stamp-reflector"], "runs until it is ended: lab/stamp.rs"),
    (&["--at"], "a share that is mounted"),
    (&["--trace"], "a file of the reader"),
    (&["--resume"], "a run that was interrupted: lab/resume.rs"),
    (&["--verify"], "a run that found a cause: lab/truth.rs"),
    (&["--watch"], "a terminal"),
    (&["--ui"], "a terminal: commands/model_ui.rs"),
    (&["--open"], "a browser"),
    (&["--x11"], "an X server"),
    (&["--check"], "minutes of packets: lab/model_check.rs"),
    (&["--by"], "minutes of simulation: commands/model.rs"),
    (&["net", "run"], "a network: lab/net.rs"),
    (&["net", "up"], "a network: lab/net_truth.rs"),
    (&["net", "exec"], "a network: lab/net_truth.rs"),
    (&["net", "status"], "a network: lab/net.rs"),
    (&["net", "down"], "a network: lab/net.rs"),
    (&["run"], "a file or a program of the reader: lab/run"),
    (&["publish"], "a board: commands/publish.rs has its own"),
    (&["--challenge"], "a board: lab/challenge.rs has its own"),
    (&["runs", "rm"], "deletes: commands/archive.rs"),
    (&["runs", "import"], "a file of another machine: commands/archive.rs"),
    (&["runs", "machine", "set"], "names a machine: commands/rank.rs"),
];

fn is_marked(written: &Written) -> bool {
    let words: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let has = |mark: &[&str]| {
        words.starts_with(mark)
            || mark.len() == 1 && mark[0].starts_with('-') && words.contains(&mark[0])
    };
    // A reader's own files, and hosts by their names.
    let is_readers =
        |word: &&str| word.contains(".toml") || ["HOST", "FILE", "NAME", "DIR"].contains(word);
    MARKED.iter().any(|(mark, _)| has(mark))
        || words.iter().any(is_readers)
        || words.first() == Some(&"speed") && words.get(1) == Some(&"alpha")
}

/// The help of every command, by its name.
pub(crate) fn helps(shelf: &Shelf) -> Vec<(String, String)> {
    let lines = |text: &str| -> Vec<String> {
        let names = text.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let is_name = |name: &&str| {
            !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase())
        };
        names.filter(is_name).map(str::to_owned).collect()
    };
    let (_, all, _) = shelf.btu(&["help"]);
    let mut found = Vec::new();
    for name in lines(&all).into_iter().filter(|name| name != "btu") {
        let (_, help, _) = shelf.btu(&[&name, "--help"]);
        if ["net", "runs", "hosts"].contains(&name.as_str()) {
            for below in
                lines(&help).into_iter().filter(|below| !["btu", "help"].contains(&below.as_str()))
            {
                let (_, help, _) = shelf.btu(&[&name, &below, "--help"]);
                found.push((format!("{name} {below}"), help));
            }
        }
        found.push((name, help));
    }
    found
}

/// The commands in the help of every command.
fn examples(shelf: &Shelf) -> Vec<Written> {
    helps(shelf).iter().flat_map(|(name, help)| commands_of_help(name, help)).collect()
}

/// A command that a reader types is run by a test, begun by one, or marked with the reason why not.
#[test]
fn every_command_of_documents_and_help_is_run_or_marked() {
    let shelf = Shelf::new();
    let examples = examples(&shelf);
    assert!(examples.len() > 60, "{} examples", examples.len());
    let left: Vec<String> = commands()
        .into_iter()
        .chain(examples)
        .filter(|written| written.is_whole)
        .filter(|written| !is_quick(written) && !measures_here(written) && !is_marked(written))
        .map(|written| format!("{}: btu {}", written.place, written.arguments.join(" ")))
        .collect();
    assert!(left.is_empty(), "neither run nor marked:\n{}", left.join("\n"));
}

#[test]
fn quick_commands_of_the_documents_work_as_they_stand_there() {
    let mut shelf = Shelf::new();
    write_recordings(shelf.directory.path());
    let plan = Plan::whole(7, Profile::quick(), Network::Veth);
    for _ in 0..RUNS {
        shelf.run(&plan, &RATES);
    }
    for (run, tag) in [
        ("r1", "nightly"),
        ("r2", "nightly"),
        ("r3", "fair"),
        ("r5", "bloated"),
        ("r4", "before"),
        ("r9", "after"),
        ("r10", "old"),
        ("r11", "new"),
    ] {
        shelf.json(&["runs", "tag", run, tag]);
    }
    let written = commands().into_iter().chain(examples(&shelf));
    let mut quick: Vec<Written> = written.filter(is_quick).collect();
    // A file is written once.
    quick.sort_by(|one, other| one.arguments.cmp(&other.arguments));
    quick.dedup_by(|one, other| one.arguments == other.arguments);
    assert!(quick.len() >= 20, "{} quick commands", quick.len());
    let failed: Vec<String> = quick.iter().filter_map(|written| failure(&shelf, written)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn failure(shelf: &Shelf, written: &Written) -> Option<String> {
    let arguments: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let (code, out, errors) = shelf.btu(&arguments);
    let has_said = !out.is_empty() || arguments.contains(&"-o");
    let first = out.lines().next().unwrap_or_default();
    let is_told = written.answer.as_ref().is_none_or(|page| is_answer(page, first, 0.0));
    let all = format!(
        "{}: btu {}: exit code {code:?}\n{out}{errors}",
        written.place,
        arguments.join(" ")
    );
    (code != Some(0) || !has_said || !is_told).then_some(all)
}

/// A text below a block of quick commands is what one of them prints.
#[test]
fn a_text_below_quick_commands_is_what_one_of_them_prints() {
    let shelf = Shelf::new();
    let mut blocks: BTreeMap<String, Vec<Written>> = BTreeMap::new();
    for written in commands().into_iter().filter(|written| written.text_below.is_some()) {
        blocks.entry(written.block.clone()).or_default().push(written);
    }
    blocks.retain(|_, commands| commands.iter().all(is_quick));
    assert!(!blocks.is_empty(), "no page prints what a quick command says");
    for (block, commands) in blocks {
        let page = commands[0].text_below.clone().unwrap_or_default();
        let said: Vec<String> = commands
            .iter()
            .map(|one| {
                let arguments: Vec<&str> = one.arguments.iter().map(String::as_str).collect();
                shelf.btu(&arguments).1.lines().next().unwrap_or_default().to_owned()
            })
            .collect();
        let is_told = said.iter().any(|said| is_answer(&page, said, 0.0));
        assert!(is_told, "{block}: the page has `{page}`, the commands say\n{}", said.join("\n"));
    }
}

/// Words must be equal and numbers near, in whatever unit; what differs each time is not compared.
#[test]
fn an_answer_is_compared_by_words_and_numbers() {
    let page = "bbr: 980 ms; no difference seen, at most 10 %";
    for (printed, is_it) in [
        ("bbr: 1.02 s (0.9 .. 1.1); no difference seen, at most 3.0 %", true),
        ("bbr: 1.12 s; no difference seen, at most 3.0 %", false),
        ("bbr: 980 ms; no difference seen, at most 11 %", false),
        ("reno: 980 ms; no difference seen, at most 3.0 %", false),
        ("bbr: 980 ms; no difference seen", false),
    ] {
        assert_eq!(is_answer(page, printed, 0.05), is_it, "{printed}");
    }
    assert!(is_answer("Fine: ...", "Fine: requests wait 5 ms longer", 0.0));
    assert!(!is_answer("Fine: ...", "Bloated: requests wait 2 s longer", 0.0));
}

/// The command lines in a page, as a shell would parse them.
#[test]
fn lines_are_read_as_a_shell_reads_them() {
    let text = "See `btu runs` and `ls`.\n```console\nbtu net up home-bloated; btu net exec a -- ping 'b c' &   # text; btu no\n\
                cargo run --release -- rate \\\n  --load idle\nssh alpha btu runs export latest | btu runs import -\nbtu sim x > y.txt\n```\n```toml\nbtu = 1\n```\n";
    let found: Vec<(String, bool)> = commands_of("page.md", text)
        .into_iter()
        .map(|one| (one.arguments.join("|"), one.is_whole))
        .collect();
    let expected = [
        ("runs", false),
        ("net|up|home-bloated", true),
        ("net|exec|a|--|ping|b c", true),
        ("rate|--load|idle", true),
        ("runs|import|-", true),
        ("sim|x", true),
    ];
    assert_eq!(found, expected.map(|(words, is_whole)| (words.to_owned(), is_whole)));
}
