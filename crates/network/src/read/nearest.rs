//! Finds the word that a user may have meant.

/// The member of `known` that differs least from `word`, if the difference is small.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long word is no typing error of a short one, and comparing costs the product of the
    // lengths.
    if word.chars().count() > 64 {
        return None;
    }
    let scored =
        known.into_iter().filter(|name| name.len() <= 64).map(|name| (distance(word, name), name));
    let (distance, name) = scored.min()?;
    (distance <= 1 + name.chars().count() / 4).then_some(name)
}

/// How many characters must be put in, left out, replaced or swapped with their neighbour (optimal
/// string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) =
        (from.to_lowercase().chars().collect(), to.to_lowercase().chars().collect());
    let mut before: Vec<usize> = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

/// `names` as a sentence's end, shortened where there are many: `` `a`, `b` and 17 more ``.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 24;
    let names: Vec<&str> = names.into_iter().collect();
    let mut text =
        names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text = format!("{text} and {} more", names.len() - SHOWN);
    }
    text
}

/// `, did you mean ...?`, or nothing.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognised() {
        let known = ["rate", "delay", "latency", "station_latency"];
        assert_eq!(nearest("raet", known), Some("rate"));
        assert_eq!(nearest("dealy", known), Some("delay"));
        assert_eq!(nearest("station-latency", known), Some("station_latency"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn many_names_are_cut_short() {
        let names: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        assert!(listed(names.iter().map(String::as_str)).ends_with("`23` and 6 more"));
    }
}
