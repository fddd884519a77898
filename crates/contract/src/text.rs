//! Types that are stored as the text that users write.

/// Has serde read and write a type by its `FromStr` and `Display`: for `#[serde(try_from =
/// "String", into = "String")]`.
macro_rules! stored_as_text {
    ($name:ty) => {
        impl TryFrom<String> for $name {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

pub(crate) use stored_as_text;

/// The member of `all` with this name.
///
/// # Errors
/// The message that there is no `what` of that name, with the known ones.
pub fn named<T: Copy>(
    text: &str,
    what: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        format!("there is no {what} `{text}`; there are {}", names.join(", "))
    })
}

/// The first `most` names and the number of the rest: `a, b and 3 more`. A single further name is no
/// longer than its number.
pub fn first_names(names: &[&str], most: usize) -> String {
    if names.len() <= most + 1 {
        return names.join(", ");
    }
    format!("{} and {} more", names[..most].join(", "), names.len() - most)
}

/// A share for readers: `7.5 %`, `30 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value >= 10.0 {
        format!("{value:.0} %")
    } else {
        format!("{} %", (value * 10.0).round() / 10.0)
    }
}

/// `1 cell`, `2 cells`.
pub fn count(number: impl Into<u64>, one: &str) -> String {
    match number.into() {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}
