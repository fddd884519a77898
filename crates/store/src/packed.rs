//! Records as they are stored: compressed, because most of a record is digits of histograms and of
//! a flow's progress. Records of older versions are plain text in another column.

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

/// No record is larger; a hostile database must not fill the memory.
const LARGEST: u64 = 256 << 20;

/// A cell's record, in either stored form.
pub(crate) const RECORD: &str = "coalesce(packed, record)";

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packed {
    Plain(String),
    Deflated(Vec<u8>),
}

/// The JSON text `record` by RFC 1951.
pub(crate) fn pack(record: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(record.as_bytes());
    encoder.finish().unwrap_or_default()
}

impl Packed {
    /// The JSON text.
    ///
    /// # Errors
    /// The stored bytes are not a text in this form, or far too long for one.
    pub(crate) fn text(&self) -> Result<Cow<'_, str>, String> {
        let packed = match self {
            Self::Plain(text) => return Ok(Cow::Borrowed(text)),
            Self::Deflated(packed) => packed,
        };
        let mut text = Vec::new();
        let mut decoder = DeflateDecoder::new(packed.as_slice()).take(LARGEST + 1);
        decoder
            .read_to_end(&mut text)
            .map_err(|error| format!("it cannot be unpacked: {error}"))?;
        if text.len() as u64 > LARGEST {
            return Err("it is larger than any record".to_owned());
        }
        String::from_utf8(text).map(Cow::Owned).map_err(|_| "it is no text".to_owned())
    }
}

impl FromSql for Packed {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Ok(Self::Plain(text.to_owned())),
                Err(error) => Err(FromSqlError::Other(Box::new(error))),
            },
            ValueRef::Blob(packed) => Ok(Self::Deflated(packed.to_owned())),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let record = format!(
            "{{\"samples\":[{}]}}",
            (0..5000).map(|n| format!("[{},{n}]", n * 997)).collect::<Vec<_>>().join(",")
        );
        let packed = pack(&record);
        assert!(packed.len() * 2 < record.len(), "{} of {}", packed.len(), record.len());
        assert_eq!(Packed::Deflated(packed.clone()).text().unwrap(), record);
        assert_eq!(Packed::Plain(record.clone()).text().unwrap(), record);
        assert_eq!(Packed::Deflated(pack("")).text().unwrap(), "");
        // Damage at any place gives an error and no panic.
        for place in 0..packed.len().min(64) {
            let mut damaged = packed.clone();
            damaged[place] ^= 0x55;
            damaged.truncate(packed.len() - place);
            let _ = Packed::Deflated(damaged).text();
        }
        assert!(Packed::Deflated(vec![0xff; 40]).text().is_err());
    }
}
