//! A request of an application to a display, in 20 octets: the study's size of one item on the
//! network.

use super::{Item, Point, Stipple, Symbol};

/// Octets of every request.
pub const REQUEST_BYTES: usize = 20;

/// Coordinates reach from minus this to this: far outside any picture, and short enough that a line
/// is drawn at once.
const FARTHEST: i32 = 0x7fff;

const VECTOR: u8 = 1;
const RECTANGLE: u8 = 2;
const TEXT: u8 = 3;
const CALL: u8 = 4;
const SHOW: u8 = 8;
const REDRAW: u8 = 9;
const BITS: u8 = 10;

/// In the second octet: show the item at once.
const SHOWN: u8 = 0x80;

/// A request of the application to the display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayRequest {
    /// Adds an item to a symbol.
    Add {
        /// The symbol; it need not exist yet.
        symbol: Symbol,
        /// The item that is sent.
        item: Item,
        /// Show it at once (incremental); else it waits for [`DisplayRequest::Show`] (batch).
        shown: bool,
    },
    /// Shows everything that was added.
    Show,
    /// Clears the picture and draws it again from the display file.
    Redraw,
    /// So many octets of the picture's bitmap follow, from this octet on.
    Bits {
        /// First octet, from 0.
        offset: u32,
        /// The number of octets.
        length: u32,
    },
}

/// Why octets are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// An unknown first octet.
    #[error(
        "reading a request: no request begins with octet {0}; do both ends have the same version?"
    )]
    Kind(u8),
    /// An attribute that the kind does not have.
    #[error(
        "reading a request of kind {kind}: it has no attribute {attribute}; do both ends have the same version?"
    )]
    Attribute {
        /// The kind, which is the first octet.
        kind: u8,
        /// The attribute, which is the second octet.
        attribute: u8,
    },
    /// A number outside its range.
    #[error(
        "reading a request of kind {kind}: {value} is outside its range; coordinates go from -32767 to 32767"
    )]
    Range {
        /// The kind, which is the first octet.
        kind: u8,
        /// The number in the message.
        value: i64,
    },
}

impl DisplayRequest {
    /// Its form on the network: kind, attribute, symbol, four numbers of 32 bits, the high octet
    /// first.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        match *self {
            Self::Add { symbol, item, shown } => {
                encode_item(symbol, &item, if shown { SHOWN } else { 0 })
            }
            Self::Show => write(SHOW, 0, Symbol::PICTURE, [0; 4]),
            Self::Redraw => write(REDRAW, 0, Symbol::PICTURE, [0; 4]),
            Self::Bits { offset, length } => {
                write(BITS, 0, Symbol::PICTURE, [offset, length, 0, 0])
            }
        }
    }

    /// The request that `octets` are.
    ///
    /// # Errors
    /// When they are none.
    pub fn decode(octets: &[u8; REQUEST_BYTES]) -> Result<Self, RequestError> {
        let [kind, attribute, symbol_high, symbol_low, ..] = *octets;
        let symbol = Symbol(u16::from_be_bytes([symbol_high, symbol_low]));
        let words = std::array::from_fn(|index| {
            let start = 4 + 4 * index;
            u32::from_be_bytes([
                octets[start],
                octets[start + 1],
                octets[start + 2],
                octets[start + 3],
            ])
        });
        match kind {
            SHOW => plain(kind, attribute, Self::Show),
            REDRAW => plain(kind, attribute, Self::Redraw),
            BITS => plain(kind, attribute, Self::Bits { offset: words[0], length: words[1] }),
            _ => {
                let item = decode_item(kind, attribute & !SHOWN, words)?;
                Ok(Self::Add { symbol, item, shown: attribute & SHOWN != 0 })
            }
        }
    }
}

fn plain(kind: u8, attribute: u8, request: DisplayRequest) -> Result<DisplayRequest, RequestError> {
    if attribute == 0 { Ok(request) } else { Err(RequestError::Attribute { kind, attribute }) }
}

fn encode_item(symbol: Symbol, item: &Item, shown: u8) -> [u8; REQUEST_BYTES] {
    let pair = |point: Point| [point.x.cast_unsigned(), point.y.cast_unsigned()];
    match *item {
        Item::Vector { from, to } => {
            let ([a, b], [c, d]) = (pair(from), pair(to));
            write(VECTOR, shown, symbol, [a, b, c, d])
        }
        Item::Rectangle { corner, width, height, stipple } => {
            let [a, b] = pair(corner);
            write(
                RECTANGLE,
                shown | stipple as u8,
                symbol,
                [a, b, u32::from(width), u32::from(height)],
            )
        }
        Item::Text { at, characters } => {
            let [x, y] = pair(at);
            let mut octets = write(TEXT, shown, symbol, [x, y, 0, 0]);
            octets[REQUEST_BYTES - 8..].copy_from_slice(&characters);
            octets
        }
        Item::Call { symbol: called, at } => {
            let [a, b] = pair(at);
            write(CALL, shown, symbol, [a, b, u32::from(called.0), 0])
        }
    }
}

fn write(kind: u8, attribute: u8, symbol: Symbol, words: [u32; 4]) -> [u8; REQUEST_BYTES] {
    let mut octets = [0; REQUEST_BYTES];
    octets[0] = kind;
    octets[1] = attribute;
    octets[2..4].copy_from_slice(&symbol.0.to_be_bytes());
    for (place, word) in octets[4..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    octets
}

fn decode_item(kind: u8, attribute: u8, [a, b, c, d]: [u32; 4]) -> Result<Item, RequestError> {
    let stipple = match (kind, attribute) {
        (RECTANGLE, index) => Stipple::ALL.get(usize::from(index)).copied(),
        (_, 0) => Some(Stipple::Full),
        _ => None,
    };
    let refused = RequestError::Attribute { kind, attribute };
    let point = |x: u32, y: u32| Ok(Point { x: coordinate(kind, x)?, y: coordinate(kind, y)? });
    let size = |value: u32| {
        u16::try_from(value).map_err(|_| RequestError::Range { kind, value: value.into() })
    };
    match kind {
        VECTOR => Ok(Item::Vector { from: point(a, b)?, to: point(c, d)? }),
        RECTANGLE => {
            let stipple = stipple.ok_or(refused)?;
            Ok(Item::Rectangle { corner: point(a, b)?, width: size(c)?, height: size(d)?, stipple })
        }
        TEXT => {
            let mut characters = [0; 8];
            characters[..4].copy_from_slice(&c.to_be_bytes());
            characters[4..].copy_from_slice(&d.to_be_bytes());
            Ok(Item::Text { at: point(a, b)?, characters })
        }
        CALL => Ok(Item::Call { symbol: Symbol(size(c)?), at: point(a, b)? }),
        _ => Err(RequestError::Kind(kind)),
    }
    .and_then(|item| stipple.map(|_| item).ok_or(refused))
}

fn coordinate(kind: u8, word: u32) -> Result<i32, RequestError> {
    let value = word.cast_signed();
    let near = (-FARTHEST..=FARTHEST).contains(&value);
    if near { Ok(value) } else { Err(RequestError::Range { kind, value: value.into() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octets_of_a_rectangle() {
        let item = Item::Rectangle {
            corner: Point::new(-2, 3),
            width: 4,
            height: 5,
            stipple: Stipple::RaisingNetwork,
        };
        let octets = DisplayRequest::Add { symbol: Symbol(258), item, shown: true }.encode();
        assert_eq!(octets, [2, 0x83, 1, 2, 255, 255, 255, 254, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5]);
    }

    #[test]
    fn what_is_no_request_is_refused_in_one_line() {
        let with = |change: fn(&mut [u8; REQUEST_BYTES])| {
            let item = Item::Vector { from: Point::new(1, 2), to: Point::new(3, 4) };
            let mut octets =
                DisplayRequest::Add { symbol: Symbol::PICTURE, item, shown: false }.encode();
            change(&mut octets);
            DisplayRequest::decode(&octets).unwrap_err()
        };
        assert_eq!(with(|octets| octets[0] = 0), RequestError::Kind(0));
        assert_eq!(
            with(|octets| octets[1] = 1),
            RequestError::Attribute { kind: VECTOR, attribute: 1 }
        );
        assert_eq!(
            with(|octets| octets[5] = 1),
            RequestError::Range { kind: VECTOR, value: 65_537 }
        );
        assert!(!with(|octets| octets[0] = 99).to_string().contains('\n'));
    }

    fn points() -> impl Strategy<Value = Point> {
        (-FARTHEST..=FARTHEST, -FARTHEST..=FARTHEST).prop_map(|(x, y)| Point { x, y })
    }

    fn items() -> impl Strategy<Value = Item> {
        prop_oneof![
            (points(), points()).prop_map(|(from, to)| Item::Vector { from, to }),
            (points(), any::<u16>(), any::<u16>(), 0..4usize).prop_map(
                |(corner, width, height, stipple)| {
                    Item::Rectangle { corner, width, height, stipple: Stipple::ALL[stipple] }
                }
            ),
            (points(), any::<[u8; 8]>()).prop_map(|(at, characters)| Item::Text { at, characters }),
            (any::<u16>(), points())
                .prop_map(|(symbol, at)| Item::Call { symbol: Symbol(symbol), at }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(item in items(), symbol: u16, shown: bool) {
            let request = DisplayRequest::Add { symbol: Symbol(symbol), item, shown };
            prop_assert_eq!(DisplayRequest::decode(&request.encode()), Ok(request));
        }

        /// Any octets: a request that encodes to them again, or an error; never a panic.
        #[test]
        fn any_octets_have_an_answer(octets: [u8; REQUEST_BYTES]) {
            if let Ok(request) = DisplayRequest::decode(&octets) {
                prop_assert_eq!(DisplayRequest::decode(&request.encode()), Ok(request));
            }
        }
    }
}
