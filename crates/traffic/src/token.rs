//! Compares what a peer sent with the token.

use btu_contract::activity::Token;
use subtle::ConstantTimeEq;

/// Whether `said` is the token; takes equal time for every wrong one.
pub(crate) fn is_same(said: &Token, token: &Token) -> bool {
    said.ct_eq(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_is_enough() {
        let token = *b"sixteen byte key";
        assert!(is_same(&token, &token));
        for bit in 0..128 {
            let mut wrong = token;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_same(&wrong, &token), "bit {bit}");
        }
    }
}
