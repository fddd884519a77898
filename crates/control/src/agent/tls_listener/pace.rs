//! Limits how often connections may arrive: from each network, and in all.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

/// A number at once, and a number per second from then on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The number of admitted callers at once after a pause.
    pub burst: u32,
    /// The number of admitted callers per second after the burst.
    pub per_second: u32,
}

/// A token bucket that limits the rate of callers.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    fn fill(&mut self, pace: RateLimit, now: Instant) {
        let gained =
            now.saturating_duration_since(self.filled).as_secs_f64() * f64::from(pace.per_second);
        self.tokens = (self.tokens + gained).min(f64::from(pace.burst));
        self.filled = now;
    }

    fn take(&mut self) -> bool {
        let has = self.tokens >= 1.0;
        if has {
            self.tokens -= 1.0;
        }
        has
    }
}

/// Buckets by name, without the full ones.
#[derive(Debug)]
pub(super) struct Paces<K> {
    pace: RateLimit,
    buckets: HashMap<K, Bucket>,
    /// The bucket of all callers without their own one because there are too many.
    others: Bucket,
}

/// Buckets that are kept at a time: 200 kB.
const MOST_BUCKETS: usize = 4096;

impl<K: Eq + Hash> Paces<K> {
    pub(super) fn new(pace: RateLimit, now: Instant) -> Self {
        Self { pace, buckets: HashMap::new(), others: full(pace, now) }
    }

    /// Whether `who` may connect now; if so, it is counted.
    pub(super) fn admit(&mut self, who: K, now: Instant) -> bool {
        let pace = self.pace;
        if self.buckets.len() >= MOST_BUCKETS {
            self.buckets.retain(|_, bucket| {
                bucket.fill(pace, now);
                bucket.tokens < f64::from(pace.burst)
            });
        }
        let has_room = self.buckets.len() < MOST_BUCKETS || self.buckets.contains_key(&who);
        let bucket = if has_room {
            self.buckets.entry(who).or_insert(full(pace, now))
        } else {
            &mut self.others
        };
        bucket.fill(pace, now);
        bucket.take()
    }
}

fn full(pace: RateLimit, now: Instant) -> Bucket {
    Bucket { tokens: f64::from(pace.burst), filled: now }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PACE: RateLimit = RateLimit { burst: 5, per_second: 2 };

    #[test]
    fn a_burst_is_let_in_and_then_so_many_a_second() {
        let began = Instant::now();
        let mut paces = Paces::new(PACE, began);
        let mut admitted =
            |who, after| (0..100).filter(|_| paces.admit(who, began + after)).count();
        assert_eq!(admitted("a", Duration::ZERO), 5);
        assert_eq!(admitted("a", Duration::from_secs(2)), 4);
        assert_eq!(admitted("a", Duration::from_hours(1)), 5, "no more is saved than a burst");
        assert_eq!(admitted("b", Duration::ZERO), 5, "others have their own");
    }

    #[test]
    fn the_memory_of_who_came_is_bounded() {
        let began = Instant::now();
        let mut paces = Paces::new(PACE, began);
        let admitted = (0..2 * MOST_BUCKETS).filter(|who| paces.admit(*who, began)).count();
        assert_eq!((admitted, paces.buckets.len()), (MOST_BUCKETS + 5, MOST_BUCKETS));
        // An address that stays away for long enough is forgotten.
        assert!(
            paces.admit(usize::MAX, began + Duration::from_secs(3)) && paces.buckets.len() == 1
        );
    }
}
