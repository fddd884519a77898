//! An authority, a certificate for an agent, and its revocation: `cargo run -p btu-control
//! --example authority`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use std::error::Error;

use btu_control::trust::{Authority, Choice, Role};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut authority = Authority::create(&directory.path().join("authority"))?;
    authority.issue("lab-3", Role::Agent, 30, &directory.path().join("lab-3"))?;
    println!("{} has issued {} certificate", authority.name(), authority.issued().len());
    let gone = authority.revoke(&Choice { name: "lab-3".to_owned(), role: None, serial: None })?;
    println!("{} is revoked, by list {}", gone.len(), authority.list_number());
    Ok(())
}
