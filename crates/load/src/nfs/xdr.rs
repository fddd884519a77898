//! XDR (RFC 4506): how NFS writes numbers and octets. Reading borrows from the input and allocates
//! nothing, so no claimed length is trusted before its octets have arrived.

use thiserror::Error;

/// The input is not a message of the protocol, or longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a message is cut short, too long, or not NFS version 3")]
pub(super) struct Garbled;

/// Reads from the front of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct XdrReader<'a> {
    rest: &'a [u8],
}

impl<'a> XdrReader<'a> {
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Garbled> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Garbled)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        self.take(N)?.try_into().map_err(|_| Garbled)
    }

    pub(super) fn number(&mut self) -> Result<u32, Garbled> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<u64, Garbled> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn flag(&mut self) -> Result<bool, Garbled> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Garbled),
        }
    }

    /// Octets of a length that both sides know.
    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        let octets = self.array()?;
        self.take(padding(N))?;
        Ok(octets)
    }

    /// Octets with their length before them, `most` of them at most.
    pub(super) fn opaque(&mut self, most: usize) -> Result<&'a [u8], Garbled> {
        let length = self.number()? as usize;
        if length > most {
            return Err(Garbled);
        }
        let octets = self.take(length)?;
        self.take(padding(length))?;
        Ok(octets)
    }

    /// An optional value, present if its flag is set.
    pub(super) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Garbled>,
    ) -> Result<Option<T>, Garbled> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Octets that are left.
    pub(super) const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Checks that no octets are left.
    pub(super) fn end(self) -> Result<(), Garbled> {
        if self.rest.is_empty() { Ok(()) } else { Err(Garbled) }
    }
}

/// Appends to a message.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    pub(super) fn number(&mut self, number: u32) {
        self.out.extend(number.to_be_bytes());
    }

    pub(super) fn long(&mut self, number: u64) {
        self.out.extend(number.to_be_bytes());
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.number(u32::from(flag));
    }

    pub(super) fn fixed(&mut self, octets: &[u8]) {
        self.out.extend(octets);
        self.out.extend(&[0; 3][..padding(octets.len())]);
    }

    pub(super) fn opaque(&mut self, octets: &[u8]) {
        self.number(octets.len() as u32);
        self.fixed(octets);
    }

    /// Up to `length` octets as READ answers them: how many, whether the file ends with them, and
    /// they. `fill` returns both.
    pub(super) fn piece_of<E>(
        &mut self,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(usize, bool), E>,
    ) -> Result<usize, E> {
        let start = self.out.len();
        self.out.resize(start + 12 + length, 0);
        let (filled, is_end) = fill(&mut self.out[start + 12..])?;
        let filled = filled.min(length);
        let head = [filled as u32, u32::from(is_end), filled as u32];
        for (place, number) in self.out[start..start + 12].chunks_exact_mut(4).zip(head) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        self.out.truncate(start + 12 + filled);
        self.out.extend(&[0; 3][..padding(filled)]);
        Ok(filled)
    }
}

/// Everything begins at a multiple of four octets.
const fn padding(length: usize) -> usize {
    length.wrapping_neg() % 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 4506, section 4.10 and the example of section 7: `sillyprog` is 9 octets, and three of
    /// nothing.
    #[test]
    fn octets_are_written_as_in_the_standard() {
        let mut out = Vec::new();
        Writer::new(&mut out).opaque(b"sillyprog");
        assert_eq!(out, b"\0\0\0\x09sillyprog\0\0\0");
    }

    #[test]
    fn no_length_is_believed() {
        let claimed = [0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
        assert_eq!(XdrReader::new(&claimed).opaque(usize::MAX), Err(Garbled));
        assert_eq!(XdrReader::new(b"\0\0\0\x05abcde\0\0\0").opaque(4), Err(Garbled));
        assert_eq!(
            XdrReader::new(b"\0\0\0\x05abcde\0\0").opaque(5),
            Err(Garbled),
            "without its padding"
        );
        assert_eq!(XdrReader::new(&[0, 0, 0, 2]).flag(), Err(Garbled));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in any::<u32>(), long in any::<u64>(), flag in any::<bool>(), octets in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out);
            writer.number(number);
            writer.opaque(&octets);
            writer.flag(flag);
            writer.long(long);
            let fill = |into: &mut [u8]| {
                into[..octets.len()].copy_from_slice(&octets);
                Ok::<_, Garbled>((octets.len(), flag))
            };
            prop_assert_eq!(writer.piece_of(64, fill), Ok(octets.len()));
            prop_assert_eq!(out.len() % 4, 0);
            let mut reader = XdrReader::new(&out);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.opaque(40), Ok(&octets[..]));
            prop_assert_eq!(reader.flag(), Ok(flag));
            prop_assert_eq!(reader.long(), Ok(long));
            prop_assert_eq!((reader.number(), reader.flag()), (Ok(octets.len() as u32), Ok(flag)));
            prop_assert_eq!(reader.opaque(40), Ok(&octets[..]));
            prop_assert_eq!(reader.end(), Ok(()));
        }
    }
}
