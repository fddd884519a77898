//! Commands that messages tell the user to type: a shell reads them correctly for any name or path.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::text;

/// Characters that a shell would act on; all are allowed in a tag or in the name of a file.
const HOSTILE: &str = "$(touch>hit);it's&`id`";
/// Like `HOSTILE`, with a blank, which a tag cannot have.
const HOSTILE_PATH: &str = "a $(touch hit);it's&`id`";

/// The words that a shell makes of a command. It runs none of them.
fn words(command: &str) -> Vec<String> {
    let checked = Command::new("sh").args(["-n", "-c", command]).output().unwrap();
    assert!(
        checked.status.success() && checked.stderr.is_empty(),
        "{command}: {}",
        text(&checked.stderr)
    );
    let script = format!("set -- {command}; printf '%s\\0' \"$@\"");
    let split = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(
        split.status.success() && split.stderr.is_empty(),
        "{command}: {}",
        text(&split.stderr)
    );
    text(&split.stdout).split_terminator('\0').map(str::to_owned).collect()
}

/// The text from `start`, included, to `end`, excluded.
fn command(said: &str, start: &str, end: &str) -> String {
    let from = said.find(start).unwrap_or_else(|| panic!("no `{start}` in: {said}"));
    let rest = &said[from..];
    // The last one: a name may contain this character.
    let to = rest.rfind(end).unwrap_or_else(|| panic!("no `{end}` after `{start}` in: {said}"));
    rest[..to].to_owned()
}

fn btu(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.args(arguments).current_dir(home).env("HOME", home).env("BTU_DATA", home);
    command.env_remove("XDG_CONFIG_HOME").output().expect("btu runs")
}

/// The one line of a command that is refused.
fn refusal(home: &Path, arguments: &[&str]) -> String {
    let output = btu(home, arguments);
    assert!(!output.status.success(), "{arguments:?}");
    text(&output.stderr)
}

#[test]
fn a_tag_that_no_run_has() {
    let home = tempfile::tempdir().unwrap();
    let said = refusal(home.path(), &["compare", &format!("tag:{HOSTILE}"), "r1"]);
    assert_eq!(
        words(&command(&said, "btu runs tag", "`\n")),
        ["btu", "runs", "tag", "RUN", HOSTILE]
    );
    let said = text(&btu(home.path(), &["runs", "--tag", HOSTILE]).stdout);
    assert_eq!(
        words(&command(&said, "btu runs tag", "` gives it")),
        ["btu", "runs", "tag", "RUN", HOSTILE]
    );
    assert!(!home.path().join("hit").exists());
}

#[test]
fn a_station_that_a_network_file_does_not_have() {
    let home = tempfile::tempdir().unwrap();
    let file = format!("{HOSTILE_PATH}.toml");
    fs::write(home.path().join(&file), btu_network::library_text("satellite").unwrap()).unwrap();
    for arguments in [
        ["rate", "--network", &file, "--test", "moon"],
        ["pipe", "--network", &file, "--to", "moon"],
        ["app", "--network", &file, "--application", "moon"],
    ] {
        let said = refusal(home.path(), &arguments);
        assert_eq!(
            words(&command(&said, "btu net", "`\n")),
            ["btu", "net", "check", &file],
            "{arguments:?}"
        );
    }
    assert!(!home.path().join("hit").exists());
}

#[test]
fn an_identity_that_others_can_read() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(format!("{HOSTILE_PATH}.pem"));
    fs::write(&file, "a key\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let inventory = home.path().join("lab.toml");
    fs::write(&inventory, "[hosts.alpha]\ncontrol = \"127.0.0.1:9\"\n").unwrap();
    let [file, inventory] = [file, inventory].map(|path| path.display().to_string());
    let said = refusal(home.path(), &["hosts", "check", &inventory, "--identity", &file]);
    assert_eq!(words(&command(&said, "chmod 600", "`, and start")), ["chmod", "600", &file]);
    assert!(!home.path().join("hit").exists());
}

/// Errors repeat what peers, files and arguments say.
#[test]
fn no_error_controls_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("net.toml");
    fs::write(&file, "name = \"x\"\n[stations.\"\u{9b}2J\u{202e}\"]\n").unwrap();
    for network in ["\u{1b}[2Jnone", file.to_str().unwrap()] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command.args(["rate", "--network", network]).env("BTU_DATA", directory.path());
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said:?}");
        let controls = |letter: char| letter != '\n' && btu_units::controls(letter);
        assert!(!said.contains(controls), "{said:?}");
    }
}
