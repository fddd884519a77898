//! An application and its display in one process: a request is a function call.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Tell};
use btu_contract::app::{Displayed, Drawing};
use btu_contract::record::{Outcome, Report};
use btu_units::Span;

use super::Pipe;
use super::draw::{Screen, draw, is_last, nonsense};
use super::viewer::Viewer;
use crate::clock::{Limit, now, process_cpu, process_cpu_since};
use crate::error::TrafficError;

/// A drawing that waits for its start.
pub(crate) struct Inside {
    drawing: Drawing,
    deadline: Span,
    /// The interval of reports of what the display shows.
    every: Option<Span>,
}

impl Inside {
    pub(crate) fn new(order: &Order, drawing: &Drawing) -> Self {
        Self { drawing: drawing.clone(), deadline: order.deadline, every: order.sample_every }
    }
}

impl Performance for Inside {
    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (started, before) = (now(), process_cpu());
        let limit = Limit::new(started, self.deadline, stop);
        let (screen, viewer) = (Screen::new(&self.drawing), Viewer::new(self.every, tell));
        let mut call = DirectCall { screen, answers: VecDeque::new(), viewer };
        let failed = |source| TrafficError::Pipe {
            operation: "measure",
            object: "within one process".to_owned(),
            source,
        };
        let drawn = draw(&mut call, &self.drawing, &limit).map_err(failed)?;
        let displayed: Displayed = call.screen.into_account();
        let outcome = Outcome::DrawnInside { drawn, displayed };
        Ok(Report { started, finished: now(), cpu: process_cpu_since(before), outcome })
    }
}

/// The replacement of a transport: a sent message has been processed when the call returns, and its
/// answer waits.
struct DirectCall<'a> {
    screen: Screen<'a>,
    answers: VecDeque<u8>,
    viewer: Viewer<'a>,
}

impl Pipe for DirectCall<'_> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if let Some(answer) = self.screen.called(message)? {
            self.answers.extend(answer);
        }
        self.screen.show_to(&mut self.viewer);
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        if self.answers.len() < room.len() {
            return Err(nonsense("the display in this process has not answered"));
        }
        let answer = self.answers.drain(..room.len());
        room.iter_mut().zip(answer).for_each(|(place, octet)| *place = octet);
        Ok(())
    }

    fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.screen.settle()?;
        self.screen.show_to(&mut self.viewer);
        if !is_last(words) {
            self.screen.clear()?;
        }
        self.answers.extend(words);
        Ok(())
    }
}
