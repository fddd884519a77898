//! Keeps this machine's processors from sleeping.

use btu_testbed::processors::Awake;

/// Keeps all processors from sleeping while it exists, or lets them sleep, as by default.
#[derive(Debug, Default)]
pub struct Wakefulness {
    is_wanted: bool,
    awake: Option<Awake>,
}

impl Wakefulness {
    /// Keeps them awake from now on, if that is wanted and possible.
    pub fn begin(is_wanted: bool) -> Self {
        let mut wakefulness = Self { is_wanted, awake: None };
        wakefulness.go_on();
        wakefulness
    }

    /// Lets them sleep for a while.
    pub(crate) fn pause(&mut self) {
        self.awake = None;
    }

    /// Keeps them awake again, if that was wanted.
    pub(crate) fn go_on(&mut self) {
        self.awake = if self.is_wanted { Awake::begin() } else { None };
    }

    /// Whether this user can keep this machine's processors from sleeping.
    pub fn is_possible() -> bool {
        Awake::begin().is_some()
    }
}
