//! The option that chooses the congestion control of the stations of a raised network.

use btu_contract::congestion::CongestionControl;
use clap::Args;

use crate::exit::Refusal;

/// Directory with the kernel's lists of congestion controls: all that it has, and those that
/// namespaces other than the host's may use (Documentation/networking/ip-sysctl.rst).
const SETTINGS: &str = "/proc/sys/net/ipv4";

/// The option of every command that raises a network for itself.
#[derive(Debug, Args)]
pub(crate) struct Congestion {
    /// Congestion control of TCP in the network's stations, such as reno or bbr [default: this
    /// machine's own]; btu run compares several
    #[arg(long, short = 'C', value_name = "NAME", value_delimiter = ',')]
    congestion_control: Vec<CongestionControl>,
}

impl Congestion {
    /// The one congestion control that the option names, if stations may use it.
    pub(crate) fn checked(&self) -> Result<Option<CongestionControl>, Refusal> {
        match self.congestion_control.as_slice() {
            [] => Ok(None),
            [asked] => check(asked, "--congestion-control: ").map(|()| Some(asked.clone())),
            _ => {
                let problem = "--congestion-control: name one; `btu run -C reno,bbr -- COMMAND` compares several";
                Err(Refusal::Usage(problem.to_owned()))
            }
        }
    }

    /// The congestion controls that are to be compared; empty where fewer than two are named.
    pub(crate) fn compared(&self) -> &[CongestionControl] {
        if self.congestion_control.len() > 1 { &self.congestion_control } else { &[] }
    }

    /// Refuses the option if no network is raised.
    pub(crate) fn refused(&self) -> Result<(), Refusal> {
        let problem = "--congestion-control applies to a network that btu starts for the run; elsewhere btu measures with the \
                       system's own (sysctl net.ipv4.tcp_congestion_control)";
        if self.congestion_control.is_empty() {
            return Ok(());
        }
        Err(Refusal::Usage(problem.to_owned()))
    }
}

/// Those of a list of the kernel: `available` or `allowed`; empty where it has none.
fn listed(name: &str) -> Vec<String> {
    let list = std::fs::read_to_string(format!("{SETTINGS}/tcp_{name}_congestion_control"));
    list.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The congestion controls that stations may use on this machine.
pub(crate) fn allowed() -> Vec<String> {
    listed("allowed")
}

/// Whether stations can use it; `place` begins the reason if not.
pub(crate) fn check(asked: &CongestionControl, place: &str) -> Result<(), Refusal> {
    let (available, allowed) = (listed("available"), allowed());
    let has = |list: &[String]| list.iter().any(|name| name == asked.as_str());
    // If the kernel does not list them, the check happens when the network is raised.
    if !available.is_empty() && !has(&available) {
        let names = available.join(", ");
        return Err(Refusal::Usage(format!(
            "{place}this kernel has no {asked}; it has {names} (perhaps more: modprobe tcp_{asked})"
        )));
    }
    if !allowed.is_empty() && !has(&allowed) {
        let (names, all) = (allowed.join(", "), allowed.join(" "));
        return Err(Refusal::Machine(format!(
            "{place}stations may not use {asked} on this machine, only {names}; as root: sysctl -w \
             net.ipv4.tcp_allowed_congestion_control='{all} {asked}'"
        )));
    }
    Ok(())
}
