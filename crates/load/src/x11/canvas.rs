//! Items as X requests to a window or to a pixmap.

use std::io;

use btu_contract::app::{Display, DisplayRequest, HEIGHT, Item, Point, Stipple, Symbol, WIDTH};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, Drawable, FillStyle, Gcontext, ImageFormat, ImageOrder,
    Rectangle, Segment,
};

use super::failed;
use super::glyphs::Glyphs;
use super::line::X11Connection;

/// Pixels of a side of a stipple: all patterns repeat after four.
const TILE: u16 = 8;

/// A drawable, and what is needed to draw items on it.
pub(super) struct Canvas<'c, 'l> {
    connection: &'c X11Connection<'l>,
    pub(super) drawable: Drawable,
    /// For each stipple; lines and pixels are drawn by the first.
    contexts: Vec<Gcontext>,
    glyphs: Option<Glyphs<'c, 'l>>,
}

impl<'c, 'l> Canvas<'c, 'l> {
    pub(super) fn new(
        connection: &'c X11Connection<'l>,
        drawable: Drawable,
        has_text: bool,
    ) -> io::Result<Self> {
        let context = |stipple| context(connection, drawable, stipple);
        let contexts = Stipple::ALL.into_iter().map(context).collect::<io::Result<_>>()?;
        let glyphs = has_text.then(|| Glyphs::new(connection, drawable)).transpose()?;
        Ok(Self { connection, drawable, contexts, glyphs })
    }

    /// A request for one item.
    pub(super) fn draw(&self, item: &Item) -> io::Result<()> {
        self.draw_all(std::slice::from_ref(item)).map(drop)
    }

    /// As few requests as there are kinds of items; their number.
    pub(super) fn draw_all(&self, items: &[Item]) -> io::Result<u64> {
        let mut requests = 0;
        let segments: Vec<Segment> = items.iter().filter_map(segment).collect();
        if !segments.is_empty() {
            let sent = self.connection.poly_segment(self.drawable, self.contexts[0], &segments);
            sent.map_err(failed)?;
            requests += 1;
        }
        for (stipple, context) in Stipple::ALL.into_iter().zip(&self.contexts) {
            let own = items.iter().filter_map(|item| rectangle(item, stipple));
            let own: Vec<Rectangle> = own.collect();
            if !own.is_empty() {
                let sent = self.connection.poly_fill_rectangle(self.drawable, *context, &own);
                sent.map_err(failed)?;
                requests += 1;
            }
        }
        let texts = items.iter().filter_map(text);
        let texts: Vec<(Point, &[u8])> = texts.collect();
        match &self.glyphs {
            Some(glyphs) if !texts.is_empty() => glyphs.draw(&texts).map(|sent| requests + sent),
            _ => Ok(requests),
        }
    }

    /// Rows of the bitmap from `top` on, as the picture has them.
    pub(super) fn put(&self, top: u16, rows: &[u8]) -> io::Result<()> {
        let height = (rows.len() / (usize::from(WIDTH) / 8)) as u16;
        put(self.connection, self.drawable, self.contexts[0], (WIDTH, height), top, rows)
    }

    /// Everything that `from` has.
    pub(super) fn copy(&self, from: Drawable) -> io::Result<()> {
        let sent = self.connection.copy_area(
            from,
            self.drawable,
            self.contexts[0],
            0,
            0,
            0,
            0,
            WIDTH,
            HEIGHT,
        );
        sent.map(drop).map_err(failed)
    }
}

fn coordinate(value: i32) -> i16 {
    // The pictures are ours, and within 800 x 800.
    i16::try_from(value).unwrap_or(i16::MAX)
}

fn segment(item: &Item) -> Option<Segment> {
    let Item::Vector { from, to } = *item else { return None };
    let [x1, y1, x2, y2] = [from.x, from.y, to.x, to.y].map(coordinate);
    Some(Segment { x1, y1, x2, y2 })
}

fn rectangle(item: &Item, of: Stipple) -> Option<Rectangle> {
    let Item::Rectangle { corner, width, height, stipple } = *item else { return None };
    let [x, y] = [corner.x, corner.y].map(coordinate);
    (stipple == of).then_some(Rectangle { x, y, width, height })
}

fn text(item: &Item) -> Option<(Point, &[u8])> {
    let Item::Text { at, characters } = item else { return None };
    let length = characters.iter().position(|one| *one == 0).unwrap_or(characters.len());
    Some((*at, &characters[..length]))
}

/// White, in the pattern of the stipple, which belongs to the drawable as it does to the picture.
fn context(
    connection: &X11Connection<'_>,
    drawable: Drawable,
    stipple: Stipple,
) -> io::Result<Gcontext> {
    let screen = &connection.setup().roots[0];
    let values = CreateGCAux::new()
        .foreground(screen.white_pixel)
        .background(screen.black_pixel)
        .graphics_exposures(0);
    let values = if stipple == Stipple::Full {
        values
    } else {
        values.fill_style(FillStyle::STIPPLED).stipple(pattern(connection, stipple)?)
    };
    let context = connection.generate_id().map_err(failed)?;
    connection.create_gc(context, drawable, &values).map_err(failed)?;
    Ok(context)
}

/// What the rasteriser draws of a stipple, as a pixmap.
fn pattern(connection: &X11Connection<'_>, stipple: Stipple) -> io::Result<Drawable> {
    let item = Item::Rectangle { corner: Point::default(), width: TILE, height: TILE, stipple };
    let tile = connection.generate_id().map_err(failed)?;
    let root = connection.setup().roots[0].root;
    connection.create_pixmap(1, tile, root, TILE, TILE).map_err(failed)?;
    let context = connection.generate_id().map_err(failed)?;
    let values = CreateGCAux::new().foreground(1).background(0);
    connection.create_gc(context, tile, &values).map_err(failed)?;
    put(connection, tile, context, (TILE, TILE), 0, &corner(item, TILE.into())?)?;
    Ok(tile)
}

/// The first octet of each of the upper `rows` of a picture of one item.
pub(super) fn corner(item: Item, rows: usize) -> io::Result<Vec<u8>> {
    let mut display = Display::default();
    let request = DisplayRequest::Add { symbol: Symbol::PICTURE, item, shown: true };
    display.take(&request).map_err(io::Error::other)?;
    let bits = display.picture().bits();
    Ok(bits.chunks(usize::from(WIDTH) / 8).take(rows).map(|row| row[0]).collect())
}

fn put(
    connection: &X11Connection<'_>,
    drawable: Drawable,
    context: Gcontext,
    (width, height): (u16, u16),
    top: u16,
    rows: &[u8],
) -> io::Result<()> {
    let data = as_server_has(connection, rows, usize::from(width) / 8);
    let (bits, top) = (ImageFormat::XY_BITMAP, coordinate(top.into()));
    let sent = connection.put_image(bits, drawable, context, width, height, 0, top, 0, 1, &data);
    sent.map(drop).map_err(failed)
}

/// Rows of so many octets, the left pixel in the highest bit, as the server has them: each padded, and
/// its bits in the server's order, which is that of its octets on all machines of today.
pub(super) fn as_server_has(connection: &X11Connection<'_>, rows: &[u8], row: usize) -> Vec<u8> {
    let setup = connection.setup();
    let padded = row.next_multiple_of(usize::from(setup.bitmap_format_scanline_pad) / 8);
    let in_order = |octet: &u8| match setup.bitmap_format_bit_order {
        ImageOrder::LSB_FIRST => octet.reverse_bits(),
        _ => *octet,
    };
    let padding = std::iter::repeat_n(0, padded - row);
    rows.chunks(row).flat_map(|row| row.iter().map(in_order).chain(padding.clone())).collect()
}
