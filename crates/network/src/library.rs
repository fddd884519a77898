//! Networks that come with the program.

/// The library: names and texts, in the order in which they are listed. Each file's head draws the
/// network and names its sources.
pub fn library() -> &'static [(&'static str, &'static str)] {
    LIBRARY
}

/// The text of the library's network called `name`, or of the bare network `veth`, which is not
/// listed with those that can be predicted and simulated.
pub fn library_text(name: &str) -> Option<&'static str> {
    LIBRARY.iter().chain(BARE).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The library's trace called `name`, in Mahimahi's form.
///
/// # Errors
/// When the library has no such trace; the text names those it has.
pub fn library_trace(name: &str) -> Result<String, String> {
    let found = TRACES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
        let names = TRACES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        format!("there is no such file; the library has {names}")
    })
}

/// Includes networks by their names.
macro_rules! networks {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../library/", $name, ".toml")))),*] };
}

const LIBRARY: &[(&str, &str)] = networks![
    "path",
    "laboratory-1995",
    "office-1988",
    "citi-1989",
    "citi-1989-light",
    "citi-1989-heavy",
    "ethernet-shared-10",
    "ethernet-shared-100",
    "ethernet-switched-10",
    "ethernet-switched-100",
    "ethernet-switched-1000",
    "token-ring-4",
    "token-ring-16",
    "fddi",
    "atm-155",
    "arpanet",
    "telephone",
    "stanford-1985",
    "satellite",
    "home-bloated",
    "home-fq-codel",
    "lte",
    "data-centre",
    "campus",
];

const BARE: &[(&str, &str)] = networks!["veth"];

const TRACES: &[(&str, &str)] = &[
    ("lte-down.trace", include_str!("../library/lte-down.trace")),
    ("lte-up.trace", include_str!("../library/lte-up.trace")),
];
