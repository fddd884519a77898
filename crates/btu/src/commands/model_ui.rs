//! `btu model --ui`: the user changes values of a network file, and tables and a curve follow.
//!
//! `state` and `keys` are a state machine without a terminal; `view` draws it; `asking` computes
//! answers in a separate thread; this module combines them.

mod asking;
mod curve;
mod keys;
mod line;
mod save;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod turning;
mod view;

use std::io::{IsTerminal, stdin, stdout};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use anyhow::Context;
use btu_control::controller::{ControllerError, Interrupt};
use btu_testbed::testbed::Signals;
use nix::sys::signal::Signal;

use crate::cli::{Common, Model};
use crate::exit::Refusal;
use crate::{files, terminal};
use asking::{Ask, Basis, Changes, WorkerMessage, work};
use screen::{Guard, Happening, Screen, watch_keys, watch_signals};
use state::{State, TRANSFER, Wish};

/// Opens the view and stays until it is left.
pub(crate) fn run(model: &Model, common: &Common) -> anyhow::Result<()> {
    refuse(model, common)?;
    let source = model.source()?;
    // Before any thread is started, so that no signal ends this process before the terminal is
    // given back.
    let signals = Signals::take().context("waiting for signals")?;
    // A file that cannot be read is reported before the screen is taken, with all its problems.
    files::emulated(
        source.read(&model.settings).map_err(|error| Refusal::Usage(error.to_string()))?,
    )?;
    let basis = Basis::of(model, source);
    let (_, answer) = basis.answer(&Changes::new(), model.transfer).map_err(Refusal::Usage)?;
    let mut state =
        State::new(model.subject.network(), answer, model.transfer, model.flow.as_deref());
    let (tell, told) = mpsc::channel();
    let asks = start(&basis, &tell);
    let mut screen = Screen::open().context("taking over the terminal")?;
    watch_signals(signals, tell.clone());
    watch_keys(tell);
    let left = ViewSession { state: &mut state, basis: &basis, asks, told }.run(&mut screen);
    drop(screen);
    say_changes(&state, &basis);
    left
}

/// Refuses outputs on which it cannot draw.
fn refuse(model: &Model, common: &Common) -> Result<(), Refusal> {
    let instead = "leave out --ui for tables, or use --sweep KEY=FROM..TO for a curve";
    if common.json {
        return Err(Refusal::Usage(
            "--ui is for eyes and --json for programs: leave out one of them".to_owned(),
        ));
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !stdout().is_terminal() || is_dumb {
        return Err(Refusal::Usage(format!("--ui needs a terminal to draw on: {instead}")));
    }
    if model.subject.network() == "-" {
        let problem = "--ui takes its keys from standard input, so it cannot read a network file there: give it as a file";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    if !stdin().is_terminal() {
        return Err(Refusal::Usage(format!("--ui takes its keys from a terminal: {instead}")));
    }
    Ok(())
}

/// Starts the thread that answers.
fn start(basis: &Basis, tell: &Sender<Happening>) -> Sender<Ask> {
    let (ask, asks) = mpsc::channel();
    let (basis, tell) = (basis.clone(), tell.clone());
    thread::spawn(move || {
        let guard = Guard(tell.clone());
        work(&basis, &asks, &|told: WorkerMessage| tell.send(Happening::Told(told)).is_ok());
        drop(guard);
    });
    ask
}

/// The view while it is open.
struct ViewSession<'a> {
    state: &'a mut State,
    basis: &'a Basis,
    asks: Sender<Ask>,
    told: Receiver<Happening>,
}

impl ViewSession<'_> {
    /// Draws, waits, and processes all events since then, so that held keys make one request.
    fn run(mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let palette = view::Palette { colour: terminal::colour() };
        loop {
            if let Some(ask) = self.state.ask() {
                self.asks.send(ask).context("asking")?;
            }
            screen
                .terminal
                .draw(|frame| view::draw(frame, self.state, palette))
                .context("drawing")?;
            let first = self.told.recv().context("waiting for keys")?;
            let rest: Vec<Happening> = self.told.try_iter().collect();
            for happening in std::iter::once(first).chain(rest) {
                if let Some(left) = self.take(happening) {
                    return left;
                }
            }
        }
    }

    /// Processes an event; returns the exit, if the user left the view.
    fn take(&mut self, happening: Happening) -> Option<anyhow::Result<()>> {
        match happening {
            Happening::Key(key) => self.state.press(key),
            Happening::Told(told) => self.state.told(told),
            Happening::Resized => {}
            Happening::Asked(Signal::SIGINT) => return Some(interrupted(Interrupt::Keyboard)),
            Happening::Asked(_) => return Some(interrupted(Interrupt::Terminate)),
            Happening::Broken(problem) => return Some(Err(anyhow::anyhow!(problem))),
        }
        match self.state.wish.take()? {
            Wish::Quit => Some(Ok(())),
            Wish::Interrupt => Some(interrupted(Interrupt::Keyboard)),
            Wish::Save { path, over } => {
                let saved = save::save(self.basis, &self.state.changes, &path, over);
                self.state.saved(saved);
                None
            }
        }
    }
}

fn interrupted(by: Interrupt) -> anyhow::Result<()> {
    Err(ControllerError::Interrupted(by).into())
}

/// Unsaved changes are printed as a command line, so that they are not lost.
fn say_changes(state: &State, basis: &Basis) {
    if !state.is_unsaved() {
        return;
    }
    let transfer = state.parameters.iter().find(|at| at.key == TRANSFER).map(|own| state.text(own));
    let line = save::command_line(&state.name, basis, &state.changes, transfer);
    // The terminal may be gone.
    let _ = terminal::print(&format!("The changed values again:\n  {line} --ui"));
}
