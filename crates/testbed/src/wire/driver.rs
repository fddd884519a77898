//! The loop: take in, carry, send, wait; orders in between.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;

use btu_units::Time;

use super::WireError;
use super::control::Control;
use super::forwarder::{Forwarder, TurnResult};
use super::plan::WirePlan;
use super::realtime;
use super::wait::Waiter;
use crate::privilege::{Capabilities, confine_to};

/// The number of busy turns between checks for orders.
const TURNS_BETWEEN_ORDERS: u32 = 64;

/// Runs a wire until it gets the order to stop, or until `keep_alive` (a pipe or socket that
/// another process keeps open and never writes to) ends. Call it in a separate process, in the
/// network namespace that has the interfaces.
///
/// # Errors
/// An impossible plan, an interface that cannot be opened or goes away; see [`WireError`].
pub fn run(
    plan: &WirePlan,
    control: UnixListener,
    keep_alive: Option<OwnedFd>,
) -> Result<(), WireError> {
    let carrier = Forwarder::new(plan)?;
    let control = Control::new(control).map_err(system("preparing the control socket"))?;
    let _wakefulness = realtime::prepare();
    // Sockets and captures are open, and nothing is opened later.
    confine_to(Capabilities::NONE).map_err(system("giving up privileges"))?;
    Wire { carrier, control, keep_alive, waiter: Waiter::new() }.live()
}

struct Wire {
    carrier: Forwarder,
    control: Control,
    keep_alive: Option<OwnedFd>,
    waiter: Waiter,
}

impl Wire {
    fn live(mut self) -> Result<(), WireError> {
        let mut busy_turns = 0;
        loop {
            let TurnResult { goes_on, wake } = self.carrier.turn()?;
            busy_turns = if goes_on { busy_turns + 1 } else { 0 };
            if goes_on && busy_turns < TURNS_BETWEEN_ORDERS {
                continue;
            }
            busy_turns = 0;
            self.wait(if goes_on { Some(Time::ZERO) } else { wake })?;
            if self.listen() {
                self.carrier.close_capture();
                return Ok(());
            }
        }
    }

    /// Waits for frames, orders, the end of the keep-alive pipe, or the due time.
    fn wait(&mut self, due: Option<Time>) -> Result<(), WireError> {
        self.waiter.clear();
        self.carrier.watched().for_each(|fd| self.waiter.watch(fd, false));
        self.control.watched().for_each(|(fd, output)| self.waiter.watch(fd, output));
        self.keep_alive.iter().for_each(|keep_alive| self.waiter.watch(keep_alive.as_fd(), false));
        self.waiter.wait(due).map_err(system("waiting for frames"))?;
        self.carrier.note_ready(|place| self.waiter.is_ready(place))
    }

    /// Performs the received orders; returns whether it must end.
    fn listen(&mut self) -> bool {
        let first = self.carrier.watched().count();
        let keep_alive = first + self.control.watched().count();
        if self.keep_alive.is_some() && self.waiter.is_ready(keep_alive) {
            return true;
        }
        if (first..keep_alive).any(|place| self.waiter.is_ready(place)) {
            self.control.serve(|request| self.carrier.obey(request));
        }
        self.carrier.is_stopping() && self.control.is_quiet()
    }
}

fn system(operation: &'static str) -> impl Fn(std::io::Error) -> WireError {
    move |source| WireError::System { operation, source }
}
