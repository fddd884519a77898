//! An application that draws on another host through the system's ssh and a terminal there.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_suite::activity::{DrawEnd, Order, Performance, PipeMeeting, Rendezvous, Tell};
use btu_suite::peers::Callers;
use btu_suite::record::Report;
use btu_traffic::{Limit, draw_over};
use btu_units::Span;

use crate::LoadError;
use crate::account::Account;
use crate::copy::terminal::{self, TerminalDoor};

/// An end that has not met the other yet.
struct Drawing {
    part: DrawEnd,
    place: Place,
    deadline: Span,
    /// The interval of reports of what the display shows.
    every: Option<Span>,
}

enum Place {
    Door(TerminalDoor),
    Call(SocketAddr),
}

/// The display listens; the application calls when it starts.
pub(crate) fn prepare(
    order: &Order,
    part: &DrawEnd,
    callers: &Callers,
) -> Result<Box<dyn Performance>, LoadError> {
    let place = match part.meeting {
        PipeMeeting::Network(Rendezvous::Connect(to)) => Place::Call(to),
        PipeMeeting::Network(Rendezvous::Listen(on)) => {
            Place::Door(TerminalDoor::open(on, &part.token, callers)?)
        }
        PipeMeeting::ListenAt(_) | PipeMeeting::ConnectAt(_) => {
            return Err(LoadError::Order { what: "ssh connects hosts, not paths of one machine" });
        }
    };
    let (deadline, every) = (order.deadline, order.sample_every);
    Ok(Box::new(Drawing { part: part.clone(), place, deadline, every }))
}

impl Drawing {
    fn run(self, stop: &AtomicBool, tell: Tell<'_>) -> Result<Report, LoadError> {
        let account = Account::open()?;
        let limit = Limit::new(account.started(), self.deadline, stop);
        let DrawEnd { end, token, drawing, .. } = &self.part;
        let session = match self.place {
            Place::Door(door) => door.admit(&limit)?,
            Place::Call(to) => terminal::call(to, token, &limit)?,
        };
        let outcome = session.over(&limit, |incoming, outgoing| {
            draw_over(incoming, outgoing, *end, drawing, &limit, (self.every, tell))
        })?;
        Ok(account.close()?.report(outcome))
    }
}

impl Performance for Drawing {
    fn endpoint(&self) -> Option<SocketAddr> {
        match &self.place {
            Place::Door(door) => Some(door.address()),
            Place::Call(_) => None,
        }
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop, &mut |_| Ok(()))?)
    }

    fn perform_telling(
        self: Box<Self>,
        stop: &AtomicBool,
        tell: Tell<'_>,
    ) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop, tell)?)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread;

    use btu_suite::activity::Activity;
    use btu_suite::app::{Carrier, Drawing, Niceness, Protocol, Slowing, Speeds, Workload};
    use btu_suite::pipe::{End, PipePlan, Place};
    use btu_suite::record::Outcome;

    use super::*;

    fn end(end: End, meeting: Rendezvous, drawing: &Drawing) -> Box<dyn Performance> {
        let (meeting, token) = (PipeMeeting::Network(meeting), *b"sixteen byte key");
        let pipe = PipePlan::new(3, Carrier::Ssh.kind(), Place::Here);
        let part = DrawEnd { end, meeting, token, drawing: drawing.clone(), pipe };
        let order = Order::new(9, Span::from_seconds(20), Activity::DrawOverSsh(Box::new(part)));
        crate::prepare(&order, &Callers::any()).expect("prepared").expect("one of these")
    }

    /// All octets of a bitmap pass a terminal as they are, and every answer comes; the session is
    /// over when both ends are.
    #[test]
    fn an_application_draws_through_a_terminal_of_ssh() {
        if let Some(missing) = crate::missing_for_terminal() {
            println!("left out: this system has no {missing}");
            return;
        }
        let workload = Workload::Vectors;
        for protocol in [Protocol::Window(8), Protocol::Bitmap] {
            let drawing = Drawing {
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
            };
            let display = end(End::Far, Rendezvous::Listen(Ipv4Addr::LOCALHOST.into()), &drawing);
            let to = display.endpoint().expect("it listens");
            let application = end(End::Near, Rendezvous::Connect(to), &drawing);
            let never = AtomicBool::new(false);
            let (drawn, displayed) = thread::scope(|scope| {
                let display = scope.spawn(|| display.perform(&never).expect("shown").outcome);
                let drawn = application.perform(&never).expect("drawn").outcome;
                (drawn, display.join().expect("no panic"))
            });
            let (Outcome::Drawn(drawn), Outcome::Displayed(displayed)) = (drawn, displayed) else {
                panic!("{protocol}");
            };
            assert_eq!((displayed.wrong, drawn.bytes), (0, displayed.bytes), "{protocol}");
            assert_eq!(displayed.digest, workload.picture().digest());
            println!("{protocol}: {} in {}", drawn.requests, drawn.pictures[0]);
        }
    }
}
