//! Echoes before the first picture: what the network and both ends' systems need for messages in
//! which no end computes.

use std::io;

use btu_contract::app::{Drawing, Echoes, REQUEST_BYTES};
use btu_units::Span;

use super::Pipe;
use super::draw::nonsense;
use crate::clock::now;

/// A message that the display returns at once.
const ECHO: [u8; 4] = *b"echo";

/// The least and the most echoes of each kind.
const LEAST: usize = 3;
const MOST: usize = 200;

/// Messages alone for half of the time of the pictures, and bursts for a quarter of it; none where
/// one message takes longer than the pictures: there the systems' own time does not matter.
pub(super) fn measure<P: Pipe>(pipe: &mut P, drawing: &Drawing) -> io::Result<Echoes> {
    // Both ends do everything for the first time.
    let took = burst(pipe, 1)?;
    if took > drawing.target {
        return Ok(Echoes::default());
    }
    // No acknowledgement of what was before may precede the first message on a slow line.
    std::thread::sleep(took.into());
    Ok(Echoes {
        alone: repeated(pipe, 1, |gone| gone * 2 < drawing.target)?,
        bursts: repeated(pipe, Drawing::BURST, |gone| gone * 4 < drawing.target)?,
    })
}

fn repeated<P: Pipe>(
    pipe: &mut P,
    messages: u64,
    lasts: impl Fn(Span) -> bool,
) -> io::Result<Vec<Span>> {
    let (begun, mut spans) = (now(), Vec::new());
    while spans.len() < LEAST || (lasts(now().since(begun)) && spans.len() < MOST) {
        spans.push(burst(pipe, messages)?);
    }
    Ok(spans)
}

/// So many messages at once; returns the time until the last echo.
fn burst<P: Pipe>(pipe: &mut P, messages: u64) -> io::Result<Span> {
    let mut words = [0; REQUEST_BYTES];
    words[..4].copy_from_slice(&ECHO);
    let mut echo = [0; REQUEST_BYTES];
    let begun = now();
    for _ in 0..messages {
        pipe.send(&words)?;
    }
    for _ in 0..messages {
        pipe.receive(&mut echo)?;
        if echo != words {
            return Err(nonsense("the display returned another message than it was sent"));
        }
    }
    Ok(now().since(begun))
}

/// The display's next message that is no echo; echoes are returned.
pub(super) fn answered<P: Pipe>(pipe: &mut P, words: &mut [u8; REQUEST_BYTES]) -> io::Result<()> {
    loop {
        pipe.hear(words)?;
        if words[..4] != ECHO {
            return Ok(());
        }
        pipe.send(words)?;
    }
}
