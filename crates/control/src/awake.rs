//! Keeps this machine's processors from sleeping.

use btu_testbed::processors::Awake;

/// Keeps all processors from sleeping while it exists, or lets them sleep.
#[derive(Debug)]
pub struct Wakefulness {
    _awake: Option<Awake>,
}

impl Wakefulness {
    /// Keeps them awake from now on, if that is wanted and possible.
    pub fn begin(is_wanted: bool) -> Self {
        Self { _awake: if is_wanted { Awake::begin() } else { None } }
    }

    /// Whether this user can keep this machine's processors from sleeping.
    pub fn is_possible() -> bool {
        Awake::begin().is_some()
    }
}
