//! What every screen keeps.

/// No line is wider than the terminal, and none ends with blanks.
pub(crate) fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        let columns = line.chars().count();
        assert!(columns <= width, "{columns} columns of {width}: {line}");
        assert_eq!(line.trim_end(), line, "no blanks at the end");
    }
}

/// A text without the sequences that colour it.
pub(crate) fn without_colour(coloured: &str) -> String {
    let mut plain = String::new();
    let mut rest = coloured;
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let end = rest[start..].find('m').unwrap();
        rest = &rest[start + end + 1..];
    }
    plain + rest
}
