//! Data files of Flent in the shapes of its earlier versions.

use super::*;

/// A file with these series (`results`, `raw_values`) and their metadata.
fn file(version: u8, meta: &str, results: &str, raw: &str) -> Imported {
    of(&format!(
        r#"{{"version": {version}, "metadata": {{"NAME": "x", "TIME": "2015-07-13T21:38:31.530151",
        "SERIES_META": {{{meta}}}}}, "x_values": [0.0, 0.2], "results": {{{results}}},
        "raw_values": {{{raw}}}}}"#
    ))
}

/// Printed values in seconds or transactions per second, those on the grid in milliseconds.
#[test]
fn values_are_in_the_unit_of_the_results_whatever_the_printed_unit() {
    let latency = r#""HTTP latency": {"UNITS": "ms"}"#;
    let (grid, raw) = ("[4.0, 6.0]", r#"[{"t": 1.0, "val": 0.003}, {"t": 2.0, "val": 0.006}]"#);
    let of = |version, name: &str| {
        let (meta, name) = (latency.replace("HTTP latency", name), format!("\"{name}\": "));
        let file = file(version, &meta, &format!("{name}{grid}"), &format!("{name}{raw}"));
        file.run.quantities[0].clone()
    };
    // Flent itself multiplies those of HTTP, and so has the mean of what was printed.
    for (version, name, mean) in
        [(2, "HTTP latency", 0.0045), (4, "HTTP latency", 0.005), (2, "other", 0.005)]
    {
        let found = of(version, name);
        assert!((found.values[0] - mean).abs() < 1e-12, "{version} {name}: {found:?}");
    }
    let raw = r#""Ping (ms) UDP BE1": [{"t": 1.0, "val": 20.0, "dur": 0.2}, {"t": 2.0, "val": 0.0,
        "dur": 0.2}]"#;
    let meta = r#""Ping (ms) UDP BE1": {"UNITS": "ms", "MEAN_VALUE": 50.1}"#;
    let ping = file(3, meta, r#""Ping (ms) UDP BE1": [50.0, null]"#, raw);
    let note = &ping.run.quantities[0].note;
    assert_eq!(note, "average of `Ping (ms) UDP BE1`; median 50.0 ms");
}

/// Two flows of 30 Mb/s, of which one ran for half of the time: Flent adds their means.
#[test]
fn a_sum_of_means_is_shown_with_the_mean_over_time() {
    let meta =
        r#""TCP upload sum": {"UNITS": "Mbits/s", "MEAN_VALUE": 60.0, "COMPUTED_LATE": true}"#;
    let sum = file(4, meta, r#""TCP upload sum": [30.0, 60.0]"#, "");
    assert_eq!(sum.run.answer, "sent up 60.0 Mb/s (mean over time 45.0 Mb/s)");
    let note = &sum.run.quantities[0].note;
    assert_eq!(note, "average of `TCP upload sum`; mean over time 45.0 Mb/s");
    let same = file(4, meta, r#""TCP upload sum": [59.0, 62.0]"#, "");
    assert_eq!(same.run.answer, "sent up 60.0 Mb/s");
}

#[test]
fn local_time_comes_with_the_first_value_or_the_zone_is_called_unknown() {
    let raw =
        r#""a": [{"t": 1436816349.0, "val": 1}, {"t": 1436816328.1, "val": 1}], "b": [{"t": "x"}]"#;
    let known = file(2, r#""a": {"UNITS": "ms"}"#, r#""a": [1.0, 1.0]"#, raw);
    let Some(Began::Written { text, first }) = &known.began else { panic!("{known:?}") };
    assert_eq!((&**text, *first), ("2015-07-13T21:38:31.530151", Some(1_436_816_328.1)));
    assert!(known.run.remarks.is_empty());
    let unknown = file(2, r#""a": {"UNITS": "ms"}"#, r#""a": [1.0, 1.0]"#, "");
    assert_eq!(unknown.run.remarks, ["Its time zone is unknown; times are shown in UTC."]);
}
