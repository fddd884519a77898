//! Lengths of frames, drawn at random.

use btu_network::Sizes;
use btu_units::Bytes;

use crate::random::Stream;

/// The longest frame that `Sizes::Exponential` allows.
const LONGEST: f64 = 65_535.0;

/// A length from destination address to check sequence.
pub(super) fn draw(sizes: &Sizes, random: &mut Stream) -> Bytes {
    match sizes {
        Sizes::Fixed(size) => *size,
        Sizes::Mix(parts) => mixed(parts, random.share()),
        Sizes::Uniform(least, most) => {
            let choices = most.count().saturating_sub(least.count()) + 1;
            Bytes::new(least.count() + (random.share() * choices as f64) as u64)
        }
        Sizes::Exponential(mean) => {
            let octets = random.exponential() * mean.count() as f64;
            Bytes::new(octets.round().clamp(1.0, LONGEST) as u64)
        }
    }
}

/// The entry at which `share` of all weight is reached.
fn mixed(parts: &[(Bytes, f64)], share: f64) -> Bytes {
    let mut left = share * parts.iter().map(|&(_, weight)| weight).sum::<f64>();
    for &(size, weight) in parts {
        if left < weight {
            return size;
        }
        left -= weight;
    }
    // Only rounding leads here.
    parts.last().map_or(Bytes::ZERO, |&(size, _)| size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    fn mean(sizes: &Sizes) -> f64 {
        let mut random = Stream::new(1995, "sizes");
        (0..DRAWS).map(|_| draw(sizes, &mut random).count() as f64).sum::<f64>() / f64::from(DRAWS)
    }

    #[test]
    fn means_are_what_the_network_file_says() {
        let bytes = Bytes::new;
        let table = [
            // The third column is the distribution's standard deviation.
            (Sizes::Fixed(bytes(1460)), 0.0),
            (Sizes::Mix(vec![(bytes(64), 3.0), (bytes(1518), 1.0)]), 629.6),
            (Sizes::Uniform(bytes(64), bytes(1518)), 420.0),
            (Sizes::Exponential(bytes(1000)), 1000.0),
        ];
        for (sizes, deviation) in table {
            // Five standard errors, and half an octet for rounding and cutting.
            let tolerance = 5.0 * deviation / f64::from(DRAWS).sqrt() + 0.5;
            let found = mean(&sizes);
            assert!((found - sizes.mean()).abs() <= tolerance, "{sizes:?}: {found}");
        }
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Stream::new(1, "bounds");
        let sizes = Sizes::Uniform(Bytes::new(3), Bytes::new(5));
        let mut seen = [false; 3];
        for _ in 0..1000 {
            seen[draw(&sizes, &mut random).count() as usize - 3] = true;
        }
        assert_eq!(seen, [true; 3]);
    }
}
