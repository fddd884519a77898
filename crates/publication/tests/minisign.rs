//! Keys and signatures next to minisign itself.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use btu_publication::{PublicKey, SigningKey};

/// Whether minisign accepts these arguments; `None` if it is not installed.
fn minisign(directory: &Path, arguments: &[&str]) -> Option<bool> {
    let mut command = Command::new("minisign");
    command.current_dir(directory).args(arguments).stdin(Stdio::null());
    match command.output() {
        Ok(output) => Some(output.status.success()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "minisign is missing");
            eprintln!("LAB SKIPPED: minisign is not installed");
            None
        }
        Err(error) => panic!("minisign: {error}"),
    }
}

#[test]
fn minisign_verifies_what_btu_signs() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SigningKey::new().unwrap();
    fs::write(directory.join("text"), "some lines\n").unwrap();
    fs::write(directory.join("text.minisig"), key.sign("some lines\n").unwrap()).unwrap();
    fs::write(directory.join("key.pub"), key.public().unwrap().file()).unwrap();
    let verify = ["-V", "-q", "-p", "key.pub", "-m", "text"];
    let Some(accepted) = minisign(directory, &verify) else { return };
    assert!(accepted);
    fs::write(directory.join("text"), "other lines\n").unwrap();
    assert_eq!(minisign(directory, &verify), Some(false));
}

#[test]
fn minisign_signs_with_keys_of_btu_and_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let read = |name| fs::read_to_string(directory.join(name)).unwrap();
    let Some(done) = minisign(directory, &["-G", "-W", "-p", "its.pub", "-s", "its.key"]) else {
        return;
    };
    assert!(done);
    let key = SigningKey::new().unwrap();
    fs::write(directory.join("btu.key"), key.file()).unwrap();
    fs::write(directory.join("btu.pub"), key.public().unwrap().file()).unwrap();
    fs::write(directory.join("text"), "some lines\n").unwrap();
    for (secret, public) in [("its.key", "its.pub"), ("btu.key", "btu.pub")] {
        assert_eq!(minisign(directory, &["-S", "-s", secret, "-m", "text"]), Some(true));
        let public: PublicKey = read(public).parse().unwrap();
        public.verify("some lines\n", &read("text.minisig")).unwrap();
        assert!(public.verify("other lines\n", &read("text.minisig")).is_err());
    }
}
