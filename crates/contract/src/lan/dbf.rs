//! The file manager's tables: dBASE III files (.dbf), a header that describes fields and then
//! records of equal length.
//!
//! Source: the file structure that Ashton-Tate published with dBASE III PLUS ("Using dBASE III
//! PLUS", 1985, appendix): version octet 3, date, number of records, length of header and record, a
//! descriptor of 32 octets for each field, a carriage return; every record begins with a blank, or
//! with an asterisk when it is deleted; the file ends with 1A hexadecimal.

/// Octets of a record, its mark among them.
pub const RECORD: usize = 128;

/// Octets of a record's key, behind the mark.
pub const KEY: usize = 16;

/// Octets before the first record.
pub const HEADER: usize = 32 + 32 * FIELDS.len() + 1;

/// Name, kind (C for characters, N for a number), octets, and decimals.
const FIELDS: [(&str, u8, u8, u8); 4] = [
    ("KEY", b'C', KEY as u8, 0),
    ("NAME", b'C', 40, 0),
    ("AMOUNT", b'N', 12, 2),
    ("NOTE", b'C', 59, 0),
];

const VERSION: u8 = 3;
const TERMINATOR: u8 = 13;
const END: u8 = 0x1a;
const KEPT: u8 = b' ';

/// Last changed in August 1988, when the study was published.
const DATE: [u8; 3] = [88, 8, 1];

/// A table of as many records as `random` has whole ones of [`RECORD`] octets; their content
/// follows from these octets.
pub fn table(random: &[u8]) -> Vec<u8> {
    let records = random.as_chunks::<RECORD>().0;
    let mut table = Vec::with_capacity(HEADER + records.len() * RECORD + 1);
    begin(records.len(), &mut table);
    for random in records {
        push(random, &mut table);
    }
    table.push(END);
    table
}

/// Returns the records of `table` in the order of their keys.
pub fn sorted(table: &[u8]) -> Vec<u8> {
    let mut all: Vec<&[u8; RECORD]> = records(table).iter().collect();
    all.sort_by_key(|record| key(*record));
    let mut sorted = Vec::with_capacity(table.len());
    begin(all.len(), &mut sorted);
    for record in all {
        sorted.extend(record);
    }
    sorted.push(END);
    sorted
}

/// Their keys in order, each with the number of its record, from 1 as dBASE counts, in four octets.
pub fn index(table: &[u8]) -> Vec<u8> {
    let mut keys: Vec<(&[u8], u32)> =
        records(table).iter().map(|record| key(record)).zip(1..).collect();
    keys.sort_unstable();
    keys.iter().flat_map(|(key, number)| key.iter().copied().chain(number.to_be_bytes())).collect()
}

/// The records of a table; empty for octets that are not a table.
pub fn records(table: &[u8]) -> &[[u8; RECORD]] {
    let count = record_count(table).unwrap_or(0);
    let records = table.get(HEADER..).unwrap_or_default().as_chunks::<RECORD>().0;
    &records[..count.min(records.len())]
}

/// The number of records in a table's header; `None` if it is not the header of a table of this
/// kind.
pub(crate) fn record_count(table: &[u8]) -> Option<usize> {
    let header = table.get(..HEADER)?;
    let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let is_known = header[0] == VERSION
        && usize::from(number(8)) == HEADER
        && usize::from(number(10)) == RECORD;
    is_known.then(|| u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize)
}

/// The key of a record.
pub fn key(record: &[u8]) -> &[u8] {
    record.get(1..=KEY).unwrap_or_default()
}

fn begin(count: usize, table: &mut Vec<u8>) {
    table.push(VERSION);
    table.extend(DATE);
    table.extend((count as u32).to_le_bytes());
    table.extend([HEADER as u16, RECORD as u16].map(u16::to_le_bytes).as_flattened());
    table.extend([0; 20]);
    for (name, kind, length, decimals) in FIELDS {
        let mut descriptor = [0; 32];
        descriptor[..name.len()].copy_from_slice(name.as_bytes());
        (descriptor[11], descriptor[16], descriptor[17]) = (kind, length, decimals);
        table.extend(descriptor);
    }
    table.push(TERMINATOR);
}

fn push(random: &[u8; RECORD], table: &mut Vec<u8>) {
    table.push(KEPT);
    let mut at = 1;
    for (_, kind, length, decimals) in FIELDS {
        let (octets, point) =
            (&random[at..at + usize::from(length)], usize::from(length - decimals) - 1);
        let octet = |(place, octet): (usize, &u8)| match kind {
            b'N' if place == point => b'.',
            b'N' => b'0' + octet % 10,
            _ => b'A' + octet % 26,
        };
        table.extend(octets.iter().enumerate().map(octet));
        at += usize::from(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(records: usize) -> Vec<u8> {
        (0..records * RECORD).map(|place| (place * place / 7) as u8).collect()
    }

    /// By hand, from the published structure.
    #[test]
    fn a_table_is_laid_out_as_dbase_has_it() {
        let table = table(&random(500));
        assert_eq!(table.len(), 161 + 500 * 128 + 1);
        assert_eq!(table[..12], [3, 88, 8, 1, 0xf4, 1, 0, 0, 161, 0, 128, 0]);
        assert_eq!((&table[32..36], table[43], table[48]), (&b"KEY\0"[..], b'C', 16));
        assert_eq!(
            (&table[96..102], table[107], table[112], table[113]),
            (&b"AMOUNT"[..], b'N', 12, 2)
        );
        assert_eq!((table[160], table.last()), (13, Some(&0x1a)));
        let record = &records(&table)[0];
        assert_eq!((record[0], record[57 + 9]), (b' ', b'.'));
        assert!(
            key(record).iter().all(u8::is_ascii_uppercase)
                && record[57..66].iter().all(u8::is_ascii_digit)
        );
    }

    #[test]
    fn sorted_and_indexed_tables_have_the_same_records() {
        let table = table(&random(100));
        let (sorted, index) = (sorted(&table), index(&table));
        assert_eq!(sorted.len(), table.len());
        assert!(records(&sorted).windows(2).all(|pair| key(&pair[0]) <= key(&pair[1])));
        for (entry, record) in index.as_chunks::<{ KEY + 4 }>().0.iter().zip(records(&sorted)) {
            let number = u32::from_be_bytes(entry[KEY..].try_into().unwrap()) as usize;
            assert_eq!(
                (&entry[..KEY], key(&records(&table)[number - 1])),
                (key(record), key(record))
            );
        }
    }

    #[test]
    fn what_is_no_table_has_no_records() {
        for octets in [&b""[..], &[3; 40], &[0; 4000]] {
            assert_eq!((record_count(octets), records(octets).len()), (None, 0));
        }
        let mut short = table(&random(3));
        short.truncate(HEADER + 200);
        assert_eq!((record_count(&short), records(&short).len()), (Some(3), 1));
    }
}
