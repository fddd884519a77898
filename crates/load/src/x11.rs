//! An application that draws on an X server at another host: the system's Xvfb.
//!
//! ```text
//! application ==== network ==== Xvfb -- a client there, which reads the window back
//! ```
//!
//! Requests are sent by x11rb, a client library of its own (no libxcb), which gathers them in a
//! buffer of 16 KiB as Xlib does. In place of the application x11perf may run, for comparison.

mod application;
mod canvas;
mod glyphs;
mod line;
mod meeting;
mod packets;
mod screen;

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{DrawEnd, Order, Performance, Performed, Tell};
use btu_contract::app::x11perf_test;
use btu_contract::pipe::End;
use btu_contract::record::Outcome;
use btu_traffic::Limit;
use btu_units::Span;

use crate::LoadError;
use crate::account::{Account, now};
use crate::copy::{XServer, x11perf};
use crate::meeting_place::MeetingPlace;

/// The program that draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrawingProgram {
    Btu,
    X11perf,
}

/// An end that waits for its start.
struct X11Activity {
    part: DrawEnd,
    client: DrawingProgram,
    place: MeetingPlace<XServer>,
    deadline: Span,
}

/// The display starts its server; the application calls when it starts.
pub(crate) fn prepare(
    order: &Order,
    part: &DrawEnd,
    client: DrawingProgram,
) -> Result<Box<dyn Performance>, LoadError> {
    let hosts_only = "X connects hosts, not paths of one machine";
    let start = |on| XServer::start(on, &part.token, client == DrawingProgram::X11perf);
    let place = MeetingPlace::of(&part.meeting, hosts_only, start)?;
    Ok(Box::new(X11Activity { part: part.clone(), client, place, deadline: order.deadline }))
}

/// Any failure of the library's.
fn failed(error: impl Display) -> io::Error {
    io::Error::other(error.to_string())
}

/// One of the two clients. The server ends with the display's.
fn over_x11(
    part: &DrawEnd,
    place: &MeetingPlace<XServer>,
    limit: &Limit<'_>,
) -> Result<Outcome, LoadError> {
    let to = match place {
        MeetingPlace::Door(server) => server.address(),
        MeetingPlace::Call(to) => *to,
    };
    let connection = line::connect(to, &part.token, limit)
        .map_err(|error| problem(to, "could not be reached", &error))?;
    let done = match part.end {
        End::Far => screen::show(&connection, &part.drawing).map(Outcome::Displayed),
        End::Near => application::draw(&connection, &part.drawing, limit).map(Outcome::Drawn),
    };
    done.map_err(|error| problem(to, "ended the drawing", &error))
}

fn problem(to: SocketAddr, what: &str, error: &io::Error) -> LoadError {
    LoadError::Program { program: "Xvfb", problem: format!("the server at {to} {what}: {error}") }
}

impl Performance for X11Activity {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.place.endpoint(XServer::address)
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let limit = Limit::new(account.started(), self.deadline, stop);
        let outcome = match (self.client, self.place) {
            (DrawingProgram::Btu, place) => over_x11(&self.part, &place, &limit)?,
            (DrawingProgram::X11perf, MeetingPlace::Door(server)) => {
                let to = server.address();
                server.finish(|| Ok(limit.check(now()?, "wait for x11perf", to)?))?;
                Outcome::X11Served
            }
            (DrawingProgram::X11perf, MeetingPlace::Call(to)) => {
                let DrawEnd { token, drawing, .. } = &self.part;
                let test = x11perf_test(drawing.workload, drawing.protocol)
                    .ok_or(LoadError::Order { what: "x11perf has no test like this" })?;
                Outcome::X11perf { per_second: x11perf(to, token, test, &limit)? }
            }
        };
        Ok(account.close()?.report(outcome))
    }
}

#[cfg(test)]
mod tests;
