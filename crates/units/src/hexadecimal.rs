//! Octets as hexadecimal text.

/// Octets as lower-case hexadecimal digits, two for each.
pub fn hexadecimal(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_has_two_digits() {
        assert_eq!(hexadecimal(&[]), "");
        assert_eq!(hexadecimal(&[0, 0x0f, 0xa5, 0xff]), "000fa5ff");
    }
}
