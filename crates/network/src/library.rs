//! Networks that come with the program.

/// The library: names and texts, in the order in which they are listed.
pub fn library() -> &'static [(&'static str, &'static str)] {
    LIBRARY
}

const LIBRARY: &[(&str, &str)] = &[("laboratory-1995", include_str!("../library/laboratory-1995.toml"))];

/// The text of the library's network called `name`.
pub fn library_text(name: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The library's trace called `name`, or why there is none.
///
/// # Errors
/// When the library has no such trace.
pub fn library_trace(name: &str) -> Result<String, String> {
    Err(format!("the library has no trace `{name}`"))
}
