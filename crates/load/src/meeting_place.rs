//! How the two ends of a drawing meet that programs of the system carry: the display's waits at a
//! door, the application's calls there.

use std::net::{IpAddr, SocketAddr};

use btu_contract::activity::{PipeMeeting, Rendezvous};

use crate::LoadError;

/// The place of an end before it has met the other.
pub(crate) enum MeetingPlace<D> {
    Door(D),
    Call(SocketAddr),
}

impl<D> MeetingPlace<D> {
    /// Opens a door where the meeting is to be waited for. `hosts_only` says that there is none
    /// between processes of one machine.
    pub(crate) fn of(
        meeting: &PipeMeeting,
        hosts_only: &'static str,
        open: impl FnOnce(IpAddr) -> Result<D, LoadError>,
    ) -> Result<Self, LoadError> {
        match meeting {
            PipeMeeting::Network(Rendezvous::Connect(to)) => Ok(Self::Call(*to)),
            PipeMeeting::Network(Rendezvous::Listen(on)) => open(*on).map(Self::Door),
            PipeMeeting::ListenAt(_) | PipeMeeting::ConnectAt(_) => {
                Err(LoadError::Order { what: hosts_only })
            }
        }
    }

    /// The address to call, of an end that waits.
    pub(crate) fn endpoint(&self, address: impl FnOnce(&D) -> SocketAddr) -> Option<SocketAddr> {
        match self {
            Self::Door(door) => Some(address(door)),
            Self::Call(_) => None,
        }
    }
}

/// Both ends of a drawing in one process.
#[cfg(test)]
pub(crate) mod testing {
    use std::net::Ipv4Addr;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use btu_contract::activity::{Activity, DrawEnd, Order, Performance, PipeMeeting, Rendezvous};
    use btu_contract::app::{Carrier, Drawing, Niceness, Protocol, Slowing, Speeds, Workload};
    use btu_contract::peers::Callers;
    use btu_contract::pipe::{End, PipePlan, Place};
    use btu_contract::record::Outcome;
    use btu_units::Span;

    /// A few pictures.
    pub(crate) fn drawing(workload: Workload, protocol: Protocol) -> Drawing {
        Drawing {
            workload,
            protocol,
            application: Span::ZERO,
            display: Span::ZERO,
            speeds: Speeds::default(),
            slowing: Slowing::default(),
            nice: Niceness::default(),
            target: Span::from_milliseconds(1),
            most_pictures: 3,
            mix: None,
            counts_broadcasts: false,
            echoes: false,
        }
    }

    /// The order for one end.
    pub(crate) fn order(
        end: End,
        meeting: PipeMeeting,
        drawing: &Drawing,
        carrier: Carrier,
    ) -> Order {
        let pipe = PipePlan::new(3, carrier.kind(), Place::Here);
        let token = *b"sixteen byte key";
        let part = Box::new(DrawEnd { end, meeting, token, drawing: drawing.clone(), pipe });
        let activity = match carrier {
            Carrier::Ssh => Activity::DrawOverSsh(part),
            Carrier::X11perf => Activity::DrawByX11perf(part),
            _ => Activity::DrawOverX11(part),
        };
        Order::new(9, Span::from_seconds(20), activity)
    }

    fn prepared(
        end: End,
        meeting: Rendezvous,
        drawing: &Drawing,
        carrier: Carrier,
    ) -> Box<dyn Performance> {
        let order = order(end, PipeMeeting::Network(meeting), drawing, carrier);
        crate::prepare(&order, &Callers::any()).expect("prepared").expect("one of these")
    }

    /// Both ends' outcomes: the application's, the display's.
    pub(crate) fn performed(drawing: &Drawing, carrier: Carrier) -> (Outcome, Outcome) {
        let listen = Rendezvous::Listen(Ipv4Addr::LOCALHOST.into());
        let display = prepared(End::Far, listen, drawing, carrier);
        let to = display.endpoint().expect("it listens");
        let application = prepared(End::Near, Rendezvous::Connect(to), drawing, carrier);
        let never = AtomicBool::new(false);
        thread::scope(|scope| {
            let display = scope.spawn(|| display.perform(&never).expect("shown").outcome);
            let drawn = application.perform(&never).expect("drawn").outcome;
            (drawn, display.join().expect("no panic"))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use btu_contract::app::{Carrier, Protocol, Workload};
    use btu_contract::peers::Callers;
    use btu_contract::pipe::End;

    use super::*;

    #[test]
    fn programs_of_the_system_connect_hosts_only() {
        let drawing = testing::drawing(Workload::Vectors, Protocol::Batched);
        for (carrier, who) in [(Carrier::Ssh, "ssh"), (Carrier::X11, "X")] {
            let path = PipeMeeting::ListenAt(PathBuf::from("/nowhere"));
            let order = testing::order(End::Far, path, &drawing, carrier);
            let refused = crate::prepare(&order, &Callers::any()).map(|_| ()).expect_err("a path");
            assert!(refused.to_string().contains(&format!("{who} connects hosts")), "{refused}");
        }
    }
}
