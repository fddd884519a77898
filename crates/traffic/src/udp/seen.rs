//! The datagrams of a stream that have arrived: one bit each, allocated before the start.

/// The class of a datagram by its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DatagramArrival {
    /// It had not come before, and none with a higher number had.
    InOrder,
    /// It had not come before, but one with a higher number had: type-P-reordered (RFC 4737,
    /// section 3.3).
    Reordered,
    /// It had come before.
    Duplicate,
    /// No datagram of that number can have been sent.
    Impossible,
}

/// The numbers that have come.
pub(crate) struct ReceivedNumbers {
    bits: Vec<u64>,
    expected: u64,
    /// `NextExp` of RFC 4737: one more than the highest number so far.
    next: u64,
}

impl ReceivedNumbers {
    /// Room for the numbers 0 to `expected` - 1.
    pub(crate) fn new(expected: u64) -> Self {
        Self { bits: vec![0; expected.div_ceil(64) as usize], expected, next: 0 }
    }

    /// One more than the highest number so far: the least number of sent datagrams.
    pub(crate) fn begun(&self) -> u64 {
        self.next
    }

    /// Whether a datagram of that number can have been sent.
    pub(crate) fn expects(&self, number: u64) -> bool {
        number < self.expected
    }

    /// The numbers below `sent` that have not come, ascending.
    pub(crate) fn missing(&self, sent: u64) -> impl Iterator<Item = u64> {
        let words = (0_u64..).step_by(64).zip(&self.bits);
        let of_word = |(first, word): (u64, &u64)| {
            // A whole word of arrivals is passed over at once.
            let places = if *word == u64::MAX { 0..0 } else { 0..64 };
            let word = *word;
            places.filter(move |place| word & 1 << place == 0).map(move |place| first + place)
        };
        words.flat_map(of_word).take_while(move |number| *number < sent)
    }

    /// Records the arrival of `number`.
    #[inline]
    pub(crate) fn note(&mut self, number: u64) -> DatagramArrival {
        if !self.expects(number) {
            return DatagramArrival::Impossible;
        }
        let (word, bit) = (&mut self.bits[(number / 64) as usize], 1 << (number % 64));
        if *word & bit != 0 {
            return DatagramArrival::Duplicate;
        }
        *word |= bit;
        if number < self.next {
            return DatagramArrival::Reordered;
        }
        self.next = number + 1;
        DatagramArrival::InOrder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_example_of_rfc_4737() {
        // Section 9: packets 1 2 3 7 8 9 10 4 5 6 11; the late 4, 5 and 6 are reordered.
        let mut seen = ReceivedNumbers::new(12);
        let arrivals = [1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11].map(|number| seen.note(number));
        let reordered: Vec<_> =
            (0..11).filter(|&index| arrivals[index] == DatagramArrival::Reordered).collect();
        assert_eq!(reordered, [7, 8, 9]);
        assert_eq!(seen.note(4), DatagramArrival::Duplicate);
        assert_eq!(seen.note(12), DatagramArrival::Impossible);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(expected in 0u64..200, numbers in prop::collection::vec(prop_oneof![0u64..220, any::<u64>()], 0..300)) {
            let (mut seen, mut set) = (ReceivedNumbers::new(expected), BTreeSet::new());
            for number in numbers {
                let highest = set.last().copied();
                let wanted = match number {
                    _ if number >= expected => DatagramArrival::Impossible,
                    _ if !set.insert(number) => DatagramArrival::Duplicate,
                    _ if highest.is_some_and(|highest| number < highest) => DatagramArrival::Reordered,
                    _ => DatagramArrival::InOrder,
                };
                prop_assert_eq!(seen.note(number), wanted);
            }
            let missing: Vec<u64> = (0..expected).filter(|number| !set.contains(number)).collect();
            prop_assert_eq!(seen.missing(expected).collect::<Vec<_>>(), missing);
        }
    }
}
