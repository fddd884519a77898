use proptest::prelude::*;

use super::*;

const SAVE: &str = "\
# A word processor saves a document.
0.000 stat   letter
0.001 open   letter
0.002 read   letter 0 4096
1.5   make   letter.new   # not there before
1.502 write  letter.new 0 6000

1.51  flush  letter.new
1.512 rename letter.new letter
2     remove notes
2     make   log
2     write  log 100 10
";

#[test]
fn a_trace_is_read_as_it_is_documented() {
    let trace = OperationTrace::read(SAVE).unwrap();
    assert_eq!(trace.names(), ["letter", "letter.new", "notes", "log"]);
    assert_eq!(trace.operations().len(), 10);
    assert_eq!(trace.operations()[2].doing, Replayed::Read { offset: 0, length: 4096 });
    assert_eq!(trace.operations()[6].doing, Replayed::Rename(0));
    assert_eq!(trace.operations()[6].at, Span::from_milliseconds(1512));
    // A file that is read before it is made existed, with that size.
    assert_eq!(
        trace.files(),
        [TracedFile { file: 0, size: 4096 }, TracedFile { file: 2, size: 0 }]
    );
    assert_eq!((trace.left(), trace.restored()), (&[3][..], &[0, 2][..]));
    // 10096 octets before the rename, and two other files.
    assert_eq!((trace.room(), trace.most_files()), (Bytes::new(10_096), 3));
    // Ten operations in two seconds have nine gaps.
    assert_eq!(trace.period(), Span::from_nanoseconds(2_222_222_222));
    let [read, written] = trace.octets();
    assert!((read - 409.6).abs() < 1e-9 && (written - 601.0).abs() < 1e-9, "{read} {written}");
    state::replay(&trace);
}

#[test]
fn a_trace_is_stored_as_its_text() {
    let trace = OperationTrace::read(SAVE).unwrap();
    let stored = serde_json::to_string(&trace).unwrap();
    assert_eq!(serde_json::from_str::<OperationTrace>(&stored).unwrap(), trace);
    let error =
        serde_json::from_str::<OperationTrace>("\"1 burn letter\"").unwrap_err().to_string();
    assert!(error.contains("line 1: there is no operation `burn`"), "{error}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, line, problem) in [
        ("", 1, "no operation"),
        ("\n# nothing\n", 1, "no operation"),
        ("0 open", 1, "no file"),
        ("0", 1, "no operation; a line is"),
        ("soon open letter", 1, "`soon` is not a time in seconds"),
        ("-1 open letter", 1, "`-1` is not a time"),
        ("1e3 open letter", 1, "`1e3` is not a time"),
        ("inf open letter", 1, "`inf` is not a time"),
        ("301 open letter", 1, "later than 300 s"),
        ("1 open letter\n0.5 stat letter", 2, "times do not go back"),
        ("0 burn letter", 1, "there is no operation `burn`; there are open, read"),
        ("0 open a/b", 1, "`a/b` is not a name of a file here"),
        ("0 open ..", 1, "`..` is not a name"),
        ("0 read letter", 1, "no offset"),
        ("0 read letter 0", 1, "no length"),
        ("0 read letter 0 many", 1, "`many` is not a valid length"),
        ("0 read letter 0 0", 1, "a length of nothing"),
        ("0 write letter 1048576 1", 1, "end beyond 1048576"),
        ("0 write letter 18446744073709551615 1", 1, "end beyond"),
        ("0 rename letter", 1, "rename has a new name"),
        ("0 open letter now", 1, "`now` is more than `open` takes"),
        ("0 remove letter\n1 open letter", 2, "there is no `letter` any more"),
        ("0 rename a b\n1 open a", 2, "there is no `a` any more"),
        (
            "0 make a\n\n1 write a 0 10\n2 read a 5 6",
            4,
            "`a` has 10 octets at this time; 6 from 5 are not there",
        ),
    ] {
        let error = OperationTrace::read(text).expect_err(text);
        assert!(error.line == line && error.problem.contains(problem), "{text:?}: {error}");
    }
    let many: Vec<String> = (0..33).map(|file| format!("0 open file-{file}")).collect();
    assert!(
        OperationTrace::read(&many.join("\n"))
            .unwrap_err()
            .problem
            .starts_with("33 files at a time")
    );
    let long: Vec<String> =
        (0..4001u32).map(|at| format!("{} stat a", f64::from(at) / 100.0)).collect();
    assert_eq!(OperationTrace::read(&long.join("\n")).unwrap_err().line, 4001);
}

#[test]
fn files_that_change_places_are_followed() {
    // `b` is read as large as `a` was; `a` is another file then.
    let trace =
        OperationTrace::read("0 rename a b\n1 read b 0 100\n2 make a\n3 write a 0 7\n4 remove b")
            .unwrap();
    assert_eq!(trace.files(), [TracedFile { file: 0, size: 100 }]);
    assert_eq!((trace.left(), trace.restored()), (&[][..], &[0][..]));
    // A file that only grows has its full size from the beginning, and is not replaced.
    let trace = OperationTrace::read("0 write a 0 10\n1 write a 10 10").unwrap();
    assert_eq!(
        (trace.files(), trace.restored()),
        (&[TracedFile { file: 0, size: 20 }][..], &[][..])
    );
    // Truncates a file that existed.
    let trace = OperationTrace::read("0 read a 0 10\n1 make a\n2 write a 0 3").unwrap();
    assert_eq!((trace.files()[0].size, trace.restored()), (10, &[0][..]));
}

/// A line of a trace, mostly a possible one.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let extent = (0u64..50, 1u64..50).prop_map(|(offset, length)| format!("{offset} {length}"));
    let operation = prop::sample::select(vec![
        "open", "read", "write", "flush", "make", "stat", "rename", "remove",
    ]);
    (operation, name.clone(), extent, name).prop_map(|(operation, file, extent, target)| {
        match operation {
            "read" | "write" => format!("{operation} {file} {extent}"),
            "rename" => format!("rename {file} {target}"),
            _ => format!("{operation} {file}"),
        }
    })
}

proptest! {
    /// Every accepted trace can be performed repeatedly.
    #[test]
    fn what_is_taken_can_be_replayed(lines in prop::collection::vec(line(), 1..30)) {
        // The lines up to the first impossible one.
        for count in 1..=lines.len() {
            let numbered: Vec<String> = (0..).zip(&lines[..count]).map(|(at, line): (u32, _)| format!("{at} {line}")).collect();
            let text = numbered.join("\n");
            match OperationTrace::read(&text) {
                Ok(trace) => state::replay(&trace),
                Err(_) => break,
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}", words in "([0-9.]{1,3} (open|read|write|make|rename|remove) [ab] ?[0-9]{0,8} ?[0-9]{0,8}\n){0,6}") {
        fuzz_operation_trace(text.as_bytes());
        fuzz_operation_trace(words.as_bytes());
    }
}
