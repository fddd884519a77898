//! How the two clients of an X server agree on pictures: by properties of its root window.
//!
//! The application orders each picture by its number, as it does of btu's own display; 0 ends the
//! run. The other client, at the server's host, reads back what the picture before has become,
//! clears the window, and answers with the window's name. The server
//! must not end before the last answer has arrived: then the application hangs up, which destroys a
//! window of its own, and of that the other client is told.

use std::io;

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask,
    PropMode, Window, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::failed;
use super::line::X11Connection;

/// One side's view of the two properties.
pub(super) struct Meeting<'c, 'l> {
    connection: &'c X11Connection<'l>,
    root: Window,
    said: Atom,
    heard: Atom,
}

impl<'c, 'l> Meeting<'c, 'l> {
    /// The application's side.
    pub(super) fn of_application(connection: &'c X11Connection<'l>) -> io::Result<Self> {
        let root = connection.setup().roots[0].root;
        let own = connection.generate_id().map_err(failed)?;
        let (class, looks) = (WindowClass::INPUT_ONLY, CreateWindowAux::new());
        let made = connection.create_window(0, own, root, 0, 0, 1, 1, 0, class, 0, &looks);
        made.map_err(failed)?;
        Self::new(connection, b"BTU_ORDER", b"BTU_WINDOW", EventMask::PROPERTY_CHANGE)
    }

    /// The display's side.
    pub(super) fn of_display(connection: &'c X11Connection<'l>) -> io::Result<Self> {
        let events = EventMask::PROPERTY_CHANGE | EventMask::SUBSTRUCTURE_NOTIFY;
        Self::new(connection, b"BTU_WINDOW", b"BTU_ORDER", events)
    }

    fn new(
        connection: &'c X11Connection<'l>,
        said: &[u8],
        heard: &[u8],
        events: EventMask,
    ) -> io::Result<Self> {
        let root = connection.setup().roots[0].root;
        let atom = |name| {
            let cookie = connection.intern_atom(false, name).map_err(failed)?;
            Ok::<Atom, io::Error>(cookie.reply().map_err(failed)?.atom)
        };
        let changes = ChangeWindowAttributesAux::new().event_mask(events);
        connection.change_window_attributes(root, &changes).map_err(failed)?;
        Ok(Self { connection, root, said: atom(said)?, heard: atom(heard)? })
    }

    pub(super) fn say(&self, number: u32) -> io::Result<()> {
        let (mode, kind) = (PropMode::REPLACE, AtomEnum::CARDINAL);
        let said = self.connection.change_property32(mode, self.root, self.said, kind, &[number]);
        said.map_err(failed)?;
        self.connection.flush().map_err(failed)
    }

    /// What the other side has said by now, if anything.
    pub(super) fn heard(&self) -> io::Result<Option<u32>> {
        let kind = AtomEnum::CARDINAL;
        let asked = self.connection.get_property(false, self.root, self.heard, kind, 0, 1);
        let answer = asked.map_err(failed)?.reply().map_err(failed)?;
        Ok(answer.value32().and_then(|mut words| words.next()))
    }

    /// Waits until the other side says something. An error that came of an earlier request ends the
    /// run.
    pub(super) fn wait(&self) -> io::Result<()> {
        self.wait_for(
            |event| matches!(event, Event::PropertyNotify(change) if change.atom == self.heard),
        )
    }

    /// Waits until the application has hung up.
    pub(super) fn wait_for_the_end(&self) -> io::Result<()> {
        self.wait_for(|event| matches!(event, Event::DestroyNotify(_)))
    }

    fn wait_for(&self, is_due: impl Fn(&Event) -> bool) -> io::Result<()> {
        loop {
            match self.connection.wait_for_event().map_err(failed)? {
                event if is_due(&event) => return Ok(()),
                Event::Error(error) => {
                    return Err(io::Error::other(format!("the X server refused: {error:?}")));
                }
                _ => {}
            }
        }
    }
}
