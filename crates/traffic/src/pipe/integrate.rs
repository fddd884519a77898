//! HINT over a pipe: its messages have one size, which both ends know.

use std::io::{self, Read, Write};
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Performance, Performed, Tell, Word};
use btu_contract::hint::{HintPlan, HintPoint};
use btu_contract::pipe::End;
use btu_contract::record::{Outcome, Report};

use super::Pipe;
use crate::clock::{cpu, cpu_since, now};
use crate::hint;

/// Performs one end's part in HINT; the near end reports every point when it is finished.
pub(super) fn integrate<P: Pipe>(
    pipe: &mut P,
    end: End,
    plan: &HintPlan,
    tell: Tell<'_>,
) -> io::Result<()> {
    let mut stream = AsStream(pipe);
    if end == End::Far {
        return hint::far(&mut stream, plan).map_err(io::Error::other);
    }
    let run = heard(tell, |mut measured| hint::near(&mut stream, plan, &mut measured))?;
    run.map(drop).map_err(io::Error::other)
}

/// HINT by one process, in the place of two: the near end does all the work.
pub(crate) struct Alone(pub(crate) HintPlan, pub(crate) End);

impl Performance for Alone {
    fn perform_telling(self: Box<Self>, _stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        if self.1 == End::Near {
            heard(tell, |measured| drop(hint::alone(&self.0, measured)))?;
        }
        Ok(Report {
            started,
            finished: now(),
            cpu: cpu_since(before),
            outcome: Outcome::Piped { left_out: 0, notes: Vec::new() },
        })
    }
}

/// Reports every point that `work` measures, until no receiver listens any more.
fn heard<T>(tell: Tell<'_>, work: impl FnOnce(&mut dyn FnMut(&HintPoint)) -> T) -> io::Result<T> {
    let mut told = Ok(());
    let done = work(&mut |point| {
        if told.is_ok() {
            told = tell(Word::Step(Box::new(point.clone())));
        }
    });
    told.map(|()| done)
}

/// A pipe with messages of the requested length.
struct AsStream<'a, P>(&'a mut P);

impl<P: Pipe> Read for AsStream<'_, P> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.receive(room)?;
        Ok(room.len())
    }
}

impl<P: Pipe> Write for AsStream<'_, P> {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        self.0.send(message)?;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
