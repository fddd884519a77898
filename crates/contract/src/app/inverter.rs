//! The picture of a circuit: five by six NMOS inverters of 26 rectangles in four stipples.
//!
//! The study gives the counts (30 inverters, 26 rectangles, 23 primitive items, about 400 pixels on
//! a side), not the places; these are ours. An inverter has 20 rectangles of its own and two
//! contact cuts of three.

use super::{Item, Point, Stipple, Symbol};

const CONTACT: Symbol = Symbol(2);
const INVERTER: Symbol = Symbol(1);

const COLUMNS: i32 = 5;
const ROWS: i32 = 6;

/// From one inverter to the next: 400 pixels across, 396 down.
const PITCH: Point = Point::new(80, 66);

/// Upper left corner of the picture's first inverter.
const ORIGIN: Point = Point::new(200, 202);

const DIFFUSION: Stipple = Stipple::Falling;
const POLYSILICON: Stipple = Stipple::RaisingNetwork;
const METAL: Stipple = Stipple::Grey;
const CUT: Stipple = Stipple::Full;

/// A rectangle: stipple, left, top, width, height.
type Box = (Stipple, i32, i32, u16, u16);

/// Diffusion and metal with a hole between them.
const CONTACT_CUT: [Box; 3] = [(DIFFUSION, 0, 0, 12, 12), (METAL, 0, 0, 12, 12), (CUT, 4, 4, 4, 4)];

/// The places of an inverter's contact cuts: at the supply and at ground.
const CONTACTS: [Point; 2] = [Point::new(34, 0), Point::new(34, 54)];

/// The rest of it.
const OWN: [Box; 20] = [
    // Supply and ground, across the cell, with their feet.
    (METAL, 0, 2, 80, 8),
    (METAL, 0, 56, 80, 8),
    (METAL, 10, 10, 4, 4),
    (METAL, 66, 52, 4, 4),
    // The channel from supply to ground.
    (DIFFUSION, 36, 12, 8, 42),
    (DIFFUSION, 32, 26, 16, 8),
    // The pull-up: gate, its tie to the output, its implant drawn as cuts.
    (POLYSILICON, 28, 14, 24, 10),
    (POLYSILICON, 36, 24, 8, 6),
    (CUT, 30, 16, 2, 2),
    (CUT, 48, 16, 2, 2),
    (CUT, 30, 20, 2, 2),
    (CUT, 48, 20, 2, 2),
    // The pull-down: gate and its way from the input.
    (POLYSILICON, 28, 42, 24, 6),
    (POLYSILICON, 8, 42, 20, 4),
    (POLYSILICON, 0, 38, 8, 8),
    (CUT, 2, 40, 4, 4),
    // The output to the right.
    (METAL, 48, 28, 24, 4),
    (METAL, 72, 26, 8, 8),
    (CUT, 74, 28, 4, 4),
    (CUT, 38, 28, 4, 4),
];

/// The items of all 780 rectangles.
pub(super) fn unstructured() -> Vec<Item> {
    let inverter = |at: Point| {
        let contacts = CONTACTS
            .into_iter()
            .flat_map(move |contact| CONTACT_CUT.map(|one| item(one, contact.moved(at))));
        OWN.into_iter().map(move |one| item(one, at)).chain(contacts)
    };
    places().flat_map(inverter).collect()
}

/// The contact cut, then the inverter, then 30 calls of it.
pub(super) fn structured() -> Vec<(Symbol, Item)> {
    let contact = CONTACT_CUT.map(|one| (CONTACT, item(one, Point::default())));
    let own = OWN.map(|one| (INVERTER, item(one, Point::default())));
    let cuts = CONTACTS.map(|at| (INVERTER, Item::Call { symbol: CONTACT, at }));
    let calls = places().map(|at| (Symbol::PICTURE, Item::Call { symbol: INVERTER, at }));
    contact.into_iter().chain(own).chain(cuts).chain(calls).collect()
}

fn places() -> impl Iterator<Item = Point> {
    let place = |row: i32, column: i32| ORIGIN.moved(Point::new(column * PITCH.x, row * PITCH.y));
    (0..ROWS).flat_map(move |row| (0..COLUMNS).map(move |column| place(row, column)))
}

fn item((stipple, left, top, width, height): Box, at: Point) -> Item {
    Item::Rectangle { corner: at.moved(Point::new(left, top)), width, height, stipple }
}
