//! The option that chooses the congestion control of the stations of a raised network.

use btu_suite::congestion::CongestionControl;
use clap::Args;

use crate::exit::Refusal;

/// Directory with the kernel's lists of congestion controls: all that it has, and those that
/// namespaces other than the host's may use (Documentation/networking/ip-sysctl.rst).
const SETTINGS: &str = "/proc/sys/net/ipv4";

/// The option of every command that raises a network for itself.
#[derive(Debug, Args)]
pub(crate) struct Congestion {
    /// Congestion control of TCP in the network's stations, such as cubic or bbr [default: this
    /// machine's own]
    #[arg(long, short = 'C', value_name = "NAME")]
    congestion_control: Option<CongestionControl>,
}

impl Congestion {
    /// The congestion control that the option names, if this kernel has it.
    pub(crate) fn checked(&self) -> Result<Option<CongestionControl>, Refusal> {
        let Some(asked) = &self.congestion_control else { return Ok(None) };
        check(asked, "--congestion-control: ").map(|()| Some(asked.clone()))
    }

    /// Refuses the option if no network is raised.
    pub(crate) fn refused(&self) -> Result<(), Refusal> {
        let problem = "--congestion-control is that of a network that btu starts for the run; elsewhere the system's own is \
                       measured (sysctl net.ipv4.tcp_congestion_control)";
        self.congestion_control.as_ref().map_or(Ok(()), |_| Err(Refusal::Usage(problem.to_owned())))
    }
}

/// Whether stations can use it; `place` begins the reason if not.
pub(crate) fn check(asked: &CongestionControl, place: &str) -> Result<(), Refusal> {
    let list =
        |name: &str| std::fs::read_to_string(format!("{SETTINGS}/tcp_{name}_congestion_control"));
    let (available, allowed) =
        (list("available").unwrap_or_default(), list("allowed").unwrap_or_default());
    let has = |list: &str| list.split_whitespace().any(|name| name == asked.as_str());
    // If the kernel does not list them, the check happens when the network is raised.
    if !available.is_empty() && !has(&available) {
        let names = available.split_whitespace().collect::<Vec<_>>().join(", ");
        return Err(Refusal::Usage(format!(
            "{place}this kernel has no {asked}; it has {names} (perhaps more: modprobe tcp_{asked})"
        )));
    }
    if !allowed.is_empty() && !has(&allowed) {
        let all = format!("{} {asked}", allowed.trim());
        return Err(Refusal::Machine(format!(
            "{place}stations may not use {asked} on this machine; as root: sysctl -w \
             net.ipv4.tcp_allowed_congestion_control='{all}'"
        )));
    }
    Ok(())
}
