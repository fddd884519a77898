//! How evenly something is shared.

/// Jain's fairness index, (sum x)² / (n sum x²): 1 when all got as much, 1/n when one got all.
/// `None` when all shares are zero, or a share is not finite.
///
/// Source: Jain, Chiu and Hawe, "A quantitative measure of fairness", 1984.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0 && squares.is_finite()).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_when_all_get_as_much_and_one_nth_when_one_gets_all() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 8.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[1.0, f64::NAN]), None);
    }
}
