//! The display: a display file and the picture that is shown.

use super::{DisplayError, DisplayFile, DisplayRequest, Item, PICTURE_BYTES, Picture, Symbol};

/// Takes requests in whatever order a protocol sends them.
#[derive(Debug, Clone, Default)]
pub struct Display {
    file: DisplayFile,
    picture: Picture,
}

impl Display {
    /// Performs a request. An item that is added to the picture and shown is drawn at once; one
    /// that is added to another symbol is drawn with the next [`DisplayRequest::Show`] or with the next
    /// call of the symbol. For [`DisplayRequest::Bits`] the octets that follow are given to
    /// [`Self::set_bits`]; the request alone changes nothing.
    ///
    /// # Errors
    /// When an item cannot be added, or the picture has too many.
    pub fn take(&mut self, request: &DisplayRequest) -> Result<(), DisplayError> {
        match *request {
            DisplayRequest::Add { symbol, item, shown } => self.add(symbol, item, shown),
            DisplayRequest::Show => self.file.draw(&mut self.picture),
            DisplayRequest::Redraw => {
                self.picture = Picture::default();
                self.file.draw(&mut self.picture)
            }
            DisplayRequest::Bits { offset, length } => check(offset, length as usize),
        }
    }

    /// Sets the pixels of a part of the bitmap.
    ///
    /// # Errors
    /// When it does not lie within the bitmap.
    pub fn set_bits(&mut self, offset: u32, bits: &[u8]) -> Result<(), DisplayError> {
        check(offset, bits.len())?;
        self.picture.set_bits(offset as usize, bits);
        Ok(())
    }

    /// The picture that the display shows now.
    pub const fn picture(&self) -> &Picture {
        &self.picture
    }

    /// The display file, in which the display stores the items.
    pub const fn file(&self) -> &DisplayFile {
        &self.file
    }

    fn add(&mut self, symbol: Symbol, item: Item, shown: bool) -> Result<(), DisplayError> {
        self.file.add(symbol, item)?;
        if shown && symbol == Symbol::PICTURE {
            self.file.draw_item(&item, &mut self.picture)?;
        }
        Ok(())
    }
}

fn check(offset: u32, length: usize) -> Result<(), DisplayError> {
    let end = (offset as usize).saturating_add(length);
    if end <= PICTURE_BYTES { Ok(()) } else { Err(DisplayError::Bits { offset, length }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{Point, Stipple, Workload};
    use proptest::prelude::*;

    fn add(symbol: u16, item: Item) -> DisplayRequest {
        DisplayRequest::Add { symbol: Symbol(symbol), item, shown: false }
    }

    fn call(symbol: u16) -> Item {
        Item::Call { symbol: Symbol(symbol), at: Point::default() }
    }

    fn taken(requests: &[DisplayRequest]) -> Display {
        let mut display = Display::default();
        for request in requests {
            display.take(request).unwrap();
        }
        display
    }

    #[test]
    fn what_is_added_waits_until_it_is_shown() {
        let item = Item::Rectangle {
            corner: Point::new(0, 0),
            width: 2,
            height: 2,
            stipple: Stipple::Full,
        };
        let mut display = taken(&[add(0, item)]);
        assert_eq!(display.picture().pixels_set(), 0);
        display.take(&DisplayRequest::Show).unwrap();
        assert_eq!(display.picture().pixels_set(), 4);
        assert_eq!((display.file().items(), display.file().bytes()), (1, 20));
    }

    #[test]
    fn a_symbol_calls_only_those_after_it() {
        let mut display = Display::default();
        let refused = display.take(&add(3, call(3))).unwrap_err();
        assert_eq!(refused, DisplayError::Backwards { symbol: 3, called: 3 });
        assert_eq!(
            display.take(&add(3, call(2))),
            Err(DisplayError::Backwards { symbol: 3, called: 2 })
        );
        assert_eq!(display.take(&add(3, call(4))), Ok(()));
    }

    /// Thirty symbols that each call the next one four times name 4^30 items: refused, and soon.
    #[test]
    fn symbols_that_name_too_much_are_refused() {
        let bomb: Vec<DisplayRequest> =
            (0..30).flat_map(|symbol| [add(symbol, call(symbol + 1)); 4]).collect();
        assert_eq!(taken(&bomb).take(&DisplayRequest::Show), Err(DisplayError::TooMuch));
        let wall = Item::Rectangle {
            corner: Point::default(),
            width: 800,
            height: 800,
            stipple: Stipple::Full,
        };
        assert_eq!(
            taken(&[add(0, wall); 105]).take(&DisplayRequest::Show),
            Err(DisplayError::TooMuch)
        );
        // A chain as long as there are symbols is no burden.
        let chain: Vec<DisplayRequest> =
            (0..u16::MAX).map(|symbol| add(symbol, call(symbol + 1))).collect();
        assert_eq!(taken(&chain).take(&DisplayRequest::Redraw), Ok(()));
    }

    #[test]
    fn bits_outside_the_bitmap_are_refused() {
        let mut display = Display::default();
        assert_eq!(
            display.set_bits(79_999, &[1, 2]),
            Err(DisplayError::Bits { offset: 79_999, length: 2 })
        );
        assert!(
            display.take(&DisplayRequest::Bits { offset: u32::MAX, length: u32::MAX }).is_err()
        );
        assert_eq!(display.set_bits(79_999, &[1]), Ok(()));
        assert_eq!(display.picture().pixels_set(), 1);
    }

    proptest! {
        /// Any order, any of them shown at once, some of them twice: an equal picture.
        #[test]
        fn the_order_of_items_cannot_be_seen(order in Just((0..780usize).collect::<Vec<_>>()).prop_shuffle(), seed: u64) {
            let workload = Workload::Rectangles;
            let requests = workload.requests(false);
            let mut display = Display::default();
            for place in order {
                let DisplayRequest::Add { symbol, item, .. } = requests[place] else { continue };
                let shown = seed >> (place % 64) & 1 == 1;
                display.take(&DisplayRequest::Add { symbol, item, shown }).unwrap();
                if place % 100 == 7 {
                    display.take(&DisplayRequest::Add { symbol, item, shown: true }).unwrap();
                }
            }
            display.take(&DisplayRequest::Show).unwrap();
            prop_assert_eq!(display.picture().digest(), workload.picture().digest());
        }
    }
}
