//! Octets that need not be UTF-8, as a text: names of files and arguments of programs are any octets
//! to the system, and JSON and TOML have only texts.
//!
//! An octet that is no part of a character becomes a character of the private use area, U+F780 to
//! U+F7FF for 0x80 to 0xFF. Characters of this range become three such characters, so that every
//! text comes back as its octets, and UTF-8 texts without them are as they were.

/// The character of octet 0x80.
const FIRST: u32 = 0xF780;

/// The text for these octets.
pub fn text_of_octets(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.utf8_chunks() {
        for character in chunk.valid().chars() {
            if octet(character).is_some() {
                text.extend(character.encode_utf8(&mut [0; 4]).bytes().map(stand_in));
            } else {
                text.push(character);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(stand_in));
    }
    text
}

/// The octets of such a text.
pub fn octets_of_text(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    for character in text.chars() {
        match octet(character) {
            Some(octet) => octets.push(octet),
            None => octets.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    octets
}

/// The character for an octet from 0x80.
fn stand_in(octet: u8) -> char {
    char::from_u32(FIRST + u32::from(octet & 0x7F)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The octet for which a character stands.
fn octet(character: char) -> Option<u8> {
    let number = u32::from(character).checked_sub(FIRST)?;
    u8::try_from(number).ok().filter(|number| *number < 0x80).map(|number| number | 0x80)
}

/// Octets as lower-case hexadecimal digits, two for each.
pub fn hexadecimal(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_texts_stay_as_they_are() {
        for text in ["", "a b", "Grüße 日本", "\u{F77F}\u{F800}"] {
            assert_eq!(text_of_octets(text.as_bytes()), text);
            assert_eq!(octets_of_text(text), text.as_bytes());
        }
        assert_eq!(text_of_octets(b"a\xffb"), "a\u{F7FF}b");
    }

    proptest! {
        #[test]
        fn octets_come_back(octets in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(octets_of_text(&text_of_octets(&octets)), octets);
        }

        #[test]
        fn texts_of_this_range_come_back(text in "[\u{F770}-\u{F810}a]{0,9}") {
            prop_assert_eq!(octets_of_text(&text_of_octets(text.as_bytes())), text.as_bytes());
        }
    }

    #[test]
    fn every_octet_has_two_digits() {
        assert_eq!(hexadecimal(&[]), "");
        assert_eq!(hexadecimal(&[0, 0x0f, 0xa5, 0xff]), "000fa5ff");
    }
}
