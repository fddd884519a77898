//! Who calls, and which way he came in.

use tonic::Request;

use crate::trust::Peer;

/// How a controller came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a Unix socket: whoever can open it may use this machine anyway.
    Unix,
    /// By standard input and output: whoever started this process, by ssh.
    Stdio,
    /// By TLS.
    Network,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    /// Somebody on this machine.
    Local,
    /// Whoever started this process; ssh knows who, and this process speaks with nobody else.
    Starter,
    /// The holder of a certificate with this name.
    Named(String),
    /// Somebody without one: a bug, and no one to serve.
    Nobody,
}

impl Way {
    pub(super) fn caller<T>(self, request: &Request<T>) -> Caller {
        match self {
            Self::Unix => Caller::Local,
            Self::Stdio => Caller::Starter,
            Self::Network => match request.extensions().get::<Peer>() {
                Some(peer) => Caller::Named(peer.name.clone()),
                None => Caller::Nobody,
            },
        }
    }
}

impl Caller {
    /// The name that was proved; empty when none was asked for.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Local | Self::Starter | Self::Nobody => "",
        }
    }

    pub(super) fn is_local(&self) -> bool {
        *self == Self::Local
    }
}
