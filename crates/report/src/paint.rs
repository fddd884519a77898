//! Colours for terminals.

/// Puts ANSI sequences (ECMA-48, SGR) around text, or leaves it alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// The main number of a result.
    pub(crate) fn strong(self, text: &str) -> String {
        self.wrap("1;32", text)
    }

    /// The title of a table.
    pub(crate) fn title(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// A warning in its colour.
    pub(crate) fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Text that readers may skip.
    pub(crate) fn quiet(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// The colour of the series with this index in a plot.
    pub(crate) fn series(self, place: usize, text: &str) -> String {
        const COLOURS: [&str; 6] = ["36", "33", "32", "35", "34", "31"];
        self.wrap(COLOURS[place % COLOURS.len()], text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
