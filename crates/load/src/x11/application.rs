//! The application's side: the study's protocols as X clients have them.
//!
//! | protocol | requests |
//! |---|---|
//! | stop-and-wait, window-N | one for each item, and one that is answered (GetInputFocus) |
//! | pipelined | one for each item, as the library's buffer holds them; the last is answered |
//! | construction | the same to a pixmap, which is shown later |
//! | batched | as few as there are kinds of items; the last is answered |
//! | redraw | one that copies a pixmap, and is answered |
//! | bitmap | pieces of the picture; the last is answered |

use std::collections::VecDeque;
use std::io;

use btu_contract::app::{Drawing, Drawn, HEIGHT, Item, Protocol, WIDTH, Workload};
use btu_traffic::{Limit, compute, slow_down};
use btu_units::{Bytes, Span, Time};
use x11rb::connection::Connection as _;
use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{ConnectionExt as _, Drawable, GetInputFocusReply, Rectangle};

use super::canvas::Canvas;
use super::failed;
use super::line::{DisplaySocket, X11Connection};
use super::meeting::Meeting;
use crate::account::now;

/// Rows of the bitmap in one request: 1400 octets, so that they fit a segment with their header.
const ROWS: u16 = 14;

type FocusCookie<'c, 'l> =
    Cookie<'c, x11rb::rust_connection::RustConnection<DisplaySocket<'l>>, GetInputFocusReply>;

/// Draws pictures until the order's time has passed.
pub(super) fn draw(
    connection: &X11Connection<'_>,
    drawing: &Drawing,
    limit: &Limit<'_>,
) -> io::Result<Drawn> {
    slow_down(drawing, drawing.nice.application, drawing.speeds.application)?;
    let meeting = Meeting::of_application(connection)?;
    let mut drawn = Drawn::default();
    let mut waited = order(&meeting, 1)?;
    let window = meeting.heard()?.ok_or_else(|| io::Error::other("the display named no window"))?;
    let application = Application::new(connection, drawing, window)?;
    let begun = time()?;
    let most = drawing.most_pictures.min(Drawing::MOST_PICTURES) as usize;
    loop {
        // As with btu's own display: acknowledgements must not delay the first request.
        std::thread::sleep(waited.into());
        let took = application.picture(&mut drawn)?;
        drawn.pictures.push(took);
        application.show_what_was_kept()?;
        let goes_on = time()?.since(begun) < drawing.target
            && drawn.pictures.len() < most
            && !limit.stopped();
        let number = if goes_on { drawn.pictures.len() as u32 + 1 } else { 0 };
        waited = order(&meeting, number)?;
        if !goes_on {
            return Ok(drawn);
        }
    }
}

fn time() -> io::Result<Time> {
    now().map_err(failed)
}

/// Orders a picture or the end; returns the time until the answer.
fn order(meeting: &Meeting<'_, '_>, number: u32) -> io::Result<Span> {
    let begun = time()?;
    meeting.say(number)?;
    meeting.wait()?;
    Ok(time()?.since(begun))
}

struct Application<'c, 'l> {
    connection: &'c X11Connection<'l>,
    drawing: &'c Drawing,
    items: Vec<Item>,
    bits: Vec<u8>,
    window: Canvas<'c, 'l>,
    /// What is not shown at once, or was drawn before.
    pixmap: Option<Canvas<'c, 'l>>,
}

impl<'c, 'l> Application<'c, 'l> {
    fn new(
        connection: &'c X11Connection<'l>,
        drawing: &'c Drawing,
        window: Drawable,
    ) -> io::Result<Self> {
        let items: Vec<Item> = drawing.workload.items().into_iter().map(|(_, item)| item).collect();
        let has_text = drawing.workload == Workload::Text;
        let keeps = matches!(drawing.protocol, Protocol::Construction | Protocol::Redraw);
        let pixmap = keeps.then(|| pixmap(connection, has_text)).transpose()?;
        let application = Self {
            connection,
            drawing,
            bits: drawing.workload.picture().bits().to_vec(),
            window: Canvas::new(connection, window, has_text)?,
            pixmap,
            items,
        };
        if let (Protocol::Redraw, Some(pixmap)) = (drawing.protocol, &application.pixmap) {
            pixmap.draw_all(&application.items)?;
        }
        answered(connection)?;
        Ok(application)
    }

    /// Draws a picture; returns the time.
    fn picture(&self, drawn: &mut Drawn) -> io::Result<Span> {
        let (begun, before) = (time()?, self.connection.stream().sent());
        match self.drawing.protocol {
            Protocol::StopAndWait | Protocol::Window(_) => {
                self.answered(self.drawing.protocol.window().unwrap_or(1), drawn)?;
            }
            Protocol::Pipelined => self.one_by_one(&self.window, drawn)?,
            Protocol::Construction => {
                self.one_by_one(self.pixmap.as_ref().unwrap_or(&self.window), drawn)?;
            }
            Protocol::Batched => self.together(drawn)?,
            Protocol::Redraw => {
                let from = self.pixmap.as_ref().map_or(self.window.drawable, |it| it.drawable);
                self.window.copy(from)?;
                drawn.requests += 1;
            }
            Protocol::Bitmap => self.pixels(drawn)?,
        }
        if self.drawing.protocol.window().is_none() {
            answered(self.connection)?;
            drawn.requests += 1;
            drawn.replies += 1;
        }
        drawn.bytes += Bytes::new(self.connection.stream().sent() - before);
        Ok(time()?.since(begun))
    }

    /// Each item with an answer, so many on their way.
    fn answered(&self, window: usize, drawn: &mut Drawn) -> io::Result<()> {
        let mut waiting: VecDeque<FocusCookie<'c, 'l>> = VecDeque::with_capacity(window);
        for item in &self.items {
            if waiting.len() == window
                && let Some(answer) = waiting.pop_front()
            {
                answer.reply().map_err(failed)?;
            }
            self.item(&self.window, item, drawn)?;
            waiting.push_back(self.connection.get_input_focus().map_err(failed)?);
            self.connection.flush().map_err(failed)?;
        }
        for answer in waiting {
            answer.reply().map_err(failed)?;
        }
        drawn.requests += self.items.len() as u64;
        drawn.replies += self.items.len() as u64;
        Ok(())
    }

    fn one_by_one(&self, onto: &Canvas<'c, 'l>, drawn: &mut Drawn) -> io::Result<()> {
        self.items.iter().try_for_each(|item| self.item(onto, item, drawn))
    }

    fn item(&self, onto: &Canvas<'c, 'l>, item: &Item, drawn: &mut Drawn) -> io::Result<()> {
        let begun = time()?;
        onto.draw(item)?;
        drawn.requests += 1;
        drawn.busy += self.compute(1, begun);
        Ok(())
    }

    fn together(&self, drawn: &mut Drawn) -> io::Result<()> {
        let begun = time()?;
        drawn.requests += self.window.draw_all(&self.items)?;
        drawn.busy += self.compute(self.items.len() as u64, begun);
        Ok(())
    }

    fn pixels(&self, drawn: &mut Drawn) -> io::Result<()> {
        let begun = time()?;
        // An application that sends pixels has drawn them itself.
        drawn.busy += self.compute(self.items.len() as u64, begun);
        let row = usize::from(WIDTH) / 8;
        for (top, rows) in (0..).step_by(ROWS.into()).zip(self.bits.chunks(usize::from(ROWS) * row))
        {
            self.window.put(top, rows)?;
            drawn.requests += 1;
        }
        Ok(())
    }

    fn compute(&self, items: u64, begun: Time) -> Span {
        let Drawing { application, slowing, speeds, .. } = self.drawing;
        let work = Span::from_nanoseconds(application.nanoseconds().saturating_mul(items));
        compute(work, *slowing, speeds.application, begun)
    }

    /// What was constructed is shown after the measured time, so that it is looked at with the rest,
    /// and the pixmap is black again.
    fn show_what_was_kept(&self) -> io::Result<()> {
        let (Protocol::Construction, Some(pixmap)) = (self.drawing.protocol, &self.pixmap) else {
            return Ok(());
        };
        self.window.copy(pixmap.drawable)?;
        blacken(self.connection, pixmap.drawable)
    }
}

/// Waits until the server has done everything so far.
fn answered(connection: &X11Connection<'_>) -> io::Result<()> {
    let asked = connection.get_input_focus().map_err(failed)?;
    asked.reply().map(drop).map_err(failed)
}

/// A black pixmap of the picture's size.
fn pixmap<'c, 'l>(connection: &'c X11Connection<'l>, has_text: bool) -> io::Result<Canvas<'c, 'l>> {
    let screen = &connection.setup().roots[0];
    let pixmap = connection.generate_id().map_err(failed)?;
    let made = connection.create_pixmap(screen.root_depth, pixmap, screen.root, WIDTH, HEIGHT);
    made.map_err(failed)?;
    blacken(connection, pixmap)?;
    Canvas::new(connection, pixmap, has_text)
}

fn blacken(connection: &X11Connection<'_>, drawable: Drawable) -> io::Result<()> {
    use x11rb::protocol::xproto::CreateGCAux;
    let black = connection.setup().roots[0].black_pixel;
    let context = connection.generate_id().map_err(failed)?;
    let values = CreateGCAux::new().foreground(black);
    connection.create_gc(context, drawable, &values).map_err(failed)?;
    let all = Rectangle { x: 0, y: 0, width: WIDTH, height: HEIGHT };
    connection.poly_fill_rectangle(drawable, context, &[all]).map_err(failed)?;
    connection.free_gc(context).map(drop).map_err(failed)
}
