//! The command lines of README and of docs, which readers type.

// Each program uses its own part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// A command of btu in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The file and the line, as an error names them.
    pub(crate) place: String,
    /// The arguments after `btu`.
    pub(crate) arguments: Vec<String>,
    /// Whether it is in a block, for typing as it is; in a sentence it may be only a beginning.
    pub(crate) is_whole: bool,
    /// The place of the block in which it is.
    pub(crate) block: String,
    /// The first line that it prints, by the page: after `# -> ` on the line below it, or below a line
    /// that begins with `$`.
    pub(crate) answer: Option<String>,
    /// The first line of the text below the block, which one of the block's commands prints.
    pub(crate) text_below: Option<String>,
}

/// Whether a printed line is what a page says: the same words, and numbers within this share of each
/// other. Intervals, which stand in parentheses, differ each time; a number after *at most* is a
/// bound; `...` is any rest.
pub(crate) fn is_answer(page: &str, printed: &str, tolerance: f64) -> bool {
    let is_begin = page.ends_with("...");
    let (page, mut printed) = (quantities(page.trim_end_matches("...")), quantities(printed));
    if is_begin {
        printed.truncate(page.len());
    }
    page.len() == printed.len()
        && page.iter().zip(&printed).enumerate().all(|(place, (page_word, printed_word))| {
            let is_bound = place > 0 && page[place - 1].0 == "most";
            match (page_word.1, printed_word.1) {
                (Some(bound), Some(number)) if is_bound => number <= bound,
                (Some(one), Some(other)) => (one - other).abs() <= tolerance * one.abs(),
                (None, None) => page_word.0 == printed_word.0,
                _ => false,
            }
        })
}

/// The words of a line, numbers in basic units, without what is in parentheses.
fn quantities(line: &str) -> Vec<(String, Option<f64>)> {
    let mut words: Vec<(String, Option<f64>)> = Vec::new();
    let pieces = line.split(['(', ')']).step_by(2).flat_map(str::split_whitespace);
    for word in pieces.map(|word| word.trim_end_matches([',', ';', ':'])) {
        let unit = btu_units::unit_called(word);
        match (unit, words.last_mut()) {
            (Some(unit), Some((_, Some(number)))) => *number *= unit.worth,
            _ if word.is_empty() => {}
            _ => words.push((word.to_owned(), word.parse().ok())),
        }
    }
    words
}

/// The pages with command lines: README and all of docs.
pub(crate) fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs"))
        .expect("docs")
        .filter_map(|entry| Some(entry.ok()?.path()));
    let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut all: Vec<PathBuf> =
        pages.chain(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name))).collect();
    all.sort();
    all
}

/// The commands of every page, in their order.
pub(crate) fn commands() -> Vec<Written> {
    let of = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a page");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        commands_of(&name, &text)
    };
    documents().into_iter().flat_map(of).collect()
}

/// Those in blocks of a console, and those in code in a sentence or on an indented line.
pub(crate) fn commands_of(name: &str, text: &str) -> Vec<Written> {
    let mut found: Vec<Written> = Vec::new();
    let (mut fence, mut is_console) = (false, false);
    let mut block = String::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let place = format!("{name}:{}", number + 1);
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = !fence;
            is_console = fence && ["console", "sh", "bash", ""].contains(&language.trim());
            if fence && language == "text" {
                let below = lines.peek().map(|(_, below)| (*below).to_owned());
                let above = found.iter_mut().filter(|one| one.is_whole && one.block == block);
                above.for_each(|command| command.text_below.clone_from(&below));
            }
            if is_console {
                block = place;
            }
            continue;
        }
        if fence && is_console {
            let mut whole = line.to_owned();
            while let Some(begun) = whole.strip_suffix('\\') {
                let next = lines.next().map_or("", |(_, next)| next.trim_start());
                whole = format!("{begun}{next}");
            }
            found.extend(commands_in(&place, &whole, true));
            let below = lines.peek().map_or("", |(_, below)| *below);
            let is_printed = line.starts_with("$ ") && !below.starts_with('$');
            let answer = below.strip_prefix("# -> ").or(is_printed.then_some(below));
            if let (Some(answer), Some(command)) = (answer, found.last_mut()) {
                command.answer = Some(answer.to_owned());
            }
            let new = found.iter_mut().rev().take_while(|command| command.place == place);
            new.for_each(|command| command.block.clone_from(&block));
        } else if !fence && line.starts_with("    btu ") {
            found.extend(commands_in(&place, line.trim_start(), true));
        } else if !fence {
            // Every second piece between backquotes is code.
            found.extend(
                line.split('`')
                    .skip(1)
                    .step_by(2)
                    .flat_map(|code| commands_in(&place, code, false)),
            );
        }
    }
    found
}

/// The commands of a help text, each on a line with its purpose next to it.
pub(crate) fn commands_of_help(name: &str, text: &str) -> Vec<Written> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("  btu ") {
            continue;
        }
        let mut whole = line.trim_start().to_owned();
        while let Some(begun) = whole.strip_suffix('\\') {
            whole = format!("{begun}{}", lines.next().unwrap_or_default().trim_start());
        }
        // The purpose is behind two blanks or more.
        let command = whole.split("  ").next().unwrap_or_default();
        found.extend(commands_in(&format!("help of {name}"), command, true));
    }
    found
}

/// Commands that measure on this machine, in stations of networks; another program's part begins
/// behind `--`.
pub(crate) fn measures_here(written: &Written) -> bool {
    let words: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let is_elsewhere = |word: &&str| ELSEWHERE.contains(word) || word.contains(".toml");
    let is_pair = words.contains(&"--network") && words.contains(&"--from");
    let study = words.first().copied().unwrap_or_default();
    let others = words.iter().filter(|word| !(is_pair && **word == "--to")).any(is_elsewhere);
    written.is_whole
        && !others
        && ["rate", "pipe", "fleet", "app", "copy", "lan", "speed"].contains(&study)
}

/// What these tests cannot have: other hosts, mounted shares, a terminal, a reader's own files and
/// programs, an earlier run.
const ELSEWHERE: [&str; 16] = [
    "--ssh",
    "--hosts",
    "--iperf3",
    "--rpm",
    "--rpm-server",
    "--stamp",
    "--stamp-reflector",
    "--identity",
    "--to",
    "--at",
    "--trace",
    "--watch",
    "--x11",
    "--resume",
    "--verify",
    "--",
];

/// The commands of a line that a shell would start.
fn commands_in(place: &str, line: &str, is_whole: bool) -> Vec<Written> {
    let mut commands = vec![Vec::new()];
    for word in words(line) {
        match word {
            Word::End => commands.push(Vec::new()),
            Word::Text(text) => {
                commands.last_mut().into_iter().for_each(|command| command.push(text.clone()));
            }
        }
    }
    let btu = |mut words: Vec<String>| {
        let is_before = |word: &String| {
            word == "sudo"
                || word == "$"
                || word == "time"
                || (word.contains('=') && !word.starts_with('-'))
        };
        words.drain(..words.iter().take_while(|word| is_before(word)).count());
        let cargo = ["cargo", "run", "--release", "--"].map(str::to_owned);
        let rest = words
            .strip_prefix(&cargo[..])
            .or_else(|| words.strip_prefix(&["btu".to_owned()][..]))?;
        // `btu ...` means any command.
        let is_any = rest.first().is_some_and(|word| word == "...");
        (!is_any).then(|| Written {
            place: place.to_owned(),
            arguments: rest.to_vec(),
            is_whole,
            block: String::new(),
            answer: None,
            text_below: None,
        })
    };
    commands.into_iter().filter_map(btu).collect()
}

enum Word {
    Text(String),
    /// Where the shell ends a command.
    End,
}

/// Words as a shell takes them: quotation marks, comments, and what ends a command or goes
/// elsewhere.
fn words(line: &str) -> Vec<Word> {
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut skip_next = false;
    let mut letters = line.chars().peekable();
    let mut push = |word: &mut Option<String>, all: &mut Vec<Word>| {
        if let Some(text) = word.take() {
            if skip_next {
                skip_next = false;
            } else if text == ">" || text == "<" || text == ">>" {
                skip_next = true;
            } else {
                all.push(Word::Text(text));
            }
        }
    };
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (mark, Some(open)) if mark == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (' ', None) => push(&mut word, &mut all),
            ('#', None) if word.is_none() => break,
            (';' | '|' | '&', None) => {
                push(&mut word, &mut all);
                all.push(Word::End);
                while letters.next_if(|next| ";|&".contains(*next)).is_some() {}
            }
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    push(&mut word, &mut all);
    all
}
