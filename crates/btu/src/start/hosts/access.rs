//! The requirements for reaching hosts: keys, the OpenSSH client, and the program that btu copies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use btu_control::coordinator::{Access, Keys, Launch, Program};
use btu_control::trust::{Identity, Pairing, Revocations};
use btu_units::Span;

use crate::cli::Reaching;
use crate::exit::Refusal;

/// Reads the files that the options name; a lost host is called again for this time.
pub(super) fn access(
    reaching: &Reaching,
    launch: Option<Arc<Launch>>,
    reconnect_timeout: Span,
) -> anyhow::Result<Access> {
    let executable = std::env::current_exe().context("finding this program's own file")?;
    let binary = reaching.ssh_binary.clone().unwrap_or_else(|| executable.clone());
    Ok(Access {
        keys: keys(reaching)?,
        launch,
        ssh_program: reaching.ssh_program.clone(),
        binary: Program::at(binary),
        executable,
        controller: controller(),
        timeout: Duration::from(reconnect_timeout),
    })
}

fn keys(reaching: &Reaching) -> anyhow::Result<Keys> {
    let identity = reaching.identity.as_deref().map(Identity::load).transpose()?;
    let revocations = reaching.revoked.as_deref().map(Revocations::load).transpose()?;
    let mut pairings = BTreeMap::new();
    for (host, code) in &reaching.pair {
        let refused = |why: &dyn std::fmt::Display| Refusal::Usage(format!("--pair {host}: {why}"));
        let code = code.read(&format!("pairing code of {host}")).map_err(|why| refused(&why))?;
        let pairing = Pairing::from_code(&code).map_err(|error| refused(&error))?;
        pairings.insert(host.clone(), pairing);
    }
    Ok(Keys { identity, revocations, pairings })
}

/// The name of this controller, which others see when the host is busy.
fn controller() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    format!(
        "{}@{}",
        user.as_deref().unwrap_or("unknown-user"),
        own_name().as_deref().unwrap_or("unknown-host")
    )
}

/// This machine's own name, if it has one.
pub(crate) fn own_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned)
}
