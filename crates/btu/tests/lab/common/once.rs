//! Long tests that do not have to run each time.

/// Whether scripts/test reports that every test ran as an ordinary user already: a result that does not
/// depend on root is checked once.
pub(crate) fn tested_already() -> bool {
    let user = std::env::var("BTU_TESTED_AS").ok();
    user.inspect(|user| eprintln!("tested as {user} already")).is_some()
}

/// Whether scripts/test reports that the files of this test's part are those with which it passed
/// last: the first part of a test's name is its module.
pub(crate) fn is_unchanged() -> bool {
    let unchanged = std::env::var("BTU_UNCHANGED").unwrap_or_default();
    let thread = std::thread::current();
    let module = thread.name().and_then(|name| name.split("::").next());
    let is_unchanged = module.is_some_and(|module| unchanged.split(' ').any(|one| one == module));
    if is_unchanged {
        eprintln!("left out: it has passed with these files");
    }
    is_unchanged
}
