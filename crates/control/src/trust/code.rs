//! A pairing code: 100 bits in Crockford's base 32 (<https://www.crockford.com/base32.html>), for
//! reading aloud, with a check character of btu's own.

use super::TrustError;

/// Crockford's symbols: no I, L, O, U.
const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Characters that carry bits, 5 each.
const DIGITS: usize = 20;

/// Characters between two hyphens.
const GROUP: usize = 4;

/// The 100 bits of a code, 5 in each element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits([u8; DIGITS]);

impl Bits {
    /// From random bytes, of which 5 bits each are taken.
    pub(super) fn of(random: [u8; DIGITS]) -> Self {
        Self(random.map(|byte| byte & 31))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads the code that a user typed: case, spaces and hyphens do not count, O is 0, I and L are
    /// 1.
    pub(super) fn parse(text: &str) -> Result<Self, TrustError> {
        let typed = text.chars().filter(|c| !c.is_whitespace() && *c != '-').take(DIGITS + 2);
        let values = typed.map(value).collect::<Option<Vec<u8>>>();
        let values = values.ok_or(TrustError::Code("it holds a character that no code has"))?;
        let Some((&last, digits)) = values.split_last() else {
            return Err(TrustError::Code("it is empty"));
        };
        let digits = <[u8; DIGITS]>::try_from(digits).map_err(|_| {
            TrustError::Code("it does not have 21 letters and digits: copy all of it")
        })?;
        if check(&digits) != last {
            return Err(TrustError::Code("a character is mistyped, or two have changed places"));
        }
        Ok(Self(digits))
    }
}

impl std::fmt::Display for Bits {
    /// Five groups of four, the last followed by the check character.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, digit) in self.0.iter().enumerate() {
            if i > 0 && i % GROUP == 0 {
                f.write_str("-")?;
            }
            write!(f, "{}", symbol(*digit))?;
        }
        write!(f, "{}", symbol(check(&self.0)))
    }
}

fn symbol(digit: u8) -> char {
    char::from(SYMBOLS[usize::from(digit & 31)])
}

fn value(typed: char) -> Option<u8> {
    let c = match typed.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        c => c,
    };
    SYMBOLS.iter().position(|symbol| char::from(*symbol) == c).and_then(|i| u8::try_from(i).ok())
}

/// The sum of digit i times x^(i+1) in the field of 32 elements. No weight is 0 or 1 and no two are
/// equal, so that any one wrong character, and any two that have changed places, change the sum;
/// that of the check character itself included.
fn check(digits: &[u8; DIGITS]) -> u8 {
    digits.iter().rev().fold(0, |sum, digit| times_x(sum ^ digit))
}

/// Multiplication by x modulo the primitive polynomial x^5 + x^2 + 1.
fn times_x(value: u8) -> u8 {
    let doubled = value << 1;
    if doubled & 32 == 0 { doubled } else { doubled ^ 0b10_0101 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mistaken_letters_are_forgiven() {
        let code = Bits([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        let written = code.to_string();
        let typed = format!(
            " {} ",
            written.to_lowercase().replace('0', "o").replace('1', "l").replace('-', " ")
        );
        assert!(Bits::parse(&typed).unwrap() == code, "{written}");
    }

    #[test]
    fn what_is_no_code_says_why() {
        for (text, why) in
            [("", "empty"), ("K7QF", "21"), ("K7QF-????-", "no code has"), (&"A".repeat(500), "21")]
        {
            let error = Bits::parse(text).err().unwrap().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_code_comes_back(random in any::<[u8; DIGITS]>()) {
            let code = Bits::of(random);
            prop_assert!(Bits::parse(&code.to_string()).is_ok_and(|parsed| parsed == code));
        }

        #[test]
        fn every_single_error_and_every_swap_is_seen(
            random in any::<[u8; DIGITS]>(), at in 0..=DIGITS, to in 0..=DIGITS, wrong in 1..32_u8
        ) {
            let written = Bits::of(random).to_string().replace('-', "");
            let mut characters = written.chars().collect::<Vec<_>>();
            let other = symbol(value(characters[at]).unwrap() ^ wrong);
            let right = std::mem::replace(&mut characters[at], other);
            prop_assert!(Bits::parse(&characters.iter().collect::<String>()).is_err());
            characters[at] = right;
            characters.swap(at, to);
            let same = characters[at] == characters[to];
            prop_assert_eq!(Bits::parse(&characters.iter().collect::<String>()).is_ok(), same);
        }

        #[test]
        fn nothing_typed_makes_it_fail_in_another_way(text in ".{0,64}") {
            let _ = Bits::parse(&text).map(|code| code.to_string());
        }
    }
}
