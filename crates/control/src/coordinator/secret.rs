//! What opens data connections and the run's FTP server: from the kernel's random numbers, never from the seed.

use std::fs::File;
use std::io::Read;

use btu_suite::activity::Token;

use super::error::CoordinatorError;

/// A token for the data connections of one cell.
pub(super) fn token() -> Result<Token, CoordinatorError> {
    let mut token = Token::default();
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut token))
        .map_err(|source| CoordinatorError::System { operation: "reading /dev/urandom", source })?;
    Ok(token)
}

/// A password of 32 hexadecimal digits.
pub(super) fn password() -> Result<String, CoordinatorError> {
    Ok(format!("{:032x}", u128::from_ne_bytes(token()?)))
}
