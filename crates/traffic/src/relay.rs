//! A relay of one TCP connection on a third host: octets are read and sent on, both ways, until the
//! caller has no more. It corresponds to the study's remote internet server between a program and
//! its display (its section 9.2).

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;

use btu_contract::activity::{Order, Performance, Performed, Relay, Rendezvous, Tell, Token};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Relayed, Report};
use btu_units::Bytes;

use crate::clock::{Limit, now, process_cpu, process_cpu_since};
use crate::error::TrafficError;
use crate::tcp::acceptor::Endpoint;
use crate::tcp::line::{SocketConfig, TcpConnection};

/// The largest number of bytes in one read.
const ROOM: usize = 64 << 10;

/// A relay that is connected to its target and listens.
pub(crate) struct Relaying {
    acceptor: Endpoint,
    target: TcpConnection,
    token: Token,
    order: Order,
}

impl Relaying {
    /// Connects to the target, with the token, and listens for a caller that knows it.
    pub(crate) fn prepare(
        order: &Order,
        part: &Relay,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let config = SocketConfig::prompt();
        let target = TcpConnection::connect(part.to, &part.token, &config, order.deadline)?;
        let acceptor = Endpoint::take(
            &Rendezvous::Listen(part.on),
            &part.token,
            &config,
            order.deadline,
            callers,
        )?;
        Ok(Self { acceptor, target, token: part.token, order: order.clone() })
    }
}

/// Passes data on until they end; then it ends the other side, too.
fn pass(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<u64> {
    let mut room = vec![0; ROOM];
    let mut passed = 0;
    loop {
        match from.read(&mut room) {
            Ok(0) => break,
            Ok(length) => {
                to.write_all(&room[..length])?;
                passed += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // The other side must not wait for ever.
                let _ = to.shutdown(Shutdown::Both);
                return Err(error);
            }
        }
    }
    // Only a connection that has ended already cannot be ended.
    let _ = to.shutdown(Shutdown::Write);
    Ok(passed)
}

impl Performance for Relaying {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.acceptor.endpoint()
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let (started, before) = (now(), process_cpu());
        let limit = Limit::new(started, self.order.deadline, stop);
        let caller = self.acceptor.meet(&self.token, &limit)?;
        let (caller_at, target_at) = (caller.peer(), self.target.peer());
        caller.wait_as_long_as_it_takes()?;
        self.target.wait_as_long_as_it_takes()?;
        let (caller, target) = (caller.into_stream(), self.target.into_stream());
        let (there, back) = thread::scope(|scope| {
            let back = scope.spawn(|| pass(&target, &caller));
            let there = pass(&caller, &target);
            (there, back.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let there = there.map_err(TrafficError::socket("relay what came", caller_at))?;
        let back = back.map_err(TrafficError::socket("relay what came", target_at))?;
        let outcome =
            Outcome::Relayed(Relayed { there: Bytes::new(there), back: Bytes::new(back) });
        Ok(Report { started, finished: now(), cpu: process_cpu_since(before), outcome })
    }
}
