//! Long tests that do not have to run each time.

/// Whether scripts/test reports that every test ran as an ordinary user already: a result that does not
/// depend on root is checked once.
pub(crate) fn tested_already() -> bool {
    let user = std::env::var("BTU_TESTED_AS").ok().filter(|user| !user.is_empty());
    user.inspect(|user| eprintln!("tested as {user} already")).is_some()
}

/// Whether scripts/test reports that the newest commits changed no file of this test's part: the module of that
/// name, and those with more words after it (`hosts_pipe` is of the part `hosts`).
pub(crate) fn is_unchanged() -> bool {
    let unchanged = std::env::var("BTU_UNCHANGED").unwrap_or_default();
    let thread = std::thread::current();
    let module = thread.name().and_then(|name| name.split("::").next());
    let is_of = |part: &str, module: &str| {
        module.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let is_unchanged =
        module.is_some_and(|module| unchanged.split_whitespace().any(|part| is_of(part, module)));
    if is_unchanged {
        eprintln!("left out: the newest commits changed none of its files");
    }
    is_unchanged
}

/// Whether the time is over in which scripts/test begins long tests. The test of this thread is then named at the
/// end of its output.
pub(crate) fn is_late() -> bool {
    let until =
        std::env::var("BTU_LONG_TESTS_UNTIL").ok().and_then(|seconds| seconds.parse::<f64>().ok());
    let up = std::fs::read_to_string("/proc/uptime").expect("the kernel says how long it has run");
    let up: f64 = up.split(' ').next().and_then(|seconds| seconds.parse().ok()).expect("seconds");
    let is_late = until.is_some_and(|until| up > until);
    if is_late {
        eprintln!("NO TIME LEFT: {}", std::thread::current().name().unwrap_or_default());
    }
    is_late
}
