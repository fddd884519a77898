//! A copy by the system's own scp or sftp, to the system's own sshd.
//!
//! Nothing of it is installed and no account is needed: the server accepts connections itself and
//! gives each to an `sshd -i` that runs as an account of the system's in a user namespace of its
//! own (`user_namespaces`(7)), knows one key, and may do nothing but SFTP in the directory of one
//! process's open files. So the file has no name on any disk, and neither have the keys, which both
//! ends make from the token.
//!
//! | end | what is known of its marks |
//! |---|---|
//! | client | let in: when ssh says so; first and last byte of a file that is put: when it was let in, and when the program ended |
//! | server | let in: when sshd says so; of a file that is taken: when its first bytes were there, and all, looked at every 2 ms; of one that is given: when it let the client in, and when sshd ended |
//!
//! Neither scp nor sftp says when a file is durable. So who has put one makes another connection,
//! with the token, on which the server says that it is: three round trips, as by the bare program.

mod client;
mod key;
mod log;
mod server;

pub(super) use client::SshClient;
pub(super) use server::SshServer;

use std::path::PathBuf;
use std::process::Command;

use nix::unistd::User;

use crate::LoadError;

/// Number of the descriptor that is the file, in the process whose open files are served: its name
/// there.
const NAME: u8 = 5;

/// Where programs of the superuser may be that are not in an ordinary user's path.
const BEYOND_PATH: &str = "/usr/sbin:/sbin:/usr/local/sbin";

/// Accounts of every system that belong to no person; one of them is who sshd runs as, in its own
/// user namespace, and whom it lets in. `nobody` is not among them: where an ordinary user may not
/// read the passwords, systemd's name service answers for it, and says that it is locked
/// (nss-systemd(8)).
const ACCOUNTS: [&str; 3] = ["daemon", "bin", "sys"];

/// The first of these that this system has.
fn account() -> Result<User, LoadError> {
    let mut found = ACCOUNTS.iter().filter_map(|name| User::from_name(name).ok().flatten());
    found.next().ok_or_else(|| LoadError::Program {
        program: "sshd",
        problem: format!(
            "it lets in one of the accounts {}, and this system has none of them",
            ACCOUNTS.join(", ")
        ),
    })
}

/// Finds a program of the system.
fn find(program: &'static str) -> Result<PathBuf, LoadError> {
    let path = std::env::var("PATH").unwrap_or_default();
    let directories = path
        .split(':')
        .chain(BEYOND_PATH.split(':'))
        .filter(|directory| directory.starts_with('/'));
    let found = directories
        .map(|directory| PathBuf::from(directory).join(program))
        .find(|file| file.is_file());
    found.ok_or_else(|| LoadError::Program {
        program,
        problem:
            "this system does not have it; scp and sftp are copied by OpenSSH's client and server, beside util-linux: \
                  install them, or leave these programs out"
                .to_owned(),
    })
}

/// The first program that copying by the system's scp and sftp takes and this system does not have.
pub fn missing_for_ssh() -> Option<&'static str> {
    ["scp", "sftp", "sshd", "setpriv", "unshare"].into_iter().find(|program| find(program).is_err())
}

/// A command that ends when this process does, and reads nothing.
fn ending_with_us(program: &'static str) -> Result<Command, LoadError> {
    let mut command = Command::new(find("setpriv")?);
    command.args(["--pdeathsig", "KILL", "--"]).arg(find(program)?);
    Ok(command)
}
