//! Records as they are stored: compressed, because most of a record is digits of histograms and of
//! a flow's progress, which are written as differences first.

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::types::{FromSql, FromSqlResult, ValueRef};

use crate::differences;
use crate::plain::cleaned;

/// No record is larger; a hostile database must not fill the memory.
const LARGEST: usize = 256 << 20;

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed(Vec<u8>);

/// The JSON text `record` by RFC 1951, with differences where it has lists of pairs.
pub(crate) fn pack(record: &str) -> Vec<u8> {
    let short = differences::shortened(record);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(short.as_deref().unwrap_or(record).as_bytes());
    encoder.finish().unwrap_or_default()
}

impl Packed {
    /// The JSON text, clean also where another program has written it.
    ///
    /// # Errors
    /// The stored bytes are not a text in this form, or far too long for one.
    pub(crate) fn text(&self) -> Result<String, String> {
        let text = differences::restored(&inflated(&self.0)?, LARGEST)?;
        Ok(match cleaned(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        })
    }
}

fn inflated(packed: &[u8]) -> Result<String, String> {
    let mut text = Vec::new();
    let mut decoder = DeflateDecoder::new(packed).take(LARGEST as u64 + 1);
    decoder.read_to_end(&mut text).map_err(|error| format!("it cannot be unpacked: {error}"))?;
    if text.len() > LARGEST {
        return Err("it is larger than any record".to_owned());
    }
    String::from_utf8(text).map_err(|_| "it is not text".to_owned())
}

impl FromSql for Packed {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(value.as_blob()?.to_owned()))
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
        assert_eq!(Packed(packed.clone()).text().unwrap(), record);
        assert_eq!(Packed(pack("")).text().unwrap(), "");
        // Damage at any place gives an error and no panic.
        for place in 0..packed.len().min(64) {
            let mut damaged = packed.clone();
            damaged[place] ^= 0x55;
            damaged.truncate(packed.len() - place);
            let _ = Packed(damaged).text();
        }
        assert!(Packed(vec![0xff; 40]).text().is_err());
    }

    #[test]
    fn what_another_program_packed_is_cleaned() {
        let packed = Packed(pack("[\"\\u001b[31mred\\rdone\u{202e}\"]"));
        assert_eq!(packed.text().unwrap(), "[\"?[31mred\\ndone?\"]");
    }

    /// In a quick run some 250 cells have a component with a transfer through the emulator. The
    /// largest of them have some 3500 buckets of lateness and 170 marks of progress. If each of the
    /// 250 took 11 kB, and the 300 others 2.2 kB as they do, the run would take 3.4 MB; a tenth
    /// more is unused space of pages. (In ten runs: 1.8 to 2.1 MB.)
    #[test]
    fn a_quick_run_takes_less_than_four_megabytes() {
        let mut state = 7_u64;
        let mut next = |below: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * below
        };
        let mut lateness = btu_stats::Histogram::new();
        for _ in 0..5_000 {
            // From 4 us to 4 ms, around 130 us.
            lateness.record((4_000.0 * 10_f64.powf(next(1.5) + next(1.5))) as u64);
        }
        let mark = |n: u64, next: &mut dyn FnMut(f64) -> f64| {
            (n * 460_000 + next(50_000.0) as u64, n * 1_240_000 + 1448 * next(300.0) as u64)
        };
        let progress: Vec<(u64, u64)> = (0..170).map(|n| mark(n, &mut next)).collect();
        let buckets = lateness.buckets().count();
        assert!((3_200..3_800).contains(&buckets), "{buckets} buckets");
        let record = serde_json::json!({"lateness_ns": lateness, "progress": progress}).to_string();
        let bytes = pack(&record).len();
        assert!(bytes <= 11_000, "{bytes} bytes");
    }
}
