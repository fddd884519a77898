//! Long tests that being root makes no difference to are held once.

/// Whether scripts/test says that every test was held as an ordinary user already.
pub(crate) fn tested_already() -> bool {
    let user = std::env::var("BTU_TESTED_AS").ok();
    user.inspect(|user| eprintln!("tested as {user} already")).is_some()
}
