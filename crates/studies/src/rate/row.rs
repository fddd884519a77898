//! The smallest unit of measurement: a component with a message size under a load, once.

use std::fmt;

use btu_contract::load::Load;
use btu_contract::network::{HostRole, Impairment};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

/// The five message sizes of section 4.2 in bytes: database, 1 KB buffers, audio, disk block, bulk.
pub const MESSAGE_SIZES: [Bytes; 5] =
    [Bytes::new(100), Bytes::new(1024), Bytes::new(1250), Bytes::new(4096), Bytes::new(65536)];

btu_units::named! {
    /// A named network activity. The first six are BTU's components (1995, section 4.2) and make the
    /// rating.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Component {
        /// Test sends to active.
        #[serde(rename = "SEND")]
        Send = "SEND",
        /// Test receives from active.
        #[serde(rename = "RECV")]
        Recv = "RECV",
        /// Test sends to active, which delays incoming packets.
        #[serde(rename = "SEND+DL")]
        SendDelayed = "SEND+DL",
        /// Two connections with active, one each way.
        #[serde(rename = "SEND_RECV")]
        SendRecv = "SEND_RECV",
        /// Test receives from active and passive, which delay incoming packets.
        #[serde(rename = "2xRECV+DL")]
        TwoRecvDelayed = "2xRECV+DL",
        /// Test sends to active and passive, which drop incoming packets.
        #[serde(rename = "2xSEND+DR")]
        TwoSendDropped = "2xSEND+DR",
        /// Request and response over TCP; not part of the rating.
        #[serde(rename = "INTERACTIVE/TCP")]
        InteractiveTcp = "INTERACTIVE/TCP",
        /// Request and response over UDP; not part of the rating.
        #[serde(rename = "INTERACTIVE/UDP")]
        InteractiveUdp = "INTERACTIVE/UDP",
        /// A paced stream of datagrams from active to test; not part of the rating.
        #[serde(rename = "UDP")]
        Udp = "UDP",
    }
}

impl Component {
    /// The six of the rating, in the paper's order.
    pub const RATED: [Self; 6] = [
        Self::Send,
        Self::Recv,
        Self::SendDelayed,
        Self::SendRecv,
        Self::TwoRecvDelayed,
        Self::TwoSendDropped,
    ];

    /// The further rows outside the rating.
    pub const FURTHER: [Self; 3] = [Self::InteractiveTcp, Self::InteractiveUdp, Self::Udp];

    /// Whether the component counts in the rating.
    pub fn is_rated(self) -> bool {
        Self::RATED.contains(&self)
    }

    /// The bulk connections: (sender, receiver).
    pub const fn flows(self) -> &'static [(HostRole, HostRole)] {
        use HostRole::{Active, Passive, Test};
        match self {
            Self::Send | Self::SendDelayed | Self::InteractiveTcp | Self::InteractiveUdp => {
                &[(Test, Active)]
            }
            Self::Recv | Self::Udp => &[(Active, Test)],
            Self::SendRecv => &[(Test, Active), (Active, Test)],
            Self::TwoRecvDelayed => &[(Active, Test), (Passive, Test)],
            Self::TwoSendDropped => &[(Test, Active), (Test, Passive)],
        }
    }

    /// The peers' impairment of incoming packets.
    pub const fn impairment(self) -> Impairment {
        match self {
            Self::SendDelayed | Self::TwoRecvDelayed => Impairment::DL,
            Self::TwoSendDropped => Impairment::DR,
            _ => Impairment::NONE,
        }
    }
}

/// The row of a cell in the result; repetitions of a cell share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Row {
    /// A network activity, alone (`Load::Idle`) or with a host activity.
    Network {
        /// The component of the network activity.
        component: Component,
        /// One system call moves this much.
        #[serde(rename = "message_bytes")]
        message: Bytes,
        /// The host activity that runs at the same time.
        load: Load,
    },
    /// A host activity alone: the baseline of its penalty.
    Host {
        /// The host activity; never idle.
        load: Load,
    },
}

impl Row {
    /// A network activity alone.
    pub const fn idle(component: Component, message: Bytes) -> Self {
        Self::Network { component, message, load: Load::Idle }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network { component, message, load } => {
                write!(f, "{component} {} B, {load}", message.count())
            }
            Self::Host { load } => write!(f, "{load} alone"),
        }
    }
}
