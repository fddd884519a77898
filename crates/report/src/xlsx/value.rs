//! Numbers with their formulas: this module computes the number that a cell shows before a
//! spreadsheet program evaluates its formula, by an equal expression.

use std::ops::{Add, Div, Mul, Sub};

/// An expression for a cell, and its number; not a number where the cell says a word, such as
/// `saturated`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SheetValue {
    /// The expression, without the equals sign.
    pub(super) text: String,
    /// Its value.
    pub(super) number: f64,
    /// Cells in it that may hold a word instead of a number.
    pub(super) words: Vec<String>,
}

/// A column of cells, and their numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SheetColumn {
    /// The reference, such as `'Sizes'!$B$4:$B$6`.
    pub(super) text: String,
    /// What the cells hold.
    pub(super) numbers: Vec<f64>,
}

impl SheetValue {
    pub(super) fn new(text: impl Into<String>, number: f64) -> Self {
        Self { text: text.into(), number, words: Vec::new() }
    }

    /// A number as it is written.
    pub(super) fn constant(number: f64) -> Self {
        Self::new(format!("{number}"), number)
    }

    /// The base of natural logarithms.
    pub(super) fn e() -> Self {
        Self::new("EXP(1)", std::f64::consts::E)
    }

    /// A function of one argument.
    pub(super) fn apply(&self, function: &str, of: impl Fn(f64) -> f64) -> Self {
        Self {
            text: format!("{function}({})", self.text),
            number: of(self.number),
            words: self.words.clone(),
        }
    }

    /// Applies the exponential function.
    pub(super) fn exp(&self) -> Self {
        self.apply("EXP", f64::exp)
    }

    /// The larger of the two.
    pub(super) fn max(&self, other: &Self) -> Self {
        let text = format!("MAX({},{})", self.text, other.text);
        // Not-a-number stays not-a-number, unlike in `f64::max`.
        let known = !self.number.is_nan() && !other.number.is_nan();
        let number = if known { self.number.max(other.number) } else { f64::NAN };
        Self { text, number, words: both(self, other) }
    }

    /// `yes` where this is above `bound`, else `no`.
    pub(super) fn above(&self, bound: f64, yes: &Self, no: &Self) -> Self {
        let text = format!("IF({}>{bound},{},{})", self.text, yes.text, no.text);
        let number = if self.number > bound { yes.number } else { no.number };
        let words = [self.words.clone(), both(yes, no)].concat();
        Self { text, number, words }
    }

    /// This where `used` is below `limit`, else the word `saturated`.
    pub(super) fn unless_saturated(&self, used: &Self, limit: &Self) -> Self {
        let text = format!("IF({}<{},{},\"saturated\")", used.text, limit.text, self.text);
        let number = if used.number < limit.number { self.number } else { f64::NAN };
        Self { text, number, words: self.words.clone() }
    }

    /// This where all of `cells` hold numbers, else the word `saturated`.
    pub(super) fn if_numbers(&self, cells: &SheetColumn) -> Self {
        let text = format!(
            "IF(COUNT({})={},{},\"saturated\")",
            cells.text,
            cells.numbers.len(),
            self.text
        );
        let number =
            if cells.numbers.iter().any(|number| number.is_nan()) { f64::NAN } else { self.number };
        Self { text, number, words: self.words.clone() }
    }

    /// The expression behind a test that all its cells hold numbers.
    pub(super) fn guarded(&self) -> String {
        if self.words.is_empty() {
            return self.text.clone();
        }
        let mut words = self.words.clone();
        words.sort_unstable();
        words.dedup();
        let asked: Vec<String> = words.iter().map(|word| format!("ISNUMBER({word})")).collect();
        format!("IF(AND({}),{},\"saturated\")", asked.join(","), self.text)
    }
}

impl SheetColumn {
    /// Sums the column.
    pub(super) fn sum(&self) -> SheetValue {
        SheetValue::new(format!("SUM({})", self.text), self.numbers.iter().sum())
    }

    /// The largest; for columns in which every cell is a number or a word that counts for nothing.
    pub(super) fn largest(&self) -> SheetValue {
        let numbers = self.numbers.iter().copied();
        let number =
            numbers.fold(f64::NEG_INFINITY, |left, right| if right > left { right } else { left });
        SheetValue::new(format!("MAX({})", self.text), number)
    }

    /// The sum of products with `other`.
    pub(super) fn times(&self, other: &Self) -> SheetValue {
        let number =
            self.numbers.iter().zip(&other.numbers).map(|(left, right)| left * right).sum();
        SheetValue::new(format!("SUMPRODUCT({},{})", self.text, other.text), number)
    }

    /// The sum of products with the squares of `other`.
    pub(super) fn times_square(&self, other: &Self) -> SheetValue {
        let number =
            self.numbers.iter().zip(&other.numbers).map(|(left, right)| left * right * right).sum();
        SheetValue::new(format!("SUMPRODUCT({0},{1},{1})", self.text, other.text), number)
    }

    /// The sum of products with `EXP(factor * other)`.
    pub(super) fn times_exp(&self, factor: &SheetValue, other: &Self) -> SheetValue {
        let pairs = self.numbers.iter().zip(&other.numbers);
        let number = pairs.map(|(left, right)| left * (factor.number * right).exp()).sum();
        SheetValue::new(
            format!("SUMPRODUCT({},EXP({}*{}))", self.text, factor.text, other.text),
            number,
        )
    }

    /// The sum of products with the larger of `scale * other` and `least`, to the power of `power`.
    pub(super) fn times_at_least(
        &self,
        scale: &SheetValue,
        other: &Self,
        least: &SheetValue,
        power: i32,
    ) -> SheetValue {
        let pairs = self.numbers.iter().zip(&other.numbers);
        let larger = |right: f64| (scale.number * right).max(least.number);
        let number = pairs.map(|(left, right)| left * larger(*right).powi(power)).sum();
        let (scaled, least) = (format!("{}*{}", scale.text, other.text), &least.text);
        // MAX would take the largest of the whole column.
        let text = format!(
            "SUMPRODUCT({},(({scaled}>{least})*({scaled}-{least})+{least})^{power})",
            self.text
        );
        SheetValue::new(text, number)
    }
}

fn both(left: &SheetValue, right: &SheetValue) -> Vec<String> {
    [left.words.clone(), right.words.clone()].concat()
}

macro_rules! operator {
    ($trait:ident, $method:ident, $sign:literal) => {
        impl $trait for &SheetValue {
            type Output = SheetValue;
            fn $method(self, other: Self) -> SheetValue {
                SheetValue {
                    text: format!(concat!("({}", $sign, "{})"), self.text, other.text),
                    number: self.number.$method(other.number),
                    words: both(self, other),
                }
            }
        }
        impl $trait for SheetValue {
            type Output = SheetValue;
            fn $method(self, other: Self) -> SheetValue {
                (&self).$method(&other)
            }
        }
        impl $trait<&SheetValue> for SheetValue {
            type Output = SheetValue;
            fn $method(self, other: &SheetValue) -> SheetValue {
                (&self).$method(other)
            }
        }
        impl $trait<SheetValue> for &SheetValue {
            type Output = SheetValue;
            fn $method(self, other: SheetValue) -> SheetValue {
                self.$method(&other)
            }
        }
        impl $trait<&SheetValue> for f64 {
            type Output = SheetValue;
            fn $method(self, other: &SheetValue) -> SheetValue {
                (&SheetValue::constant(self)).$method(other)
            }
        }
        impl $trait<SheetValue> for f64 {
            type Output = SheetValue;
            fn $method(self, other: SheetValue) -> SheetValue {
                (&SheetValue::constant(self)).$method(&other)
            }
        }
        impl $trait<f64> for SheetValue {
            type Output = SheetValue;
            fn $method(self, other: f64) -> SheetValue {
                (&self).$method(&SheetValue::constant(other))
            }
        }
        impl $trait<f64> for &SheetValue {
            type Output = SheetValue;
            fn $method(self, other: f64) -> SheetValue {
                self.$method(&SheetValue::constant(other))
            }
        }
    };
}

operator!(Add, add, "+");
operator!(Sub, sub, "-");
operator!(Mul, mul, "*");
operator!(Div, div, "/");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_its_expression() {
        let (left, right) = (SheetValue::new("A1", 3.0), SheetValue::new("B1", 2.0));
        let value = &left * &right - 1.0;
        assert_eq!((value.text.as_str(), value.number), ("((A1*B1)-1)", 5.0));
        assert!((left.max(&right).number - 3.0).abs() < 1e-12);
    }

    #[test]
    fn words_are_asked_for_first() {
        let wait = SheetValue { words: vec!["A1".to_owned()], ..SheetValue::new("A1", f64::NAN) };
        assert_eq!((&wait + &wait).guarded(), "IF(AND(ISNUMBER(A1)),(A1+A1),\"saturated\")");
        assert!((wait + 1.0).number.is_nan());
    }

    #[test]
    fn a_column_s_larger_ones() {
        let ones = SheetColumn { text: "A1:A2".to_owned(), numbers: vec![0.5, 0.5] };
        let times = SheetColumn { text: "B1:B2".to_owned(), numbers: vec![1.0, 4.0] };
        let (scale, least) = (SheetValue::constant(1.0), SheetValue::constant(2.0));
        assert!((ones.times_at_least(&scale, &times, &least, 2).number - 10.0).abs() < 1e-12);
        assert!((ones.times_square(&times).number - 8.5).abs() < 1e-12);
    }
}
