//! What `btu app` asks of the machine for X, and what it cannot measure there.

use btu_contract::app::{Carrier, Speed};
use btu_units::Span;

use super::arguments::App;
use super::usage;
use crate::exit::Refusal;

/// Refuses what cannot be measured with an X server, before anything starts.
pub(super) fn check(app: &App, carriers: &[Carrier]) -> Result<(), Refusal> {
    let Some(carrier) = carriers.iter().find(|carrier| carrier.is_x11()) else { return Ok(()) };
    if let Some(option) = of_the_display(app) {
        return Err(usage(format!(
            "{option}: the display of --transport {carrier} is the system's X server, which has no such option; leave {option} \
             or {carrier} out"
        )));
    }
    match btu_load::missing_for_x11(carriers.contains(&Carrier::X11perf)) {
        None => Ok(()),
        Some(missing) => Err(Refusal::Machine(format!(
            "--transport {carrier} needs `{missing}`, which this system does not have: install it (Debian: xvfb, x11-apps), \
             or leave {carrier} out"
        ))),
    }
}

/// An option of btu's own display.
fn of_the_display(app: &App) -> Option<&'static str> {
    let is_slowed = app.display_speed.iter().any(|speed| *speed != Speed::FULL);
    let options = [
        ("--display-time", app.display_time.is_some_and(|time| time > Span::ZERO)),
        ("--display-speed", is_slowed),
        ("--display-nice", app.display_nice > 0),
        ("--watch", app.watch),
    ];
    options.into_iter().find(|(_, is_asked)| *is_asked).map(|(option, _)| option)
}
