//! Buckets of a distribution in few bytes: thousands of distributions are held at a time, most of
//! them with hundreds of buckets.
//!
//! Each bucket is two numbers, what its value is above that of the bucket before, and its count, in
//! groups of seven bits with the lowest first; the highest bit of a byte says that another follows.

/// Bits of a group.
const GROUP: u32 = 7;

/// Another group follows.
const MORE: u8 = 1 << GROUP;

/// Values with their counts, ascending by value.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    /// These buckets, which ascend.
    pub(super) fn of(buckets: &[(u64, u64)]) -> Self {
        let mut bytes = Vec::new();
        let mut before = 0;
        for &(value, count) in buckets {
            put(value - before, &mut bytes);
            put(count, &mut bytes);
            before = value;
        }
        Self(bytes.into_boxed_slice())
    }

    /// The buckets.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut bytes, mut value) = (self.0.iter(), 0);
        std::iter::from_fn(move || {
            value += take(&mut bytes)?;
            Some((value, take(&mut bytes)?))
        })
    }
}

fn put(mut number: u64, bytes: &mut Vec<u8>) {
    loop {
        let group = number as u8 & (MORE - 1);
        number >>= GROUP;
        if number == 0 {
            return bytes.push(group);
        }
        bytes.push(group | MORE);
    }
}

/// `None` at the end.
fn take<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        number |= u64::from(byte & (MORE - 1)) << shift;
        if byte & MORE == 0 {
            return Some(number);
        }
        shift += GROUP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_come_back(buckets in prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..20)) {
            let buckets: Vec<(u64, u64)> = buckets.into_iter().collect();
            prop_assert_eq!(Packed::of(&buckets).buckets().collect::<Vec<_>>(), buckets);
        }
    }

    /// Times of some microseconds to some milliseconds with three digits, as they are recorded: they
    /// are some 2 us apart, which takes two bytes, and a count takes one or two.
    #[test]
    fn a_bucket_takes_a_quarter_of_two_numbers() {
        let buckets: Vec<(u64, u64)> =
            (0..1000).map(|n| (5_000 + n * 2_047, n % 200 + 1)).collect();
        let bytes = Packed::of(&buckets).0.len();
        assert!(bytes <= 4 * buckets.len(), "{bytes} bytes");
    }
}
