//! Changes a value in steps of 1, 2 and 5, or by about 5 %.

use btu_network::Quantity;

/// One press of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParameterStep {
    pub(super) up: bool,
    /// By about 5 % instead of to the next of 1, 2 and 5.
    pub(super) fine: bool,
}

/// The next value of this kind, as a network file has it; `None` if there is none.
pub(super) fn turned(quantity: Quantity, text: &str, turn: ParameterStep) -> Option<String> {
    let value = quantity.value(text)?;
    let next =
        if turn.fine { fine(quantity, value, turn.up) } else { ladder(quantity, value, turn.up) };
    let next = next.min(greatest(quantity));
    ((next - value).abs() > value * 1e-9).then(|| quantity.written(next))
}

/// The least value above nothing that steps lead to.
fn least(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Time => 1e-6,
        Quantity::Share | Quantity::Load => 0.001,
        Quantity::Frames | Quantity::Velocity => 0.1,
        _ => 1.0,
    }
}

/// The value below the least one. No file accepts a rate of zero frames: it is one in thirty years.
fn nothing(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Time | Quantity::Length | Quantity::Share | Quantity::Bits => 0.0,
        Quantity::Frames => 1e-9,
        _ => least(quantity),
    }
}

fn greatest(quantity: Quantity) -> f64 {
    if matches!(quantity, Quantity::Share | Quantity::Velocity) { 1.0 } else { f64::MAX }
}

/// The next of ..., 1, 2, 5, 10, ...
fn ladder(quantity: Quantity, value: f64, up: bool) -> f64 {
    const SAME: f64 = 1e-9;
    let least = least(quantity);
    if up && value < least * (1.0 - SAME) {
        return least;
    }
    if !up && value <= least * (1.0 + SAME) {
        return nothing(quantity).min(value);
    }
    let decade = value.log10().floor() as i32;
    // Powers below one are computed by division, so that 0.1 is exactly the number that a program
    // reads from the text 0.1.
    let power = |exponent: i32| {
        if exponent < 0 { 1.0 / 10f64.powi(-exponent) } else { 10f64.powi(exponent) }
    };
    let mut steps = (decade - 1..=decade + 1)
        .flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * power(decade)));
    if up {
        steps.find(|step| *step > value * (1.0 + SAME)).unwrap_or(value)
    } else {
        steps.take_while(|step| *step < value * (1.0 - SAME)).last().unwrap_or(value).max(least)
    }
}

/// About 5 % more or less, at least one where only whole numbers count.
fn fine(quantity: Quantity, value: f64, up: bool) -> f64 {
    let least = least(quantity);
    let is_whole =
        matches!(quantity, Quantity::Count | Quantity::Size | Quantity::Bits | Quantity::Rate);
    if up && value < least {
        return least;
    }
    if !up && value <= least {
        return nothing(quantity).min(value);
    }
    let turned = three_digits(if up { value * 1.05 } else { value / 1.05 });
    match (is_whole, up) {
        (false, _) => turned,
        (true, true) => turned.round().max(value + 1.0),
        (true, false) => turned.round().min(value - 1.0).max(least),
    }
}

fn three_digits(value: f64) -> f64 {
    let scale = 10f64.powi(2 - value.log10().floor() as i32);
    if scale.is_finite() { (value * scale).round() / scale } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(quantity: Quantity, from: &str, up: bool, fine: bool) -> Vec<String> {
        let mut path = vec![from.to_owned()];
        while let Some(next) = turned(quantity, &path[path.len() - 1], ParameterStep { up, fine }) {
            path.push(next);
            if path.len() == 6 {
                break;
            }
        }
        path
    }

    #[test]
    fn coarse_steps_are_one_two_five() {
        let table = [
            (
                Quantity::Rate,
                "10 Mb/s",
                true,
                "10 Mb/s, 20 Mb/s, 50 Mb/s, 100 Mb/s, 200 Mb/s, 500 Mb/s",
            ),
            (
                Quantity::Rate,
                "4 Mb/s",
                false,
                "4 Mb/s, 2 Mb/s, 1 Mb/s, 500 kb/s, 200 kb/s, 100 kb/s",
            ),
            (Quantity::Length, "1181.902 m", true, "1181.902 m, 2 km, 5 km, 10 km, 20 km, 50 km"),
            (Quantity::Length, "7 m", false, "7 m, 5 m, 2 m, 1 m, 0 m"),
            (Quantity::Time, "0 ms", true, "0 ms, 1 us, 2 us, 5 us, 10 us, 20 us"),
            (Quantity::Frames, "0.5", false, "0.5, 0.2, 0.1, 1e-9"),
            (Quantity::Frames, "1e-9", true, "1e-9, 0.1, 0.2, 0.5, 1, 2"),
            (Quantity::Count, "24", false, "24, 20, 10, 5, 2, 1"),
            (Quantity::Count, "1", false, "1"),
            (Quantity::Load, "60 %", true, "60 %, 100 %, 200 %, 500 %, 1000 %, 2000 %"),
            (Quantity::Load, "0.2 %", false, "0.2 %, 0.1 %"),
            (Quantity::Share, "30 %", true, "30 %, 50 %, 100 %"),
            (Quantity::Velocity, "0.77", true, "0.77, 1"),
            (Quantity::Size, "1518 B", true, "1518 B, 2000 B, 5000 B, 10 kB, 20 kB, 50 kB"),
        ];
        for (quantity, from, up, expected) in table {
            assert_eq!(path(quantity, from, up, false).join(", "), expected);
        }
    }

    #[test]
    fn fine_steps_are_about_five_per_cent_and_at_least_one() {
        assert_eq!(
            path(Quantity::Rate, "10 Mb/s", true, true)[..3],
            ["10 Mb/s", "10.5 Mb/s", "11 Mb/s"]
        );
        assert_eq!(path(Quantity::Count, "5", false, true), ["5", "4", "3", "2", "1"]);
        assert_eq!(path(Quantity::Size, "1518 B", false, true)[1], "1450 B");
        assert_eq!(path(Quantity::Load, "60 %", true, true)[1], "63 %");
    }

    #[test]
    fn words_do_not_turn() {
        assert_eq!(turned(Quantity::Words, "gated", ParameterStep { up: true, fine: false }), None);
        assert_eq!(turned(Quantity::Rate, "fast", ParameterStep { up: true, fine: true }), None);
    }

    proptest! {
        /// Up is up and down is down, for every kind and from everywhere.
        #[test]
        fn a_turn_goes_its_way(exponent in -4.0f64..9.0, up: bool, fine: bool) {
            for quantity in [Quantity::Rate, Quantity::Time, Quantity::Size, Quantity::Length, Quantity::Load,
                             Quantity::Count, Quantity::Frames] {
                let text = quantity.written(10f64.powf(exponent));
                let (Some(value), Some(next)) = (quantity.value(&text), turned(quantity, &text, ParameterStep { up, fine })) else {
                    continue;
                };
                let next = quantity.value(&next).unwrap();
                prop_assert!(if up { next > value } else { next < value }, "{:?} {} {}", quantity, text, next);
            }
        }
    }
}
