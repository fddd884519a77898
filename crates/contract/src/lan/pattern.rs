//! The file operations of a transaction: the study's record, and those that current servers get.

use btu_units::Bytes;
use serde::{Deserialize, Serialize};

btu_units::named! {
    /// The operations of a transaction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Pattern {
        /// Writes a record and reads it back, as CONST.BAS and NORM.BAS do.
        Record = "record",
        /// Reads or writes one record of a larger file at random: seven of ten read, as in office and
        /// database loads.
        Mixed = "mixed",
        /// Makes a file, reads its attributes, renames it, reads them again, removes it: no data.
        Metadata = "metadata",
        /// Makes a small file with a record in it, flushes it, reads its attributes, opens it, reads
        /// it, removes it.
        SmallFiles = "small-files",
    }
}

impl Pattern {
    /// The number of reads in ten transactions of [`Self::Mixed`].
    pub const READS_OF_TEN: u32 = 7;

    /// Records of the file of [`Self::Mixed`], if a record is small.
    const RECORDS: u64 = 256;

    /// The largest size of that file: one call of NFS makes it.
    const LARGEST: u64 = 1 << 20;

    /// Operations of one transaction. A program that pauses opens the file of its record before
    /// each, as NORM.BAS does.
    pub const fn operations(self, opens: bool) -> u64 {
        match self {
            Self::Record if opens => 3,
            Self::Record => 2,
            Self::Mixed => 1,
            Self::Metadata => 5,
            Self::SmallFiles => 7,
        }
    }

    /// Octets of files that a transaction reads and writes on the average.
    pub fn octets(self, record: Bytes) -> [f64; 2] {
        let record = record.count() as f64;
        let reads = f64::from(Self::READS_OF_TEN) / 10.0;
        match self {
            Self::Record | Self::SmallFiles => [record, record],
            Self::Mixed => [record * reads, record * (1.0 - reads)],
            Self::Metadata => [0.0, 0.0],
        }
    }

    /// Records in the file that exists from the beginning; none if the pattern makes and removes
    /// files.
    pub fn records(self, record: Bytes) -> u64 {
        match self {
            Self::Record => 1,
            Self::Mixed => (Self::LARGEST / record.count().max(1)).clamp(1, Self::RECORDS),
            Self::Metadata | Self::SmallFiles => 0,
        }
    }

    /// Most octets that its files hold at a time.
    pub fn room(self, record: Bytes) -> Bytes {
        record * self.records(record).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn names_are_those_of_stored_plans() {
        for pattern in Pattern::ALL {
            assert_eq!(json::to_value(&pattern).unwrap(), pattern.name());
        }
    }

    #[test]
    fn no_file_is_larger_than_a_call_makes() {
        for record in [1, 8, 512, 4096, 65_536] {
            let room = Pattern::Mixed.room(Bytes::new(record));
            assert!(
                room <= Bytes::new(Pattern::LARGEST) && room.count() >= record,
                "{record}: {room}"
            );
        }
        assert_eq!(Pattern::Mixed.records(Bytes::new(512)), 256);
        assert_eq!(Pattern::Mixed.records(Bytes::new(65_536)), 16);
    }
}
