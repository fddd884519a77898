//! The requirements for reaching hosts: an identity, the OpenSSH client, and the program that btu copies.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use btu_control::controller::{Access, Launch, Program};
use btu_control::trust::Identity;
use btu_units::Span;

use crate::cli::Reaching;

/// Reads the files that the options name; a lost host is called again for this time.
pub(super) fn access(
    reaching: &Reaching,
    launch: Option<Arc<Launch>>,
    reconnect_timeout: Span,
) -> anyhow::Result<Access> {
    let executable = std::env::current_exe().context("finding this program's own file")?;
    let binary = reaching.ssh_binary.clone().unwrap_or_else(|| executable.clone());
    Ok(Access {
        identity: reaching.identity.as_deref().map(Identity::load).transpose()?,
        launch,
        ssh_program: reaching.ssh_program.clone(),
        binary: Program::at(binary),
        executable,
        controller: controller(),
        timeout: Duration::from(reconnect_timeout),
    })
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
