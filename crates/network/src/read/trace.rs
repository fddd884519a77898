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

/// Reads Mahimahi's form: one line for each opportunity, a whole number of milliseconds.
fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut times = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if times.len() == MOST {
            return Err(format!("it has more than {MOST} opportunities"));
        }
        let time = line.parse().map_err(|_| {
            format!(
                "its line {} is `{}`, not a whole number of milliseconds",
                number + 1,
                clip(line)
            )
        })?;
        times.push(time);
    }
    Ok(times)
}

/// The opportunities of a recorded link in Mahimahi's form, in milliseconds; `None` if the text is
/// something else: a network file does not begin with a number.
///
/// # Errors
/// Why a text that begins as a trace is none.
pub fn recorded(text: &str) -> Option<Result<Vec<u32>, String>> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let is_number = first.bytes().all(|byte| byte.is_ascii_digit());
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
    let last = *times.last().ok_or("a trace needs at least one opportunity")?;
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
        assert!(parse("1\nx\n").unwrap_err().contains("line 2 is `x`"));
    }

    #[test]
    fn a_trace_is_told_from_a_network_file() {
        assert_eq!(recorded("\n1\n7\n"), Some(Ok(vec![1, 7])));
        for other in ["", "[stations.a]\n1\n", "# 1\n1\n", "1 2\n"] {
            assert_eq!(recorded(other), None, "{other}");
        }
        for (wrong, why) in
            [("3\nx\n", "line 2"), ("3\n1\n", "must not go back"), ("0\n", "1 ms or later")]
        {
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
