//! The secrets for data connections and the run's FTP server: from the kernel's random numbers,
//! never from the seed.

use btu_contract::activity::Token;

use super::error::ControllerError;
use crate::octets;

/// A token for the data connections of one cell.
///
/// # Errors
/// A kernel without random bytes.
pub fn token() -> Result<Token, ControllerError> {
    let operation = "asking the system for random numbers";
    octets::random().map_err(|source| ControllerError::System { operation, source })
}

/// A password of 32 hexadecimal digits.
///
/// # Errors
/// A kernel without random bytes.
pub fn password() -> Result<String, ControllerError> {
    Ok(format!("{:032x}", u128::from_ne_bytes(token()?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_token_and_every_password_is_a_new_one() {
        let tokens: BTreeSet<Token> = (0..1000).map(|_| token().unwrap()).collect();
        let passwords: BTreeSet<String> = (0..1000).map(|_| password().unwrap()).collect();
        assert_eq!((tokens.len(), passwords.len()), (1000, 1000));
    }
}
