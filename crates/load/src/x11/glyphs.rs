//! Characters of 8 x 16 pixels, which the application brings: glyphs of the extension RENDER, as
//! programs of today draw text.

use std::io;

use btu_contract::app::{Item, Point};
use x11rb::connection::Connection as _;
use x11rb::protocol::render::{
    Color, ConnectionExt as _, CreatePictureAux, Glyphinfo, Glyphset, PictOp, Pictformat, Picture,
    QueryPictFormatsReply,
};
use x11rb::protocol::xproto::Drawable;

use super::canvas::{as_server_has, corner};
use super::failed;
use super::line::X11Connection;

const WIDTH: i16 = 8;
const HEIGHT: u16 = 16;

/// Octets before the characters of each text in a request: their number, and the way from the text
/// before.
const HEAD: usize = 8;

/// Octets of texts in one request: less than any server takes.
const MOST: usize = 64_000;

/// The glyphs, their colour, and where they are drawn.
pub(super) struct Glyphs<'c, 'l> {
    connection: &'c X11Connection<'l>,
    set: Glyphset,
    white: Picture,
    onto: Picture,
}

impl<'c, 'l> Glyphs<'c, 'l> {
    /// Brings all printable characters.
    pub(super) fn new(connection: &'c X11Connection<'l>, drawable: Drawable) -> io::Result<Self> {
        connection.render_query_version(0, 11).map_err(failed)?.reply().map_err(failed)?;
        let formats =
            connection.render_query_pict_formats().map_err(failed)?.reply().map_err(failed)?;
        let [bits, screen] = chosen(&formats, connection).ok_or_else(|| {
            io::Error::other("the X server has no format of one bit for glyphs; is RENDER off?")
        })?;
        let id = || connection.generate_id().map_err(failed);
        let (set, white, onto) = (id()?, id()?, id()?);
        connection.render_create_glyph_set(set, bits).map_err(failed)?;
        let (red, green, blue, alpha) = (0xffff, 0xffff, 0xffff, 0xffff);
        connection
            .render_create_solid_fill(white, Color { red, green, blue, alpha })
            .map_err(failed)?;
        let usual = CreatePictureAux::new();
        connection.render_create_picture(onto, drawable, screen, &usual).map_err(failed)?;
        let glyphs = Self { connection, set, white, onto };
        glyphs.bring()?;
        Ok(glyphs)
    }

    fn bring(&self) -> io::Result<()> {
        let characters = b' '..=b'~';
        let names: Vec<u32> = characters.clone().map(u32::from).collect();
        let shape = Glyphinfo { width: 8, height: HEIGHT, x: 0, y: 0, x_off: WIDTH, y_off: 0 };
        let mut rows = Vec::new();
        for one in characters {
            let characters = [one, 0, 0, 0, 0, 0, 0, 0];
            rows.extend(corner(Item::Text { at: Point::default(), characters }, HEIGHT.into())?);
        }
        let bits = as_server_has(self.connection, &rows, 1);
        let shapes = vec![shape; names.len()];
        let sent = self.connection.render_add_glyphs(self.set, &names, &shapes, &bits);
        sent.map(drop).map_err(failed)
    }

    /// These texts; the number of requests.
    pub(super) fn draw(&self, texts: &[(Point, &[u8])]) -> io::Result<u64> {
        let mut commands = Vec::new();
        let mut pen = Point::default();
        let mut requests = 0;
        for (at, characters) in texts {
            if commands.len() + HEAD + characters.len() > MOST {
                self.send(&commands)?;
                requests += 1;
                (commands, pen) = (Vec::new(), Point::default());
            }
            let way = [at.x - pen.x, at.y - pen.y].map(|way| way as i16);
            let length = characters.len() as u8;
            commands.extend([length, 0, 0, 0]);
            commands.extend(way.iter().flat_map(|way| way.to_ne_bytes()));
            commands.extend(*characters);
            commands.resize(commands.len().next_multiple_of(4), 0);
            pen = at.moved(Point::new(i32::from(WIDTH) * i32::from(length), 0));
        }
        self.send(&commands)?;
        Ok(requests + 1)
    }

    fn send(&self, commands: &[u8]) -> io::Result<()> {
        let (none, over) = (0, PictOp::OVER);
        let sent = self
            .connection
            .render_composite_glyphs8(over, self.white, self.onto, none, self.set, 0, 0, commands);
        sent.map(drop).map_err(failed)
    }
}

/// Formats of one bit, and of the screen.
fn chosen(
    formats: &QueryPictFormatsReply,
    connection: &X11Connection<'_>,
) -> Option<[Pictformat; 2]> {
    let root = connection.setup().roots[0].root_visual;
    let bits = formats.formats.iter().find(|one| one.depth == 1 && one.direct.alpha_mask == 1)?;
    let mut visuals = formats.screens.first()?.depths.iter().flat_map(|depth| depth.visuals.iter());
    Some([bits.id, visuals.find(|one| one.visual == root)?.format])
}
