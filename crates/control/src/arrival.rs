//! The line with which an agent tells its launcher where it listens, and what an agent knows of the
//! job that it was started in.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::str::FromStr;

use btu_network::HostName;
use nix::ifaddrs::getifaddrs;

use crate::trust::{BundleLimits, MOST_AGENTS};

/// Where the agent with this index listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its index in the job, from 0.
    pub index: usize,
    /// The address at which it is reached and measured.
    pub address: IpAddr,
    /// The port on which it listens.
    pub port: u16,
    /// The name of its node.
    pub node: HostName,
    /// The number of agents in the job, if the launcher says it.
    pub agents: Option<usize>,
}

/// Its first word: launchers put other things before it.
const WORD: &str = "btu-agent ";

/// Stands for an unknown number.
const UNKNOWN: &str = "-";

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, address, port, node, agents } = self;
        let agents = agents.map_or_else(|| UNKNOWN.to_owned(), |agents| agents.to_string());
        write!(f, "{WORD}{index} {address} {port} {node} {agents}")
    }
}

impl FromStr for Arrival {
    type Err = ();

    /// Reads it from a line of a launcher's output.
    fn from_str(line: &str) -> Result<Self, ()> {
        let (_, words) = line.split_once(WORD).ok_or(())?;
        let [index, address, port, node, agents] =
            words.split_whitespace().collect::<Vec<_>>().try_into().map_err(|_| ())?;
        let index = index.parse().ok().filter(|index| *index < MOST_AGENTS).ok_or(())?;
        let agents = match agents {
            UNKNOWN => None,
            number => Some(number.parse().map_err(|_| ())?),
        };
        Ok(Self {
            index,
            address: address.parse().map_err(|_| ())?,
            port: port.parse().map_err(|_| ())?,
            node: HostName::try_from(node).map_err(|_| ())?,
            agents,
        })
    }
}

/// The variables of launchers for the index of a process and for their number. MPI's come first:
/// its own helpers may have been started by Slurm, and then every process of a node has the index
/// of its helper. Kubernetes says no number.
const INDICES: [(&str, Option<&str>); 5] = [
    ("OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    ("PMI_RANK", Some("PMI_SIZE")),
    ("PMIX_RANK", Some("SLURM_STEP_NUM_TASKS")),
    ("SLURM_PROCID", Some("SLURM_STEP_NUM_TASKS")),
    ("JOB_COMPLETION_INDEX", None),
];

/// The variables of schedulers for the name of this node.
const NODES: [&str; 2] = ["SLURMD_NODENAME", "NODE_NAME"];

/// The index of this process in its job, and the number of processes, by the environment variables
/// that `variable` looks up.
pub fn index(variable: impl Fn(&str) -> Option<String>) -> Option<(usize, Option<usize>)> {
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    INDICES.iter().find_map(|(index, agents)| Some((number(index)?, agents.and_then(number))))
}

/// The name that the scheduler gives this node, as a host's.
pub fn node(variable: impl Fn(&str) -> Option<String>) -> Option<HostName> {
    NODES.iter().find_map(|name| variable(name)).and_then(|name| label(&name))
}

/// The first label of a name, as a host's.
pub fn label(name: &str) -> Option<HostName> {
    let label = name.split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let label: String = label.chars().map(plain).take(63).collect();
    HostName::try_from(label.trim_matches('-').to_owned()).ok()
}

/// The address at which this agent is measured: its own in the measured network, else the one from
/// which packets leave for the controller, else any that other machines can use.
///
/// # Errors
/// It has none in that network, or none at all.
pub fn address(limits: &BundleLimits) -> Result<IpAddr, String> {
    let own = || own_addresses().unwrap_or_default().into_iter();
    if let Some(network) = limits.over {
        let found = own().find(|address| network.holds(*address));
        return found.ok_or_else(|| format!("this host has no address in {network} (--over)"));
    }
    let towards = limits.towards.iter().find_map(|controller| leaving_for(*controller).ok());
    let found = towards.or_else(|| own().next());
    found.ok_or_else(|| "this host has only loopback addresses".to_owned())
}

/// The addresses of this host that other machines can use, those of IPv4 first.
///
/// # Errors
/// The system does not list its interfaces.
pub fn own_addresses() -> io::Result<Vec<IpAddr>> {
    let of = |address: &nix::sys::socket::SockaddrStorage| {
        let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    };
    let addresses = getifaddrs()?.filter_map(|interface| of(&interface.address?));
    let is_usable = |address: &IpAddr| match address {
        IpAddr::V4(four) => !four.is_loopback() && !four.is_link_local(),
        IpAddr::V6(six) => !six.is_loopback() && !six.is_unicast_link_local(),
    };
    let mut addresses: Vec<IpAddr> = addresses.filter(is_usable).collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    Ok(addresses)
}

/// The address of this host from which packets leave for `other`. No packet is sent: the kernel
/// only looks up the route (connect(2)), and the port has no effect.
///
/// # Errors
/// There is no route.
pub fn leaving_for(other: IpAddr) -> io::Result<IpAddr> {
    let any = if other.is_ipv4() {
        IpAddr::from(Ipv4Addr::UNSPECIFIED)
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect((other, 9))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_launcher_may_put_anything_before_the_line() {
        let arrival = Arrival {
            index: 3,
            address: [10, 0, 0, 4].into(),
            port: 40123,
            node: HostName::try_from("n4").unwrap(),
            agents: Some(8),
        };
        let line = "btu-agent 3 10.0.0.4 40123 n4 8";
        assert_eq!(arrival.to_string(), line);
        for line in [line.to_owned(), format!("3: {line}"), format!("[1,3]<stdout>:{line}\r")] {
            assert_eq!(line.parse(), Ok(arrival.clone()), "{line}");
        }
        let alone = Arrival { agents: None, ..arrival };
        assert_eq!(alone.to_string().parse(), Ok(alone));
        for wrong in ["", "btu-agent", "btu-agent 256 10.0.0.4 1 a -", "btu-agent 1 x 1 a -"] {
            assert_eq!(wrong.parse::<Arrival>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn the_index_is_that_of_the_innermost_launcher() {
        let found = |variables: &[(&str, &str)]| {
            let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
            index(|name| variables.get(name).map(|value| (*value).to_owned()))
        };
        let slurm = [("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert_eq!(found(&slurm), Some((2, Some(4))));
        let mpi = [slurm.as_slice(), &[("PMI_RANK", "7"), ("PMI_SIZE", "8")]].concat();
        assert_eq!(found(&mpi), Some((7, Some(8))));
        assert_eq!(found(&[("JOB_COMPLETION_INDEX", "1")]), Some((1, None)));
        assert_eq!(found(&[("PMI_RANK", "x")]), None);
    }

    #[test]
    fn a_node_is_called_by_its_first_label() {
        let named = |name: &str| node(|_| Some(name.to_owned())).map(|name| name.to_string());
        assert_eq!(named("n7.cluster.example").as_deref(), Some("n7"));
        assert_eq!(named("Rack_3-").as_deref(), Some("Rack-3"));
        assert_eq!(named("..."), None);
    }

    proptest! {
        #[test]
        fn no_line_of_a_launcher_does_harm(line in "\\PC{0,80}") {
            let _ = line.parse::<Arrival>();
            let _ = format!("btu-agent {line}").parse::<Arrival>();
            let _ = label(&line);
        }
    }
}
