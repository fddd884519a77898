//! Where the kernel does the protocol work of frames that stations of one machine receive
//! (decision 0020).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose processors do the protocol work of received frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolWork {
    /// Those of the process that puts the frames on the cable, as the kernel has it for virtual
    /// interfaces: the sending program, or the emulator.
    #[default]
    Sender,
    /// Those of the station that receives them, as with interfaces of separate machines.
    Receiver,
}

impl ProtocolWork {
    /// All places, in the order of `--help`.
    pub const ALL: [Self; 2] = [Self::Receiver, Self::Sender];

    /// Whether the sender does the work of the receiver.
    pub const fn is_sender(&self) -> bool {
        matches!(self, Self::Sender)
    }

    /// Whether each station does its own.
    pub const fn is_receiver(&self) -> bool {
        matches!(self, Self::Receiver)
    }

    /// The value of `--protocol-work`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

impl fmt::Display for ProtocolWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "protocol work at the {}", self.name())
    }
}
