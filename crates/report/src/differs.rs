//! What is said next to a computed number that a measurement does not confirm: no such number stands
//! on a screen without the reason, if one is known.

use btu_stats::Estimate;

/// The words where no reason is known.
pub(crate) const UNKNOWN: &str = "differs: the reason is not known";

/// Whether a computed number is outside of a measurement's interval. Without an interval it cannot
/// be told.
pub(crate) fn differs(measured: &Estimate, computed: f64) -> bool {
    measured.interval.is_some_and(|at| !(at.low..=at.high).contains(&computed))
}

/// The sentence about numbers that differ, named; nothing where all agree.
pub(crate) fn sentence<'a, N: ToString>(
    numbers: impl Iterator<Item = (N, &'a Estimate, f64)>,
    reason: Option<&str>,
) -> Option<String> {
    let outside = numbers.filter(|(_, measured, computed)| differs(measured, *computed));
    let mut names: Vec<String> = outside.map(|(name, ..)| name.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    let list = match &names[..] {
        [] => return None,
        names if names.len() <= 3 => names.join(", "),
        names => format!("{} and {} more", names[..2].join(", "), names.len() - 2),
    };
    let reason = reason.unwrap_or("the reason is not known");
    Some(format!("Outside of the measured interval: {list}; {reason}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_stats::Interval;

    fn ten() -> Estimate {
        Estimate { value: 10.0, interval: Some(Interval { low: 5.0, high: 20.0 }) }
    }

    #[test]
    fn what_a_measurement_does_not_confirm_is_named_with_its_reason() {
        let ten = ten();
        let numbers = [("a", &ten, 3.0), ("a", &ten, 30.0), ("b", &ten, 10.0), ("c", &ten, 30.0)];
        let said = sentence(numbers.into_iter(), Some("frames collide")).unwrap();
        assert_eq!(said, "Outside of the measured interval: a, c; frames collide.");
        let said = sentence(numbers.into_iter(), None).unwrap();
        assert_eq!(said, "Outside of the measured interval: a, c; the reason is not known.");
        assert_eq!(sentence(numbers[2..3].iter().copied(), None), None);
        let once = Estimate { interval: None, ..ten };
        assert!(!differs(&once, 3.0), "one measurement cannot tell");
    }
}
