//! Broadcasts that every host of a segment must receive and discard: datagrams to a port on which
//! no process listens.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Broadcast, Order, Performance, Performed, Tell};
use btu_contract::app::Broadcasts;
use btu_contract::record::{DatagramsSent, Outcome, Report};
use btu_stats::Histogram;
use btu_units::Span;

use crate::clock::{Limit, PreciseTimers, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::udp::pace::DatagramSchedule;

/// All hosts of the segment; and the discard service (RFC 863), which no host of a laboratory has.
const ALL_HOSTS: (Ipv4Addr, u16) = (Ipv4Addr::BROADCAST, 9);

const PAYLOAD: [u8; Broadcasts::PAYLOAD.count() as usize] =
    [0; Broadcasts::PAYLOAD.count() as usize];

/// A socket from which broadcasts will leave.
pub(crate) struct Broadcasting {
    socket: UdpSocket,
    address: SocketAddr,
    broadcasts: Broadcasts,
    deadline: Span,
}

impl Broadcasting {
    /// Binds to the station's own address, which decides over which interface broadcasts leave.
    pub(crate) fn prepare(order: &Order, part: &Broadcast) -> Result<Self, TrafficError> {
        let address = SocketAddr::new(part.on, 0);
        if !matches!(part.on, IpAddr::V4(_)) {
            let what = format!("{} is not an address of IPv4, which alone has broadcasts", part.on);
            return Err(TrafficError::Order { activity: "broadcast", what });
        }
        let listen = |source| TrafficError::Listen { address, source };
        let socket = UdpSocket::bind(address).map_err(listen)?;
        socket.set_broadcast(true).map_err(TrafficError::socket("allow broadcasts", address))?;
        socket.set_nonblocking(true).map_err(TrafficError::socket("set up", address))?;
        Ok(Self { socket, address, broadcasts: part.broadcasts, deadline: order.deadline })
    }

    /// Whether the kernel took it.
    fn send(&self) -> Result<bool, TrafficError> {
        match self.socket.send_to(&PAYLOAD, ALL_HOSTS) {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
                    || error.raw_os_error() == Some(libc::ENOBUFS) =>
            {
                Ok(false)
            }
            Err(error) => Err(TrafficError::socket("send a broadcast", self.address)(error)),
        }
    }
}

impl Performance for Broadcasting {
    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let _timers = PreciseTimers::hold();
        let offered = self.broadcasts.payload_rate();
        let mut schedule =
            DatagramSchedule::new(started, offered, Broadcasts::PAYLOAD, self.deadline);
        let (mut datagrams, mut refused, mut lateness) = (0, 0, Histogram::new());
        while let Some(due) = schedule.next() {
            limit.sleep_until(due);
            let time = now();
            if limit.stopped() {
                break;
            }
            limit.check_time(time, "send broadcasts", self.address)?;
            lateness.record(time.since(due).nanoseconds());
            let is_sent = self.send()?;
            datagrams += u64::from(is_sent);
            refused += u64::from(!is_sent);
            schedule.advance();
        }
        let finished = now();
        let outcome = Outcome::DatagramsSent(DatagramsSent {
            datagrams,
            bytes: Broadcasts::PAYLOAD * datagrams,
            refused,
            offered,
            span: finished.since(started),
            lateness,
            held: None,
        });
        Ok(Report { started, finished, cpu: cpu_since(before), outcome })
    }
}
