//! Long tests with results that do not depend on root run once.

/// Whether scripts/test reports that every test ran as an ordinary user already.
pub(crate) fn tested_already() -> bool {
    let user = std::env::var("BTU_TESTED_AS").ok();
    user.inspect(|user| eprintln!("tested as {user} already")).is_some()
}

/// Whether a test that holds measured numbers does not have to run: again as root, or because the
/// code that it measures has not changed.
pub(crate) fn is_left_out() -> bool {
    tested_already() || is_unchanged()
}

/// Whether scripts/test reports that the code that this test's module measures has not changed: the
/// first part of a test's name is its module.
pub(crate) fn is_unchanged() -> bool {
    let unchanged = std::env::var("BTU_UNCHANGED").unwrap_or_default();
    let thread = std::thread::current();
    let module = thread.name().and_then(|name| name.split("::").next());
    let is_unchanged = module.is_some_and(|module| unchanged.split(' ').any(|one| one == module));
    if is_unchanged {
        eprintln!("left out: nothing that it measures has changed");
    }
    is_unchanged
}
