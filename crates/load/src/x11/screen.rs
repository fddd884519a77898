//! The display's side: a window of the picture's size, what it shows, and whether that is the
//! picture.

use std::io;

use btu_contract::app::{Display, Displayed, Drawing, HEIGHT, WIDTH};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, ImageFormat, ImageOrder, Window, WindowClass,
};

use super::failed;
use super::line::X11Connection;
use super::meeting::Meeting;

/// Octets of a pixel in an image of 24 planes.
const PIXEL: usize = 4;

/// Shows pictures until the application ends the run.
pub(super) fn show(connection: &X11Connection<'_>, drawing: &Drawing) -> io::Result<Displayed> {
    let meeting = Meeting::of_display(connection)?;
    let window = window(connection)?;
    let expected = drawing.workload.picture().digest();
    let mut shown = Displayed::default();
    let mut last = 0;
    loop {
        let Some(order) = meeting.heard()?.filter(|order| *order != last || *order == 0) else {
            meeting.wait()?;
            continue;
        };
        if last > 0 {
            shown.pictures += 1;
            shown.digest = digest(connection, window)?;
            shown.wrong += u64::from(shown.digest != expected);
        }
        connection.clear_area(false, window, 0, 0, 0, 0).map_err(failed)?;
        meeting.say(window)?;
        if order == 0 {
            meeting.wait_for_the_end()?;
            return Ok(shown);
        }
        last = order;
    }
}

/// A black window; nothing covers it.
fn window(connection: &X11Connection<'_>) -> io::Result<Window> {
    let screen = &connection.setup().roots[0];
    let window = connection.generate_id().map_err(failed)?;
    let looks = CreateWindowAux::new().background_pixel(screen.black_pixel).override_redirect(1);
    let (class, visual) = (WindowClass::INPUT_OUTPUT, screen.root_visual);
    let (depth, root) = (screen.root_depth, screen.root);
    let made = connection
        .create_window(depth, window, root, 0, 0, WIDTH, HEIGHT, 0, class, visual, &looks);
    made.map_err(failed)?;
    connection.map_window(window).map_err(failed)?;
    Ok(window)
}

/// Of what the window shows: every pixel that is not black.
fn digest(connection: &X11Connection<'_>, window: Window) -> io::Result<String> {
    let all = u32::MAX;
    let asked = connection.get_image(ImageFormat::Z_PIXMAP, window, 0, 0, WIDTH, HEIGHT, all);
    let image = asked.map_err(failed)?.reply().map_err(failed)?.data;
    let colours = match connection.setup().image_byte_order {
        ImageOrder::LSB_FIRST => 0..3,
        _ => 1..4,
    };
    let is_set = |pixel: &[u8]| pixel[colours.clone()].iter().any(|colour| *colour != 0);
    let octet = |pixels: &[u8]| {
        let bits = pixels.chunks(PIXEL).map(is_set);
        bits.fold(0, |octet, bit| octet << 1 | u8::from(bit))
    };
    let bits: Vec<u8> = image.chunks_exact(8 * PIXEL).map(octet).collect();
    let mut display = Display::default();
    display.set_bits(0, &bits).map_err(io::Error::other)?;
    Ok(display.picture().digest())
}
