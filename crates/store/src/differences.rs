//! Lists of pairs in a JSON text as differences: buckets of a histogram and a flow's progress are
//! long lists of ascending numbers, which are short and much alike once each is written as what it
//! is above the one before it.
//!
//! `[[5000,1],[5008,3]]` becomes a mark and `5000,1,8,3]`. The mark says whether the second numbers
//! ascend too, and are differences as well. No JSON text holds the marks: control characters are
//! escaped in its strings (RFC 8259, section 7).

use std::fmt::Write;

/// The first number of each pair is a difference.
const FIRST: char = '\u{1}';

/// Both are.
const BOTH: char = '\u{2}';

/// The text with differences; `None` where it has no such list.
pub(crate) fn shortened(text: &str) -> Option<String> {
    if text.contains([FIRST, BOTH]) {
        return None;
    }
    let mut short = String::new();
    let mut rest = text;
    let mut is_shorter = false;
    while let Some(at) = rest.find("[[") {
        short.push_str(&rest[..at]);
        rest = if let Some((pairs, after)) = pairs(&rest[at..]) {
            is_shorter = true;
            put(&pairs, &mut short);
            after
        } else {
            short.push('[');
            &rest[at + 1..]
        };
    }
    short.push_str(rest);
    is_shorter.then_some(short)
}

/// The list that `text` begins with and what follows it, if its first numbers ascend. It reads on
/// only as long as this can be such a list, so that many brackets do not take longer.
fn pairs(text: &str) -> Option<(Vec<(u64, u64)>, &str)> {
    let mut rest = text.strip_prefix('[')?;
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    loop {
        let (first, after) = number(rest.strip_prefix('[')?)?;
        let (second, after) = number(after.strip_prefix(',')?)?;
        if pairs.last().is_some_and(|before| before.0 > first) {
            return None;
        }
        pairs.push((first, second));
        rest = after.strip_prefix(']')?;
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some((pairs, rest.strip_prefix(']')?)),
        }
    }
}

/// A number as it would be written again, and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    let is_usual = digits == "0" || !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_usual).map(|number| (number, rest))
}

fn put(pairs: &[(u64, u64)], short: &mut String) {
    let both = pairs.is_sorted_by_key(|pair| pair.1);
    let mut before = (0, 0);
    let mut mark = if both { BOTH } else { FIRST };
    for &(first, second) in pairs {
        // Writing to a text cannot fail.
        let _ = write!(short, "{mark}{},{}", first - before.0, second - before.1);
        before = (first, if both { second } else { 0 });
        mark = ',';
    }
    short.push(']');
}

/// The text that [`shortened`] made shorter.
///
/// # Errors
/// It made no such text, or the result has more than `most` bytes.
pub(crate) fn restored(short: &str, most: usize) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = short;
    while let Some(at) = rest.find([FIRST, BOTH]) {
        text.push_str(&rest[..at]);
        let both = rest[at..].starts_with(BOTH);
        let (list, after) =
            rest[at + 1..].split_once(']').ok_or_else(|| "a list has no end".to_owned())?;
        restore(list, both, most, &mut text)?;
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

fn restore(list: &str, both: bool, most: usize, text: &mut String) -> Result<(), String> {
    let wrong = || "a list is not one of differences".to_owned();
    let mut numbers = list.split(',').map(|word| word.parse::<u64>().map_err(|_| wrong()));
    let mut before = (0_u64, 0_u64);
    let mut bracket = "[[";
    while let Some(first) = numbers.next() {
        let first = before.0.checked_add(first?).ok_or_else(wrong)?;
        let second = numbers.next().ok_or_else(wrong)??;
        let second = before.1.checked_add(second).ok_or_else(wrong)?;
        // Writing to a text cannot fail.
        let _ = write!(text, "{bracket}{first},{second}]");
        if text.len() > most {
            return Err("it is larger than any record".to_owned());
        }
        before = (first, if both { second } else { 0 });
        bracket = ",[";
    }
    text.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn again(text: &str) -> String {
        shortened(text).map_or_else(|| text.to_owned(), |short| restored(&short, 1 << 20).unwrap())
    }

    #[test]
    fn ascending_pairs_are_differences() {
        let short = shortened(r#"{"a":[[5000,1],[5008,3],[5009,2]],"b":[[7,7],[9,9]]}"#);
        assert_eq!(short.as_deref(), Some("{\"a\":\u{1}5000,1,8,3,1,2],\"b\":\u{2}7,7,2,2]}"));
    }

    /// What is no such list stays as it is, and so does a text that has marks already.
    #[test]
    fn other_texts_stay() {
        for text in
            ["[]", "[[]]", "[[3,1],[2,1]]", "[[1,2],[1]]", "[[01,2]]", "[[1, 2]]", "[[-1,2]]"]
        {
            assert_eq!(shortened(text), None, "{text}");
        }
        assert_eq!(shortened("[[1,2]]\u{1}"), None);
        assert_eq!(shortened("[[99999999999999999999,2]]"), None);
    }

    #[test]
    fn damage_is_an_error() {
        let most = 1 << 20;
        for short in [
            "\u{1}",
            "\u{1}]",
            "\u{1}1]",
            "\u{1}1,2,3]",
            "\u{2}1,x]",
            "\u{2}1,18446744073709551615,0,1]",
        ] {
            assert!(restored(short, most).is_err(), "{short:?}");
        }
        let long = format!("\u{2}{}]", vec!["9999999,9999999"; 100].join(","));
        assert!(restored(&long, most).is_ok());
        assert_eq!(restored(&long, 500), Err("it is larger than any record".to_owned()));
    }

    /// Many brackets in a hostile file's string take no longer than other characters: a reading of
    /// the rest at each of them would take hours.
    #[test]
    fn brackets_take_no_longer() {
        for brackets in ["[".repeat(8 << 20), "[[1,2],".repeat(1 << 20)] {
            assert_eq!(shortened(&brackets), None);
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in r#"([\[\],0-9"a\x01\x02]|\[\[[0-9]{1,3},[0-9]\],\[[0-9]{3},[0-9]{2}\]\]){0,40}"#) {
            prop_assert_eq!(again(&text), text);
        }

        #[test]
        fn every_list_comes_back(mut pairs in prop::collection::vec(any::<(u64, u64)>(), 0..20)) {
            pairs.sort_unstable();
            let text = serde_json::to_string(&pairs).unwrap();
            prop_assert_eq!(again(&text), text);
        }

        #[test]
        fn nothing_panics(short in "[\\x01\\x02\\[\\],0-9]{0,40}") {
            let _ = restored(&short, 1 << 20);
        }
    }
}
