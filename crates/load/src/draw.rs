//! An application that draws on another host through the system's ssh and a terminal there.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{DrawEnd, Order, Performance, Performed, Tell};
use btu_contract::peers::Callers;
use btu_traffic::{Limit, draw_over};
use btu_units::Span;

use crate::LoadError;
use crate::account::Account;
use crate::copy::terminal::{self, TerminalDoor};
use crate::meeting_place::MeetingPlace;

/// An end that has not met the other yet.
struct DrawActivity {
    part: DrawEnd,
    place: MeetingPlace<TerminalDoor>,
    deadline: Span,
    /// The interval of reports of what the display shows.
    every: Option<Span>,
}

/// The display listens; the application calls when it starts.
pub(crate) fn prepare(
    order: &Order,
    part: &DrawEnd,
    callers: &Callers,
) -> Result<Box<dyn Performance>, LoadError> {
    let hosts_only = "ssh connects hosts, not paths of one machine";
    let open = |on| TerminalDoor::open(on, &part.token, callers);
    let place = MeetingPlace::of(&part.meeting, hosts_only, open)?;
    let (deadline, every) = (order.deadline, order.sample_every);
    Ok(Box::new(DrawActivity { part: part.clone(), place, deadline, every }))
}

impl Performance for DrawActivity {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.place.endpoint(TerminalDoor::address)
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let limit = Limit::new(account.started(), self.deadline, stop);
        let DrawEnd { end, token, drawing, .. } = &self.part;
        let session = match self.place {
            MeetingPlace::Door(door) => door.admit(&limit)?,
            MeetingPlace::Call(to) => terminal::call(to, token, &limit)?,
        };
        let outcome = session.over(&limit, |incoming, outgoing| {
            draw_over(incoming, outgoing, *end, drawing, &limit, (self.every, tell))
        })?;
        Ok(account.close()?.report(outcome))
    }
}

#[cfg(test)]
mod tests {
    use btu_contract::app::{Carrier, Protocol, Workload};
    use btu_contract::record::Outcome;

    use crate::meeting_place::testing::{drawing, performed};

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
            let ends = performed(&drawing(workload, protocol), Carrier::Ssh);
            let (Outcome::Drawn(drawn), Outcome::Displayed(displayed)) = ends else {
                panic!("{protocol}");
            };
            assert_eq!((displayed.wrong, drawn.bytes), (0, displayed.bytes), "{protocol}");
            assert_eq!(displayed.digest, workload.picture().digest());
            println!("{protocol}: {} in {}", drawn.requests, drawn.pictures[0]);
        }
    }
}
