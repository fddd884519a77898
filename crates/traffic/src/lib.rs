//! Moving bytes on real sockets: the network activities of `btu_contract::activity`, one file per half
//! of a transport.
//!
//! [`prepare`] sets an activity up (binds, or connects and presents the flow's token) and hands
//! back a [`Performance`]; `perform` waits for its peer, moves the data with one system call per
//! message, and accounts. Both ends of a flow must be given the same seed, token and message size.
//! Everything is bounded by the order's deadline and nothing that a peer sends can make a
//! performance panic, hang or grow.
//!
//! How a TCP flow opens: the side that connects presents the token in `prepare` and waits until the
//! peer's kernel has acknowledged it; the side that listens takes only a connection that does so.
//! The receiver then sends the token once more, on `go`: that starts the sender. These 16 or 32
//! bytes are in `TCP_INFO`, never in the accounts.
//!
//! `udp/post.rs` describes how a UDP flow opens; the wire format is in `udp/header.rs`.

mod bound;
mod broadcast;
mod clock;
mod error;
mod flow;
#[doc(hidden)]
pub mod fuzz;
pub mod hint;
mod hold;
mod moment;
mod open_loop;
mod payload;
mod pipe;
mod places;
pub mod probe;
mod progress;
mod quota;
mod relay;
mod responding;
mod sampling;
mod shares;
mod size;
mod sys;
mod tcp;
mod token;
mod udp;

use btu_contract::activity::{Activity, Order, Performance, Transport};
use btu_contract::peers::Callers;

pub use bound::bound;
pub use clock::{Limit, waited};
pub use error::TrafficError;
pub use flow::{Flow, FlowDoor, WaitingCallers};
pub use hold::allowed_processors;
pub use moment::ClockReading;
pub use pipe::{
    any_server, check as pipe_check, compute, draw_over, keeps_to_quota, largest as pipe_largest,
    self_signed, slow_down, with_certificate,
};
pub use places::{AnsweredRequest, ConnectionPlace, Places};
pub use shares::{Share, Shares, host_of};
pub use sys::allocator::return_large_blocks;
pub use sys::discipline::{ClockState, clock_state};
pub use sys::quota::give_way;
pub use tcp::info::of as tcp_info;

/// Sets up the network activity of `order`; `None` when the activity is not one of this crate's.
/// Every port on which it listens checks `callers` before it reads from or answers a caller.
///
/// Listening activities are bound when this returns, and report their address; connecting ones are
/// connected (TCP) or know their peer (UDP).
///
/// # Errors
/// [`TrafficError`] when sizes or rates are out of range, an address cannot be used, or a peer
/// cannot be reached within ten seconds or the order's deadline, whichever is shorter.
pub fn prepare(
    order: &Order,
    callers: &Callers,
) -> Result<Option<Box<dyn Performance>>, TrafficError> {
    hold::hold(order)?;
    Ok(Some(match &order.activity {
        Activity::TcpSend(part) => Box::new(tcp::send::Sender::prepare(order, part, callers)?),
        Activity::TcpReceive(part) => {
            Box::new(tcp::receive::Receiver::prepare(order, part, callers)?)
        }
        Activity::Request(part) => match part.transport {
            Transport::Tcp => Box::new(tcp::request::Requester::prepare(order, part)?),
            Transport::TcpConnect => Box::new(tcp::connect::Connector::prepare(order, part)?),
            Transport::Udp => Box::new(udp::request::Requester::prepare(order, part)?),
        },
        Activity::Respond(part) => match part.transport {
            Transport::Tcp => Box::new(tcp::respond::Responder::prepare(order, part, callers)?),
            Transport::TcpConnect => {
                Box::new(tcp::connect::Answerer::prepare(order, part, callers)?)
            }
            Transport::Udp => Box::new(udp::respond::Responder::prepare(order, part, callers)?),
        },
        Activity::UdpSend(part) => Box::new(udp::send::Sender::prepare(order, part, callers)?),
        Activity::UdpReceive(part) => {
            Box::new(udp::receive::Receiver::prepare(order, part, callers)?)
        }
        Activity::Pipe(part) => return pipe::prepare(order, part, callers).map(Some),
        Activity::Hint(part) if part.hint.processes == 1 => {
            Box::new(pipe::Alone(part.hint.clone(), part.end))
        }
        Activity::Hint(part) => return pipe::prepare(order, &part.as_pipe(), callers).map(Some),
        Activity::Draw(part) => return pipe::prepare(order, &part.as_pipe(), callers).map(Some),
        Activity::DrawInside(drawing) => Box::new(pipe::Inside::new(order, drawing)),
        Activity::Relay(part) => Box::new(relay::Relaying::prepare(order, part, callers)?),
        Activity::Broadcast(part) => Box::new(broadcast::Broadcasting::prepare(order, part)?),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests;
