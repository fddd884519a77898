//! The display file: symbols with their items, kept by the display.

use std::collections::BTreeMap;

use super::{HEIGHT, Item, Picture, Point, REQUEST_BYTES, Symbol, WIDTH};

/// Items that one display keeps.
const MOST_ITEMS: usize = 1_000_000;

/// Pixels that one drawing may touch: a second or so. Symbols that call each other could name
/// billions of items.
const MOST_PIXELS: u64 = 1 << 26;

/// The cost of an item in addition to its pixels, in pixels.
const ITEM_PIXELS: u64 = 32;

/// Symbols with their items.
#[derive(Debug, Clone, Default)]
pub struct DisplayFile {
    symbols: BTreeMap<Symbol, Vec<Item>>,
    items: usize,
}

/// Why an item is not added, or a picture not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DisplayError {
    /// A symbol calls itself or one before it.
    #[error(
        "adding an item to symbol {symbol}: it calls symbol {called}, but only symbols with higher numbers may be called"
    )]
    Backwards {
        /// The symbol that calls.
        symbol: u16,
        /// The one that is called.
        called: u16,
    },
    /// There are too many items.
    #[error(
        "adding an item to symbol {symbol}: the display file is full with 1,000,000 items; draw fewer, or use symbols"
    )]
    Full {
        /// The symbol that is defined.
        symbol: u16,
    },
    /// The picture has too much in it once all calls are followed.
    #[error(
        "drawing the picture: its items touch more than 67,000,000 pixels; draw fewer, or call fewer symbols"
    )]
    TooMuch,
    /// Pixels outside the bitmap.
    #[error(
        "taking {length} octets of bitmap at {offset}: the bitmap has 80000 octets; send its parts in order"
    )]
    Bits {
        /// The index of the first octet.
        offset: u32,
        /// The number of octets.
        length: usize,
    },
}

impl DisplayFile {
    /// Adds an item to a symbol, which need not exist.
    ///
    /// # Errors
    /// When the item calls backwards, or the file is full.
    pub fn add(&mut self, symbol: Symbol, item: Item) -> Result<(), DisplayError> {
        match item {
            Item::Call { symbol: called, .. } if called <= symbol => {
                return Err(DisplayError::Backwards { symbol: symbol.0, called: called.0 });
            }
            _ if self.items >= MOST_ITEMS => return Err(DisplayError::Full { symbol: symbol.0 }),
            _ => {}
        }
        self.symbols.entry(symbol).or_default().push(item);
        self.items += 1;
        Ok(())
    }

    /// The number of items in the file, calls of symbols included.
    pub const fn items(&self) -> usize {
        self.items
    }

    /// Octets that the items take, 20 each, as Table 5-2 counts them.
    pub const fn bytes(&self) -> usize {
        self.items * REQUEST_BYTES
    }

    /// Octets of memory that the items and their symbols hold, as they are kept by this program.
    pub fn memory(&self) -> usize {
        let kept = |items: &Vec<Item>| {
            items.capacity() * size_of::<Item>() + size_of::<(Symbol, Vec<Item>)>()
        };
        self.symbols.values().map(kept).sum()
    }

    /// Draws the whole picture.
    pub(super) fn draw(&self, picture: &mut Picture) -> Result<(), DisplayError> {
        self.draw_item(&Item::Call { symbol: Symbol::PICTURE, at: Point::default() }, picture)
    }

    /// Draws one item; of a call, all that the symbol has by now. What is left to draw waits on a
    /// list, not on the stack, so that it does not matter how deep calls go. The list never holds
    /// more than the file: calls only go to later symbols, so each symbol's items are on it once at
    /// most.
    pub(super) fn draw_item(&self, item: &Item, picture: &mut Picture) -> Result<(), DisplayError> {
        let mut left = MOST_PIXELS;
        let mut waiting = vec![(*item, Point::default())];
        while let Some((item, origin)) = waiting.pop() {
            left = left.checked_sub(self.cost(&item)).ok_or(DisplayError::TooMuch)?;
            match item {
                Item::Vector { from, to } => picture.line(from.moved(origin), to.moved(origin)),
                Item::Rectangle { corner, width, height, stipple } => {
                    picture.fill(corner.moved(origin), width, height, stipple);
                }
                Item::Text { at, characters } => picture.text(at.moved(origin), &characters),
                Item::Call { symbol, at } => {
                    waiting.extend(self.of(symbol).iter().map(|item| (*item, at.moved(origin))));
                }
            }
        }
        Ok(())
    }

    /// The largest cost of drawing an item, in pixels; a call pays for putting its items on the
    /// list.
    fn cost(&self, item: &Item) -> u64 {
        let pixels = match *item {
            Item::Vector { from, to } => {
                u64::from(from.x.abs_diff(to.x).max(from.y.abs_diff(to.y)))
            }
            Item::Rectangle { width, height, .. } => {
                u64::from(width.min(WIDTH)) * u64::from(height.min(HEIGHT))
            }
            Item::Text { characters, .. } => 128 * characters.len() as u64,
            Item::Call { symbol, .. } => self.of(symbol).len() as u64,
        };
        ITEM_PIXELS + pixels
    }

    fn of(&self, symbol: Symbol) -> &[Item] {
        self.symbols.get(&symbol).map_or(&[], Vec::as_slice)
    }
}
