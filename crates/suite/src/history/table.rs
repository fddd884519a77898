//! The papers' tables as they are kept with the project: comma-separated, a head, no quotes.

/// The fields of each line below the head.
///
/// The tables are part of this program, so one that does not fit is our own bug and panics; every
/// table is read by a test.
pub(super) fn lines<const FIELDS: usize>(
    table: &'static str,
) -> impl Iterator<Item = [&'static str; FIELDS]> {
    table.lines().skip(1).map(|line| {
        let mut fields = line.splitn(FIELDS, ',');
        std::array::from_fn(|_| {
            fields.next().unwrap_or_else(|| panic!("`{line}` has fewer than {FIELDS} fields"))
        })
    })
}

/// A field as a number.
pub(super) fn number(field: &str) -> f64 {
    field.parse().unwrap_or_else(|_| panic!("`{field}` is not a number"))
}

/// A field as a whole number.
pub(super) fn whole(field: &str) -> u64 {
    field.parse().unwrap_or_else(|_| panic!("`{field}` is not a whole number"))
}
