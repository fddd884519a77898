//! Netlink's format: messages and their nested attributes (netlink(7)), all in the machine's byte
//! order. Pure.

/// `struct nlmsghdr`: length, type, flags, sequence, port.
const HEADER_BYTES: usize = 16;
/// `struct nlattr`: length, type.
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const ALIGNMENT_BYTES: usize = 4;

const TYPE_ERROR: u16 = 2;
const TYPE_DONE: u16 = 3;
const FLAG_REQUEST: u16 = 1;
const FLAG_ACKNOWLEDGE: u16 = 4;
const FLAG_DUMP: u16 = 0x300;
const ATTRIBUTE_NESTED: u16 = 0x8000;
/// The two highest bits of an attribute's type are flags.
const ATTRIBUTE_TYPE: u16 = 0x3fff;

/// A request, ready to be sent.
#[derive(Debug)]
pub(super) struct NetlinkRequest(Vec<u8>);

impl NetlinkRequest {
    /// Requests a dump of `kind`; the answer ends with a separate message.
    pub(super) fn dump(kind: u16, body: &[u8]) -> Self {
        Self::new(kind, FLAG_REQUEST | FLAG_DUMP, body)
    }

    /// Sends a command to a generic family; the requested acknowledgement ends the answer.
    pub(super) fn generic(family: u16, command: u8, attributes: &[u8]) -> Self {
        let version = 1;
        let body = [&[command, version, 0, 0], attributes].concat();
        Self::new(family, FLAG_REQUEST | FLAG_ACKNOWLEDGE, &body)
    }

    fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An attribute with a value; its length must fit 16 bits, as all here do.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((ATTRIBUTE_HEADER_BYTES + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT_BYTES), 0);
    bytes
}

/// An attribute that holds attributes.
pub(super) fn nest(kind: u16, attributes: &[u8]) -> Vec<u8> {
    attribute(kind | ATTRIBUTE_NESTED, attributes)
}

/// The role of a message in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A part of it.
    Part,
    /// The answer ended without an error.
    End,
    /// Its end, with this error number.
    Error(i32),
}

/// The messages in one datagram, with their bodies; a truncated or invalid one ends them.
pub(super) fn split(datagram: &[u8]) -> impl Iterator<Item = (MessageKind, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32_of(rest.get(..4)?)? as usize;
        let kind = u16_of(rest.get(4..6)?)?;
        let body = rest.get(HEADER_BYTES..length)?;
        rest = rest.get(length.next_multiple_of(ALIGNMENT_BYTES)..).unwrap_or_default();
        Some((kind_of(kind, body), body))
    })
}

/// An error message with error 0 is an acknowledgement.
fn kind_of(kind: u16, body: &[u8]) -> MessageKind {
    let error = body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    match kind {
        TYPE_ERROR if error != 0 => MessageKind::Error(error.saturating_neg()),
        TYPE_ERROR | TYPE_DONE => MessageKind::End,
        _ => MessageKind::Part,
    }
}

/// The attributes in a stretch of bytes: (type, value); a truncated or invalid one ends them.
#[derive(Debug, Clone)]
pub(super) struct NetlinkAttributes<'a>(&'a [u8]);

impl<'a> NetlinkAttributes<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The value of the first attribute of `kind`.
    pub(super) fn value(&self, kind: u16) -> Option<&'a [u8]> {
        self.clone().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The attributes inside the first attribute of `kind`; none when there is no such.
    pub(super) fn nested(&self, kind: u16) -> Self {
        Self(self.value(kind).unwrap_or_default())
    }
}

impl<'a> Iterator for NetlinkAttributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_of(self.0.get(..2)?)?);
        let kind = u16_of(self.0.get(2..4)?)? & ATTRIBUTE_TYPE;
        let value = self.0.get(ATTRIBUTE_HEADER_BYTES..length)?;
        self.0 = self.0.get(length.next_multiple_of(ALIGNMENT_BYTES)..).unwrap_or_default();
        Some((kind, value))
    }
}

/// The number in the first two bytes.
pub(super) fn u16_of(value: &[u8]) -> Option<u16> {
    value.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

/// The number in the first four bytes.
pub(super) fn u32_of(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The text up to the first zero byte.
pub(super) fn text_of(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_acknowledgement_ends_well_and_an_error_does_not() {
        let acknowledged = NetlinkRequest::new(TYPE_ERROR, 0, &0_i32.to_ne_bytes());
        assert_eq!(split(acknowledged.bytes()).next().unwrap().0, MessageKind::End);
        let refused = NetlinkRequest::new(TYPE_ERROR, 0, &(-19_i32).to_ne_bytes());
        assert_eq!(split(refused.bytes()).next().unwrap().0, MessageKind::Error(19));
    }

    #[test]
    fn nested_attributes_are_found() {
        let inner = [attribute(7, b"seven\0"), attribute(8, &5_u32.to_ne_bytes())].concat();
        let bytes = [attribute(1, &[1]), nest(3, &inner)].concat();
        let attributes = NetlinkAttributes::of(&bytes);
        assert_eq!(attributes.nested(3).value(7).map(text_of).as_deref(), Some("seven"));
        assert_eq!(attributes.nested(3).value(8).and_then(u32_of), Some(5));
        assert_eq!(attributes.nested(2).value(7), None);
    }

    proptest! {
        #[test]
        fn attributes_are_read_back(values in prop::collection::vec((0u16..0x3fff, prop::collection::vec(any::<u8>(), 0..40)), 0..10)) {
            let bytes: Vec<u8> = values.iter().flat_map(|(kind, value)| attribute(*kind, value)).collect();
            let read: Vec<_> = NetlinkAttributes::of(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn strange_bytes_never_panic_and_always_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(split(&bytes).count() <= bytes.len() / HEADER_BYTES);
            prop_assert!(NetlinkAttributes::of(&bytes).count() <= bytes.len() / ATTRIBUTE_HEADER_BYTES);
            text_of(&bytes);
        }

        #[test]
        fn short_lengths_never_panic(lengths in prop::collection::vec(0u16..40, 0..100)) {
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_ne_bytes()).collect();
            prop_assert!(split(&bytes).count() <= bytes.len());
            prop_assert!(NetlinkAttributes::of(&bytes).count() <= bytes.len());
        }
    }
}
