//! Conversations with the kernel by netlink (netlink(7)): one request after the other, without async.
//!
//! A connection belongs to the network namespace of the thread that opened it, for ever, wherever it is used.
//!
//! Source: `linux/netlink.h`. An attribute is a length (with these four octets of head, without
//! padding), a kind, and its value, padded to four octets. Numbers are in the machine's own order.

mod connection;
mod links;

pub use connection::{Connection, Protocol, error_number, flags};
pub use links::{Links, NewEnd};
pub(crate) use links::{index_of, link_message, link_settings};

/// A list of attributes, after a fixed structure where the message has one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(Vec<u8>);

const HEAD: usize = 4;
/// The upper bits of a kind are flags (nested, byte order).
const KIND_MASK: u16 = 0x3fff;

impl Attributes {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A fixed structure with a size that is a multiple of four, and no attribute yet.
    pub fn after(structure: &[u8]) -> Self {
        debug_assert!(structure.len().is_multiple_of(HEAD));
        Self(structure.to_vec())
    }

    /// Adds an attribute.
    ///
    /// # Panics
    /// When the value is longer than an attribute can be: nothing here makes one.
    #[must_use]
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length =
            u16::try_from(HEAD + value.len()).expect("an attribute is shorter than 64 KiB");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(HEAD), 0);
        self
    }

    /// Adds a number of 32 bits.
    #[must_use]
    pub fn with_u32(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Adds a text with its final zero.
    #[must_use]
    pub fn with_text(self, kind: u16, text: &str) -> Self {
        self.with(kind, &[text.as_bytes(), &[0]].concat())
    }

    /// Adds an attribute that consists of attributes.
    #[must_use]
    pub fn with_nested(self, kind: u16, inner: &Self) -> Self {
        self.with(kind, &inner.0)
    }

    /// As they are sent.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The attributes in `bytes`, up to the first that does not fit.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(left, 0)?);
        let kind = u16_at(left, 2)? & KIND_MASK;
        let value = left.get(HEAD..length)?;
        left = left.get(length.next_multiple_of(HEAD)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of a kind.
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

/// The text up to the first zero octet.
pub fn text_of(value: &[u8]) -> String {
    let text = value.split(|octet| *octet == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The number of 16 bits at a place.
pub fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(place..place + 2)?.try_into().ok()?))
}

/// The number of 32 bits at a place.
pub fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

/// The number of 64 bits at a place.
pub fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_attribute_is_padded_but_its_length_is_not() {
        let list = Attributes::new().with_text(1, "netem").with_u32(2, 7);
        let text = [&10u16.to_ne_bytes()[..], &1u16.to_ne_bytes(), b"netem\0\0\0"].concat();
        let number = [&8u16.to_ne_bytes()[..], &2u16.to_ne_bytes(), &7u32.to_ne_bytes()].concat();
        assert_eq!(list.bytes(), [text, number].concat());
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out(list in proptest::collection::vec((0u16..KIND_MASK, proptest::collection::vec(any::<u8>(), 0..40)), 0..10)) {
            let made = list.iter().fold(Attributes::new(), |made, (kind, value)| made.with(*kind, value));
            let nested = Attributes::new().with_nested(9, &made);
            let inner = find(nested.bytes(), 9).unwrap();
            let read: Vec<_> = attributes(inner).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, list);
        }

        #[test]
        fn rubbish_is_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(attributes(&bytes).count() <= bytes.len() / HEAD);
        }
    }
}
