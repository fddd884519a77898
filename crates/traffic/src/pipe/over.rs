//! An end of a drawing over two files that another crate has connected: those of a program that
//! carries what is written to it.

use std::fs::File;
use std::io;

use btu_contract::activity::Tell;
use btu_contract::app::Drawing;
use btu_contract::pipe::End;
use btu_contract::record::Outcome;
use btu_units::Span;

use super::draw::{draw, show};
use super::os_pipe::TubePipe;
use super::viewer::Viewer;
use crate::clock::Limit;

/// Draws, or shows what is drawn and reports it at this interval; the peer has the other end of both
/// files.
///
/// # Errors
/// A file came to its end, or the peer did not keep to the protocol.
pub fn draw_over(
    incoming: File,
    outgoing: File,
    end: End,
    drawing: &Drawing,
    limit: &Limit<'_>,
    (every, tell): (Option<Span>, Tell<'_>),
) -> io::Result<Outcome> {
    let mut pipe = TubePipe::new(incoming, outgoing);
    match end {
        End::Near => draw(&mut pipe, drawing, limit).map(Outcome::Drawn),
        End::Far => show(&mut pipe, drawing, &mut Viewer::new(every, tell)).map(Outcome::Displayed),
    }
}
