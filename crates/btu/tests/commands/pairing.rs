//! `btu hosts agent --pair`: a code for one command, and a clear error for the second.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An agent that shows a code, with its address and the code.
fn agent(directory: &Path) -> (Agent, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command
        .args(["agent", "--pair", "--listen", "127.0.0.1:0"])
        .env("BTU_DATA", directory)
        .env_remove("NOTIFY_SOCKET");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("btu");
    let first = |stream: Box<dyn std::io::Read + Send>, before: &str| {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let line = lines
            .find(|line| line.contains(before))
            .unwrap_or_else(|| panic!("{before} never came"));
        // The rest must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        line.split(before)
            .nth(1)
            .expect("what follows")
            .split([',', ' '])
            .next()
            .expect("a word")
            .to_owned()
    };
    let (out, err) =
        (child.stdout.take().expect("its output"), child.stderr.take().expect("its log"));
    let address = first(Box::new(err), "listening on ");
    let code = first(Box::new(out), "pairing code ");
    (Agent(child), address, code)
}

fn pipe(directory: &Path, address: &str, code: &str) -> Output {
    let to = format!("beta={address}@127.0.0.1");
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.args([
        "pipe",
        "--to",
        &to,
        "--pair",
        "beta",
        "--sizes",
        "1",
        "--trials",
        "1",
        "--target-time",
        "1 ms",
        "--quiet",
    ]);
    command
        .env("BTU_DATA", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("btu");
    writeln!(child.stdin.take().expect("its input"), "{code}").expect("the code is read");
    child.wait_with_output().expect("btu")
}

/// The code is valid for one command; a second use gets an error with advice.
#[test]
fn b8_a_code_that_is_used_up_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let (_agent, address, code) = agent(directory.path());
    let first = pipe(directory.path(), &address, &code);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(String::from_utf8_lossy(&first.stdout).starts_with("Signature of TCP"), "{first:?}");
    let second = pipe(directory.path(), &address, &code);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.lines().count() == 1, "{said}");
    assert!(
        said.contains("was used already") && said.contains("start the agent again for a new one"),
        "{said}"
    );
}

/// Every user can see a command line in `ps`. So a secret on a command line is refused, and no
/// error message repeats it.
#[test]
fn secrets_are_not_taken_from_a_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    let output = command
        .args(["pipe", "--to", "beta=192.0.2.1", "--pair", "beta=K7QF-9M2R"])
        .env("BTU_DATA", directory.path())
        .output()
        .expect("btu");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("every user of this machine can read its command lines"), "{said}");
    assert!(said.contains("HOST=@FILE") && !said.contains("K7QF"), "{said}");
}

/// Several codes are lines of standard input, in the order of their hosts.
#[test]
fn codes_are_read_line_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.args(["hosts", "check", "lab.toml", "--quiet", "--pair", "alpha", "--pair", "beta"]);
    let inventory =
        "[hosts.alpha]\ncontrol = \"127.0.0.1:9\"\n[hosts.beta]\ncontrol = \"127.0.0.1:9\"\n";
    std::fs::write(directory.path().join("lab.toml"), inventory).expect("an inventory");
    command.current_dir(directory.path()).env("BTU_DATA", directory.path());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("btu starts");
    writeln!(child.stdin.take().expect("its input"), "not a code").expect("a line is read");
    let output = child.wait_with_output().expect("btu");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("btu: --pair alpha: ") && !said.contains("not a code\n"), "{said}");
}
