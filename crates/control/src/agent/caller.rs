//! The identity of a caller, its entrance, and the addresses of its connection.

use std::net::IpAddr;

use tokio::net::TcpStream;

use super::impair::carriers_of;

/// The two ends of a control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connection {
    /// The IP address of this host on the control connection.
    pub(super) local: IpAddr,
    /// The controller's address, from which it has answered.
    pub(super) remote: IpAddr,
}

/// The identity of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(super) who: Who,
    /// `None` if the control connection does not cross a network, or if its ends are unknown.
    pub(super) connection: Option<Connection>,
}

/// The known facts about a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    /// A user of this machine: a process that can open the agent's Unix socket may use it anyway.
    Local,
    /// The user who started this process; ssh knows the user, and the process has no other callers.
    Starter,
    /// The controller of the job that this agent was started for.
    Job,
}

impl Connection {
    /// That of a socket; `None` if the system does not say its ends. An IPv4 address in IPv6 form is
    /// equal to the IPv4 address.
    fn of(socket: &TcpStream) -> Option<Self> {
        let [local, remote] = [socket.local_addr(), socket.peer_addr()]
            .map(|end| end.map(|end| end.ip().to_canonical()));
        Some(Self { local: local.ok()?, remote: remote.ok()? })
    }

    /// The connection of the ssh server that started this process: `SSH_CONNECTION` of ssh(1), the
    /// client's address and port and the server's.
    fn of_ssh() -> Option<Self> {
        Self::parse_ssh(&std::env::var("SSH_CONNECTION").ok()?)
    }

    fn parse_ssh(said: &str) -> Option<Self> {
        let [remote, _, local, _] = said.split(' ').collect::<Vec<_>>().try_into().ok()?;
        // A link-local address comes with the name of its interface.
        let address =
            |text: &str| Some(text.split('%').next()?.parse::<IpAddr>().ok()?.to_canonical());
        Some(Self { local: address(local)?, remote: address(remote)? })
    }
}

impl Caller {
    /// By a Unix socket.
    pub(super) const fn local() -> Self {
        Self { who: Who::Local, connection: None }
    }

    /// By standard input and output.
    pub(super) fn starter() -> Self {
        Self { who: Who::Starter, connection: Connection::of_ssh() }
    }

    /// By TLS, with a certificate of the agent's job.
    pub(super) fn of_job(socket: &TcpStream) -> Self {
        Self { who: Who::Job, connection: Connection::of(socket) }
    }

    pub(super) fn is_local(&self) -> bool {
        self.who == Who::Local
    }

    /// The interfaces over which the control connection comes: an empty list for a user of this
    /// machine; `None` if they are unknown, as for an agent by standard input and output that ssh
    /// did not start itself.
    pub(super) fn carriers(&self) -> Option<Vec<String>> {
        match (self.connection, &self.who) {
            (Some(connection), _) => Some(carriers_of(connection)),
            (None, Who::Local) => Some(Vec::new()),
            (None, Who::Starter | Who::Job) => None,
        }
    }

    /// Whether it has this machine's loopback network anyway: a user here, or one that came in over
    /// it.
    pub(super) fn has_loopback(&self) -> bool {
        match self.who {
            Who::Local | Who::Starter => true,
            Who::Job => self.connection.is_some_and(|connection| connection.remote.is_loopback()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_a_connection_that_nobody_told_of_is_not_known() {
        let of = |who| Caller { who, connection: None }.carriers();
        assert_eq!(of(Who::Local), Some(Vec::new()));
        assert_eq!((of(Who::Starter), of(Who::Job)), (None, None));
        let here = IpAddr::from([127, 0, 0, 1]);
        let over_ssh = Caller {
            who: Who::Starter,
            connection: Some(Connection { local: here, remote: here }),
        };
        assert_eq!(over_ssh.carriers(), Some(vec!["lo".to_owned()]));
    }

    #[test]
    fn ssh_says_where_it_comes_from() {
        let parsed = Connection::parse_ssh("192.0.2.9 51234 ::ffff:192.0.2.10 22").unwrap();
        assert_eq!(
            (parsed.remote, parsed.local),
            ("192.0.2.9".parse().unwrap(), "192.0.2.10".parse().unwrap())
        );
        let linked = Connection::parse_ssh("fe80::1%eth0 1 fe80::2%eth0 22").unwrap();
        assert_eq!(linked.remote, "fe80::1".parse::<IpAddr>().unwrap());
        for wrong in ["", "192.0.2.9", "a b c d", "192.0.2.9 1 192.0.2.10 22 5"] {
            assert_eq!(Connection::parse_ssh(wrong), None, "{wrong}");
        }
    }
}
