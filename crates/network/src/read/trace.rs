//! Recorded links: `trace = "name.trace"`, a file in Mahimahi's form, or the list itself.

use super::fields::{Item, clip};
use crate::direction::Trace;

/// A function that reads the files that a network file names: it returns the text, or the reason
/// why it cannot.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Opportunities in one trace; at 12 Mb/s more than an hour.
pub(super) const MOST: usize = 4_000_000;

/// The trace that `item` names or is.
pub(super) fn read(item: &Item<'_>, files: Files<'_>) -> Option<Trace> {
    let read = if item.is_list() { listed(item) } else { named(item, files) }?;
    match check(&read) {
        Ok(()) => Some(Trace { opportunities_ms: read }),
        Err(problem) => {
            item.problem(problem);
            None
        }
    }
}

fn listed(item: &Item<'_>) -> Option<Vec<u32>> {
    item.each().iter().map(|entry| entry.whole(0..=u32::MAX)).collect()
}

fn named(item: &Item<'_>, files: Files<'_>) -> Option<Vec<u32>> {
    let name = item.text()?;
    let read = files(name).and_then(|text| parse(&text));
    read.map_err(|problem| {
        item.problem(format!("the trace `{}` cannot be used: {problem}", clip(name)));
    })
    .ok()
}

/// Reads Mahimahi's form: one line for each opportunity, a whole number of milliseconds, in
/// ascending order.
fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut times = Vec::new();
    for (number, line) in lines(text) {
        if times.len() == MOST {
            return Err(format!("it has more than {MOST} opportunities"));
        }
        let time = line.parse().map_err(|_| {
            format!("its line {number} is `{}`, not a whole number of milliseconds", clip(line))
        })?;
        if times.last().is_some_and(|last| *last > time) {
            return Err(format!(
                "its times must not go back, and its line {number}, {time}, is before the one before it"
            ));
        }
        times.push(time);
    }
    Ok(times)
}

/// The lines that are not empty, with their numbers. Some editors begin a text with a byte order
/// mark.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let numbered = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty())
}

/// The opportunities of a recorded link in Mahimahi's form, in milliseconds; `None` if the text is
/// something else: no line of a network file is a number.
///
/// # Errors
/// Why a text that begins as a trace is none.
pub fn recorded(text: &str) -> Option<Result<Vec<u32>, String>> {
    let (_, first) = lines(text).next()?;
    let mut words = first.split_whitespace();
    let is_number = words.all(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
    is_number.then(|| parse(text).and_then(|times| check(&times).map(|()| times)))
}

/// For fuzzers: any octets as the file of a trace.
pub fn fuzz_trace(octets: &[u8]) {
    let read =
        parse(&String::from_utf8_lossy(octets)).and_then(|times| check(&times).map(|()| times));
    if let Ok(opportunities_ms) = read {
        let _ = Trace { opportunities_ms }.mean_rate();
    }
}

fn check(times: &[u32]) -> Result<(), String> {
    let last = *times.last().ok_or("it is empty, and a trace needs at least one opportunity")?;
    if let Some(place) = times.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(format!(
            "its times must not go back, but opportunity {} is before the one before it",
            place + 2
        ));
    }
    if last == 0 {
        return Err(
            "its last opportunity is the trace's length and must be at 1 ms or later".to_owned()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mahimahis_form_is_read() {
        assert_eq!(parse("0\n1\n1\n\n5\n"), Ok(vec![0, 1, 1, 5]));
        assert_eq!(parse("\u{feff}1\r\n5\r\n"), Ok(vec![1, 5]));
        assert!(parse("1\nx\n").unwrap_err().contains("line 2 is `x`"));
        assert!(parse("1\n\n3\n2\n").unwrap_err().contains("line 4, 2,"));
    }

    #[test]
    fn a_trace_is_told_from_a_network_file() {
        assert_eq!(recorded("\n1\n7\n"), Some(Ok(vec![1, 7])));
        assert_eq!(recorded("\u{feff}1\n7\n"), Some(Ok(vec![1, 7])));
        for other in ["", "\u{feff}\n", "[stations.a]\n1\n", "# 1\n1\n", "1 = 2\n", "inf\n"] {
            assert_eq!(recorded(other), None, "{other}");
        }
        for (wrong, why) in [
            ("3\nx\n", "line 2"),
            ("3\n1\n", "must not go back"),
            ("0\n", "1 ms or later"),
            ("\n0.5\n1.5\n", "line 2 is `0.5`, not a whole number"),
            ("-1\n", "line 1 is `-1`"),
            ("1 1500\n2 1500\n", "line 1 is `1 1500`"),
            ("1e3\n", "line 1 is `1e3`"),
        ] {
            let error = recorded(wrong).unwrap().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn times_ascend_and_take_time() {
        assert_eq!(check(&[0, 1, 1, 5]), Ok(()));
        assert!(check(&[]).is_err());
        assert!(check(&[0, 0]).is_err());
        assert!(check(&[1, 3, 2]).unwrap_err().contains("opportunity 3"));
    }
}
