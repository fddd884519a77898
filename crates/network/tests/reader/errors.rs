//! Files that cannot be read: each message once, with its place.

use btu_network::{Drawing, Place, Reader};

/// Two stations on a cable.
const LAB: &str = "[segments.lab]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"lab\"\n[stations.b]\nsegment = \"lab\"\n";

fn refusal(text: &str) -> String {
    Drawing::read(text, "t.toml").expect_err(text).to_string()
}

/// Each of these lines, put after two stations on a cable, is answered with this place and these
/// words.
fn refused_after_lab(cases: &[(&str, &str, &str)]) {
    for (more, place, words) in cases {
        let message = refusal(&format!("{LAB}{more}\n"));
        let first = message.lines().next().unwrap();
        assert!(first.starts_with(&format!("t.toml:{place}: ")), "{more}\n{message}");
        assert!(first.contains(words), "{more}\n{message}");
    }
}

#[test]
fn the_line_is_shown_with_a_mark_under_the_place() {
    let message = refusal(
        "[segments.lab]\nmedium = \"shared-ethernet\"\nrate = \"10 MB/s\"\n[stations.a]\nsegment = \"lab\"\n",
    );
    assert_eq!(
        message,
        "t.toml:3:8: segments.lab.rate: `10 MB/s` is not a bit rate: `MB/s` is not a unit here; units are b/s, kb/s, \
         Mb/s, Gb/s, Tb/s\n    3 | rate = \"10 MB/s\"\n      |        ^^^^^^^^^"
    );
}

#[test]
fn everything_wrong_is_told_at_once_and_in_order() {
    let text = "[segments.lab]\nmedium = \"shared-ethernet\"\nraet = \"1 Mb/s\"\nlength = 500\n[stations.a]\nsegment = \"lob\"\n[traffic.t]\nfrom = \"c\"\nto = \"a\"\nsaturated = true\n";
    let error = Drawing::read(text, "t.toml").unwrap_err();
    let lines: Vec<usize> = error.problems().iter().map(|problem| line(&problem.place)).collect();
    assert_eq!(lines, [3, 4, 6, 8], "{error}");
}

fn line(place: &Place) -> usize {
    match place {
        Place::File { line, .. } => *line,
        Place::Setting { text } => panic!("{text} is no place in the file"),
    }
}

#[test]
fn what_is_no_toml_points_at_every_place() {
    let message = refusal("a = = 3\n[[x\n");
    assert!(
        message.contains("t.toml:1:5: this is not TOML")
            && message.contains("t.toml:2:4: this is not TOML")
    );
}

#[test]
fn keys_and_values() {
    refused_after_lab(&[
        (
            "colour = 1",
            "7:1",
            "there is no such key here; there are `count`, `segment`, `position`, `address`",
        ),
        ("[segment.x]", "7:2", "did you mean `segments`?"),
        (
            "[segments.x]",
            "7:11",
            "`medium` is missing: write for example `medium = \"shared-ethernet\"`",
        ),
        ("[segments.x]\nmedium = \"tokenring\"", "8:10", "did you mean `token-ring`?"),
        ("[segments.x]\nmedium = 3", "8:10", "this is a number; a text is wanted"),
        ("[segments]\nx = 3", "8:1", "this is a number; a table is wanted"),
        ("[traffic]\nx = 3", "8:1", "this is a number; a table is wanted"),
        ("count = 0", "7:9", "0 is not possible here: from 1 to 100000 is"),
        ("count = 1.5", "7:9", "a whole number is wanted"),
        ("count = 100001", "7:9", "from 1 to 100000"),
        (
            "[segments.x]\nmedium = \"fddi\"\nlength = \"4\"",
            "9:10",
            "the unit is missing; units are mm, cm, m, km",
        ),
        ("[segments.x]\nmedium = \"fddi\"\nttrt = \"3 ms\"", "9:8", "from 4 ms to 165 ms"),
        ("[segments.x]\nmedium = \"fddi\"\nttrt = \"166 ms\"", "9:8", "from 4 ms to 165 ms"),
        ("[segments.x]\nmedium = \"fddi\"\nvelocity = 2", "9:12", "from 0.1 to 1"),
        (
            "[segments.x]\nmedium = \"fddi\"\nvelocity = \"0.7 c\"",
            "9:12",
            "a number is wanted, without a unit",
        ),
        (
            "[segments.x]\nmedium = \"token-ring\"\nearly_release = 1",
            "9:17",
            "`true` or `false` is wanted",
        ),
        (
            "[segments.x]\nmedium = \"token-ring\"\nservice = \"two\"",
            "9:11",
            "`exhaustive`, `gated` or `one`",
        ),
        ("[segments.x]\nmedium = \"token-ring\"\nstation_latency = \"2 ms\"", "9:19", "`2 bits`"),
        (
            "[segments.x]\nmedium = \"shared-ethernet\"\ncontention = \"lam\"",
            "9:14",
            "there are `802.3`, `ideal`",
        ),
    ]);
}

#[test]
fn rates_and_lengths() {
    refused_after_lab(&[
        ("[segments.x]\nmedium = \"fddi\"\nrate = \"0 b/s\"", "9:8", "from 1 b/s to 1000 Gb/s"),
        ("[segments.x]\nmedium = \"fddi\"\nrate = \"2 Tb/s\"", "9:8", "from 1 b/s to 1000 Gb/s"),
        (
            "[segments.x]\nmedium = \"shared-ethernet\"\nlength = \"6 km\"",
            "9:10",
            "at most 5909 m long at 0.77 c",
        ),
        (
            "[segments.x]\nmedium = \"shared-ethernet\"\nrate = \"100 Mb/s\"\nlength = \"600 m\"",
            "10:10",
            "at most 590 m",
        ),
        ("position = \"501 m\"", "7:12", "501 m is beyond the end of `lab`, which is 500 m long"),
        (
            "count = 3\nposition = [\"1 m\", \"2 m\"]",
            "8:12",
            "one place for all 3 members, or one for each; here are 2",
        ),
    ]);
}

#[test]
fn names() {
    refused_after_lab(&[
        ("[stations.lo]", "7:11", "it stands for something else"),
        ("[stations.\"a b\"]", "7:11", "a name is 1 to 63 letters, digits and `-`"),
        ("[stations.-a]", "7:11", "must not begin or end with `-`"),
        ("[stations.12]", "7:11", "it needs a letter"),
        (
            "[stations.lab]\nsegment = \"lab\"",
            "7:11",
            "the name `lab` is taken by a segment already",
        ),
        ("[stations.A]\nsegment = \"lab\"", "7:11", "the name `A` is taken by a station already"),
        (
            "[stations.x]\nsegment = \"lab\"\ncount = 2\n[stations.x-2]\nsegment = \"lab\"",
            "10:11",
            "is taken by a station",
        ),
        (
            "[stations.x]\nsegment = \"lob\"",
            "8:11",
            "there is no segment `lob` (did you mean `lab`?)",
        ),
        ("[stations.x]\nsegment = \"a\"", "8:11", "`a` is a station; a segment is wanted"),
    ]);
    let long = "x".repeat(61);
    let message = refusal(&format!("{LAB}[stations.{long}]\nsegment = \"lab\"\ncount = 10\n"));
    assert!(message.contains("longer than 63 characters"), "{message}");
}

#[test]
fn addresses() {
    refused_after_lab(&[
        ("address = \"10.0.0.1\"", "7:11", "198.18.0.1 to 198.19.255.254"),
        ("address = \"198.18.0.0\"", "7:11", "is not an address for a station"),
        ("address = \"198.19.255.255\"", "7:11", "is not an address for a station"),
        ("address = \"198.19.255.254\"\ncount = 2", "7:11", "do not suffice"),
        (
            "address = \"198.18.0.7\"\n[stations.c]\nsegment = \"lab\"\naddress = \"198.18.0.7\"",
            "10:11",
            "of two stations",
        ),
    ]);
}

#[test]
fn connections() {
    let c = "[stations.c]\n";
    refused_after_lab(&[
        (c, "7:11", "the station `c` is attached to nothing"),
        (
            &format!("{c}[links.l]\nbetween = [\"c\", \"a\"]\nrate = \"1 Mb/s\""),
            "8:8",
            "`a` is attached already",
        ),
        (
            &format!("{c}[links.l]\nbetween = [\"c\", \"d\"]\nrate = \"1 Mb/s\""),
            "9:17",
            "no station or bridge `d`",
        ),
        (
            &format!("{c}[links.l]\nbetween = [\"c\"]\nrate = \"1 Mb/s\""),
            "9:11",
            "between two stations or bridges",
        ),
        (
            &format!("{c}[links.l]\nbetween = [\"c\", \"lab\"]\nrate = \"1 Mb/s\""),
            "9:17",
            "`lab` is a segment; a station or a bridge",
        ),
        (
            &format!("{c}[bridges.x]\nsegments = [\"lab\"]\n[links.l]\nbetween = [\"c\", \"x\"]"),
            "10:8",
            "`rate` is missing",
        ),
        ("[bridges.x]\nsegments = [\"lab\"]", "7:10", "the bridge `x` connects nothing"),
        ("[bridges.x]\nsegments = [\"lab\", \"lab\"]", "7:10", "closes a loop"),
        ("[bridges.x]\nsegments = [\"lab\", \"lob\"]", "8:20", "there is no segment `lob`"),
    ]);
}

#[test]
fn a_loop_is_named() {
    let text = "[segments.north]\nmedium = \"fddi\"\n[segments.south]\nmedium = \"fddi\"\n[stations.a]\nsegment = \"north\"\n\
                [bridges.west]\nsegments = [\"north\", \"south\"]\n[bridges.east]\nsegments = [\"north\", \"south\"]\n";
    let message = refusal(text);
    assert!(message.contains("bridges.east: this closes a loop"), "{message}");
    assert!(message.contains(": south - west - north - east - south\n"), "{message}");
}

#[test]
fn counted_groups_that_do_not_match() {
    let floors =
        "[segments.x]\nmedium = \"fddi\"\ncount = 3\n[segments.y]\nmedium = \"fddi\"\ncount = 4\n";
    refused_after_lab(&[
        (
            &format!("{floors}[bridges.z]\nsegments = [\"x\", \"y\"]"),
            "13:10",
            "the counts of its segments differ",
        ),
        (
            &format!("{floors}[bridges.z]\nsegments = [\"x\", \"lab\"]\ncount = 2"),
            "13:10",
            "the counts",
        ),
        (
            "[segments.x]\nmedium = \"fddi\"\ncount = 60000\n[stations.y]\nsegment = \"x\"\ncount = 2",
            "10:11",
            "more than 100000 stations",
        ),
        (
            "[stations.c]\ncount = 2\n[stations.d]\ncount = 3\n[links.l]\nbetween = [\"c\", \"d\"]\nrate = \"1 Mb/s\"",
            "11:8",
            "`c` has 2 members and `d` has 3",
        ),
    ]);
}

#[test]
fn lines() {
    let link =
        "[stations.c]\n[stations.d]\n[links.l]\nbetween = [\"c\", \"d\"]\nrate = \"1 Mb/s\"\n";
    let cases = [
        ("loss = \"1\"", "12:8", "write a percentage"),
        ("loss = { p = \"1 %\" }", "12:8", "`r` is missing"),
        ("jitter = { shape = \"normal\" }", "12:10", "`spread` is missing"),
        (
            "jitter = { spread = \"1 ms\", shape = \"bell\" }",
            "12:37",
            "there are `uniform`, `normal`, `pareto`",
        ),
        ("reorder = { share = \"1 %\", depth = 0 }", "12:36", "from 1 to 1000"),
        ("mtu = \"40 B\"", "12:7", "from 68 B to 65.5 kB"),
        ("framing = \"ppp\"", "12:11", "there are `ethernet`, `serial`, `aal5`, `bare`"),
        ("queue = \"0 frames\"", "12:9", "a whole number of frames"),
        ("queue = \"100 B\"", "12:9", "at least 1518 B"),
        ("queue = \"some\"", "12:9", "a limit such as `100 frames`"),
        ("queue = \"fq_codel\"", "12:9", "(did you mean `fq-codel`?)"),
        ("queue = \"cake\"", "12:9", "`fq-codel` comes nearest"),
        ("queue = \"1000p\"", "12:9", "(did you mean `1000 frames`?)"),
        (
            "queue = { discipline = \"red\", minimum = \"50 kB\" }",
            "12:9",
            "must be less than `maximum`",
        ),
        (
            "queue = { discipline = \"codel\", target = \"1 s\" }",
            "12:9",
            "must not be longer than `interval`",
        ),
        (
            "queue = { discipline = \"codel\", quantum = \"1 kB\" }",
            "12:33",
            "there is no such key here",
        ),
        ("trace = [1]", "12:9", "a `rate` or a `trace`, not both"),
        ("[links.l.forth]\ncolour = 1", "13:1", "there is no such key here"),
        ("[[links.l.changes]]\nat = \"1 s\"", "12:1", "this changes nothing"),
        ("[[links.l.changes]]\nrate = \"1 Mb/s\"", "12:1", "`at` is missing"),
        (
            "[[links.l.changes]]\nat = \"1 s\"\nway = \"up\"\nrate = \"1 Mb/s\"",
            "14:7",
            "there are `forth`, `back`, `both`",
        ),
    ];
    for (more, place, words) in cases {
        refused_after_lab(&[(&format!("{link}{more}"), place, words)]);
    }
}

#[test]
fn traces() {
    let link = "[stations.c]\n[stations.d]\n[links.l]\nbetween = [\"c\", \"d\"]\n";
    let cases = [
        ("trace = \"none.trace\"", "11:9", "there is no such file; the library has lte-down.trace"),
        ("trace = []", "11:9", "at least one opportunity"),
        ("trace = [3, 2]", "11:9", "must not go back"),
        ("trace = [0, 0]", "11:9", "at 1 ms or later"),
        (
            "trace = [1]\n[[links.l.changes]]\nat = \"1 s\"\nrate = \"1 Mb/s\"",
            "12:1",
            "no rate to change",
        ),
    ];
    for (more, place, words) in cases {
        refused_after_lab(&[(&format!("{link}{more}"), place, words)]);
    }
    let files = |_: &str| Ok("1\nx\n".to_owned());
    let text = format!("{LAB}{link}trace = \"x\"\n");
    let message = Reader::new("t.toml").files(&files).read(&text).unwrap_err().to_string();
    assert!(message.contains("its line 2 is `x`, not a whole number of milliseconds"), "{message}");
}

#[test]
fn traffic() {
    let flow = |body: &str| format!("[traffic.t]\nfrom = \"a\"\nto = \"b\"\n{body}");
    let cases = [
        ("", "7:10", "nothing says how often: write exactly one of `packets_per_s = 60`"),
        ("load = \"1 %\"\nthink = \"1 s\"", "7:10", "`load` and `think` are too many"),
        (
            "load = 0.3",
            "10:8",
            "the unit is missing, write `30 %`, or `0.3 %` if so little is meant",
        ),
        ("load = 30", "10:8", "the unit is missing, write `30 %`"),
        ("rate = \"10mbit\"", "10:8", "(did you mean `10 Mb/s`?)"),
        ("load = \"0 %\"", "10:8", "a percentage above `0 %`"),
        ("packets_per_s = 0", "10:17", "0 is not possible here"),
        ("packets_per_s = nan", "10:17", "is not possible here"),
        ("saturated = false", "10:13", "says nothing about how often"),
        (
            "saturated = true\narrivals = \"poisson\"",
            "11:12",
            "goes with `packets_per_s`, `rate` or `load` only",
        ),
        ("saturated = true\nreply = \"64 B\"", "11:9", "go with `think` only"),
        ("think = \"1 s\"\nservice = \"1 ms\"", "7:10", "write its size too"),
        (
            "saturated = true\nstart = \"2 s\"\nstop = \"1 s\"",
            "7:10",
            "`stop` must be after `start`",
        ),
        ("saturated = true\nsize = \"63 B\"", "11:8", "takes frames of 64 B to 1518 B"),
        ("saturated = true\nsize = \"1519 B\"", "11:8", "takes frames of 64 B to 1518 B"),
        ("think = \"1 s\"\nreply = \"20 B\"", "7:10", "takes frames of 64 B to 1518 B"),
        ("saturated = true\nsize = { mix = [] }", "11:16", "from 1 to 10000 parts"),
        ("saturated = true\nsize = { mix = [[\"64 B\"]] }", "11:17", "a size and its weight"),
        ("saturated = true\nsize = { mix = [[\"64 B\", 0]] }", "11:26", "0 is not possible here"),
        (
            "saturated = true\nsize = { uniform = [\"99 B\", \"64 B\"] }",
            "11:29",
            "64 B is not possible here",
        ),
        ("saturated = true\nsize = { }", "11:8", "one of `mix`, `uniform` and `exponential`"),
    ];
    for (body, place, words) in cases {
        refused_after_lab(&[(&flow(body), place, words)]);
    }
    refused_after_lab(&[
        ("[traffic.t]\nto = \"b\"\nsaturated = true", "7:10", "`from` is missing"),
        ("[traffic.t]\nfrom = \"a\"\nto = \"a\"\nsaturated = true", "7:10", "there is no sender"),
        (
            "[traffic.t]\nfrom = \"a\"\nto = \"next\"\nsaturated = true",
            "7:10",
            "at least two senders",
        ),
        (
            "[traffic.t]\nfrom = \"a\"\nto = \"lab\"\nsaturated = true",
            "9:6",
            "`lab` is a segment; a station is wanted",
        ),
        (
            "[traffic.t]\nfrom = \"a\"\nto = \"all\"\nthink = \"1 s\"\nreply = \"64 B\"",
            "7:10",
            "no single reply",
        ),
        (
            "[segments.x]\nmedium = \"fddi\"\n[stations.c]\nsegment = \"x\"\n[traffic.t]\nfrom = \"a\"\nto = \"c\"\nsaturated = true",
            "11:10",
            "nothing connects `a` with `c`",
        ),
    ]);
}

#[test]
fn a_load_needs_senders_on_equal_terms() {
    let text = "[segments.x]\nmedium = \"shared-ethernet\"\n[segments.y]\nmedium = \"fddi\"\n[stations.a]\nsegment = \"x\"\n[stations.b]\n\
                segment = \"y\"\n[bridges.z]\nsegments = [\"x\", \"y\"]\n[traffic.t]\nfrom = [\"a\", \"b\"]\nto = \"next\"\nload = \"1 %\"\n";
    assert!(refusal(text).contains("the senders' segments differ"));
}

#[test]
fn an_empty_file_needs_stations() {
    assert!(refusal("").contains("there are no stations"));
    assert!(refusal("name = \"x\"\n").contains("t.toml:1:1: there are no stations"));
}

#[test]
fn too_much_is_refused_before_it_is_made() {
    assert!(refusal(&" ".repeat((1 << 20) + 1)).contains("at most 1048576"));
    // 90,000 senders in each of 30 flows.
    let mut text =
        "[segments.x]\nmedium = \"fddi\"\n[stations.a]\nsegment = \"x\"\ncount = 90000\n"
            .to_owned();
    for number in 0..30 {
        text.extend([
            "[traffic.t",
            &number.to_string(),
            "]\nfrom = \"a\"\nto = \"next\"\nsaturated = true\n",
        ]);
    }
    assert!(refusal(&text).contains("more than 2000000 entries"));
}

#[test]
fn settings_are_named_where_they_are_wrong() {
    let read = |key: &str, value: &str| Drawing::read_with(LAB, "t.toml", &[(key, value)]);
    let refused = |key: &str, value: &str| read(key, value).expect_err(key).to_string();
    assert_eq!(
        refused("segments.lab.rate", "fast"),
        "t.toml, with segments.lab.rate=fast: segments.lab.rate: `fast` is not a bit rate: it must begin with a number, for \
         example `10 b/s`"
    );
    assert!(
        refused("segments.lob.rate", "1 Mb/s")
            .contains("there is no `lob` (did you mean `lab`?); there are `lab`")
    );
    assert!(refused("segments.lab.raet", "1 Mb/s").contains("did you mean `rate`?"));
    assert!(
        refused("segments.lab.medium.x", "1")
            .contains("`medium` is a text, so nothing is below it")
    );
    assert!(refused("", "1").contains("this is not a key"));
    assert!(refused("a..b", "1").contains("this is not a key"));
}

#[test]
fn one_mistake_is_told_once() {
    let text = "[segments.lab]\nmedium = \"sharedethernet\"\n[stations.a]\nsegment = \"lab\"\n[stations.b]\nsegment = \"lab\"\n\
                [traffic.t]\nfrom = \"a\"\nto = \"b\"\nload = \"10 %\"\n";
    let error = Drawing::read(text, "t.toml").unwrap_err();
    assert_eq!(error.problems().len(), 1, "{error}");
}
