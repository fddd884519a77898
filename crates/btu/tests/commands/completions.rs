//! Completions of bash and zsh, tested in a pseudo-terminal: the output for a user who presses the
//! tabulator key.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use btu_contract::network::Network;
use btu_contract::pipe::Kind;
use btu_studies::rate::{Component, Plan, Profile};

use crate::shelf::Shelf;
use crate::support::lab_skipped;

/// Long enough for a busy machine; nothing here waits for time to pass.
const LIMIT: Duration = Duration::from_mins(1);

/// A shell in a terminal of its own, by script(1) of util-linux.
struct Terminal {
    shell: Child,
    seen: mpsc::Receiver<Vec<u8>>,
    all: String,
}

impl Terminal {
    /// `shell` with these variables; the program under test is `btu` in its path.
    fn open(shell: &str, directory: &Path, data: &Path) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_btu"))
            .parent()
            .expect("a directory")
            .display()
            .to_string();
        let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--command", shell, "/dev/null"])
            .current_dir(directory);
        command
            .env("PATH", path)
            .env("BTU_DATA", data)
            .env("TERM", "dumb")
            .env("PS1", "> ")
            .env("HOME", directory);
        let mut shell = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("script(1) runs");
        let mut out = shell.stdout.take().expect("its output");
        let (send, seen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { shell, seen, all: String::new() }
    }

    fn type_in(&mut self, keys: &str) {
        self.shell
            .stdin
            .as_mut()
            .expect("its input")
            .write_all(keys.as_bytes())
            .expect("the shell reads");
    }

    /// Waits until every one of `words` was printed after this call; returns the whole output.
    fn wait_for(&mut self, words: &[&str]) -> String {
        let began = Instant::now();
        loop {
            if words.iter().all(|word| self.all.contains(word)) {
                return std::mem::take(&mut self.all);
            }
            let left = LIMIT.saturating_sub(began.elapsed());
            let Ok(bytes) = self.seen.recv_timeout(left) else {
                panic!("{words:?} never came; seen: {}", self.all);
            };
            self.all += &String::from_utf8_lossy(&bytes);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Whether a shell cannot be tested here; prints the reason.
fn is_skipped(shell: &str) -> bool {
    let is_lacking = !is_there("script") || !is_there(shell);
    if is_lacking {
        lab_skipped(&format!("script(1) and {shell} are needed"));
    }
    is_lacking
}

fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The completions of some command lines that end in the tabulator key.
const OFFERED: [(&str, &[&str]); 17] = [
    ("btu rate --component 2x", &["2xRECV+DL", "2xSEND+DR"]),
    ("btu rate --network home-", &["home-bloated", "home-fq-codel"]),
    ("btu pipe --transport unix-s", &["unix-stream", "unix-seqpacket"]),
    ("btu show ", &["latest", "r1", "r2"]),
    ("btu rate --network home-bloated --test ", &["laptop", "phone", "server"]),
    ("btu speed --network home-bloated --from ", &["laptop", "phone", "server"]),
    ("btu model home-", &["home-bloated", "home-fq-codel"]),
    ("btu sim home-", &["home-bloated", "home-fq-codel"]),
    ("btu model --network home-", &["home-bloated", "home-fq-codel"]),
    ("btu sim --network home-", &["home-bloated", "home-fq-codel"]),
    ("btu net run home-", &["home-bloated", "home-fq-codel"]),
    ("btu compare r", &["r1", "r2"]),
    ("btu app --transport t", &["tcp-nagle", "tls"]),
    ("btu app --protocol b", &["batched", "bitmap"]),
    ("btu copy --program s", &["scp", "sftp"]),
    ("btu lan --task wp-load", &["wp-load-program", "wp-load-document"]),
    ("btu lan --pattern m", &["mixed", "metadata"]),
];

fn try_in(program: &str, start: &str) {
    let mut shelf = Shelf::new();
    let plan = Plan::whole(7, Profile::quick(), Network::Veth);
    shelf.run(&plan, &[9.0, 9.1, 9.2]);
    shelf.run(&plan, &[9.0, 9.1, 9.2]);
    let mut terminal = Terminal::open(program, &shelf.path("."), &shelf.path("."));
    terminal.type_in(&format!("{start}; echo rea''dy\n"));
    terminal.wait_for(&["ready"]);
    for (line, words) in OFFERED {
        terminal.type_in(&format!("{line}\t\t"));
        let seen = terminal.wait_for(words);
        assert!(!seen.contains("internal"), "{program}, {line}: {seen}");
        // The line is discarded.
        terminal.type_in("\x15echo ne''xt\n");
        terminal.wait_for(&["next"]);
    }
    terminal.type_in("btu \t\t");
    let seen = terminal.wait_for(&["speed", "rate", "hosts"]);
    assert!(!seen.contains("internal"), "{program}: {seen}");
}

#[test]
fn bash_knows_names_that_only_btu_knows() {
    if is_skipped("bash") {
        return;
    }
    try_in(
        "bash --norc --noprofile",
        "bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; source <(btu completions bash)",
    );
}

#[test]
fn zsh_knows_names_that_only_btu_knows() {
    if is_skipped("zsh") {
        return;
    }
    try_in(
        "zsh -f -i",
        "PROMPT='> '; unsetopt menu_complete auto_menu; setopt auto_list; zstyle ':completion:*' list-prompt ''; autoload -U compinit; compinit -u; source <(btu completions zsh)",
    );
}

/// The options' own text has them, without the examples at the end.
#[test]
fn help_names_components_and_transports() {
    let shelf = Shelf::new();
    let help = |command: &str| {
        let (code, text, _) = shelf.btu(&[command, "--help"]);
        assert_eq!(code, Some(0));
        let options = text.split("Examples:").next().unwrap_or_default();
        options.split_whitespace().collect::<String>()
    };
    let (rate, pipe) = (help("rate"), help("pipe"));
    for component in Component::RATED.into_iter().chain(Component::FURTHER) {
        assert!(rate.contains(component.name()), "{component}: {rate}");
    }
    for kind in Kind::ALL {
        assert!(pipe.contains(kind.name()), "{}: {pipe}", kind.name());
    }
}
