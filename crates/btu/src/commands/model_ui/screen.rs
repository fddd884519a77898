//! Takes over the terminal while the view is open, and restores it however the view ends.

use std::sync::mpsc::Sender;
use std::thread;

use btu_testbed::testbed::Signals;
use nix::sys::signal::Signal;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::terminal::is_raw_mode_enabled;

use super::asking::WorkerMessage;

/// An event of the view.
#[derive(Debug)]
pub(super) enum Happening {
    Key(KeyEvent),
    /// The terminal has another size now, or should be drawn for another reason.
    Resized,
    Told(WorkerMessage),
    Asked(Signal),
    /// A part of this program ended unexpectedly.
    Broken(String),
}

/// The terminal in raw mode, on its second screen. A panic in any thread restores it before the
/// message is printed.
pub(super) struct Screen {
    pub(super) terminal: DefaultTerminal,
}

impl Screen {
    pub(super) fn open() -> std::io::Result<Self> {
        let opened = ratatui::try_init();
        if opened.is_err() {
            let _ = ratatui::try_restore();
        }
        Ok(Self { terminal: opened? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A panic has restored it already; leaving the second screen twice would put the cursor
        // over the message.
        if is_raw_mode_enabled().unwrap_or(true) {
            // A terminal that is gone needs nothing back.
            let _ = self.terminal.show_cursor();
            let _ = ratatui::try_restore();
        }
    }
}

/// Passes on keys and sizes, as long as a receiver listens. The thread ends with the process: it
/// waits for a key.
pub(super) fn watch_keys(tell: Sender<Happening>) {
    thread::spawn(move || {
        loop {
            let happening = match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Happening::Key(key),
                Ok(Event::Resize(..)) => Happening::Resized,
                Ok(_) => continue,
                Err(error) => Happening::Broken(format!("reading keys: {error}")),
            };
            let is_last = matches!(happening, Happening::Broken(_));
            if tell.send(happening).is_err() || is_last {
                return;
            }
        }
    });
}

/// Passes on signals that ask this process to end.
pub(super) fn watch_signals(signals: Signals, tell: Sender<Happening>) {
    thread::spawn(move || {
        let happening = signals.await_request().map_or_else(
            |error| Happening::Broken(format!("waiting for signals: {error}")),
            Happening::Asked,
        );
        let _ = tell.send(happening);
    });
}

/// Reports when the thread that holds it panics.
pub(super) struct Guard(pub(super) Sender<Happening>);

impl Drop for Guard {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(Happening::Broken("working out an answer failed".to_owned()));
        }
    }
}
