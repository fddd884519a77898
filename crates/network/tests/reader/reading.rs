//! Files that can be read, and the drawings that they give.

use btu_network::{
    Arrivals, Attachment, Drawing, End, Framing, Loss, Medium, Rate, SegmentId, Sizes, StationId,
    Target, library_text,
};
use btu_units::{BitRate, Bytes, Length, Span};

fn read(text: &str) -> Drawing {
    Drawing::read(text, "lab.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} is not {expected}");
}

fn place(drawing: &Drawing, name: &str) -> Length {
    let station = drawing.station(drawing.station_called(name).unwrap());
    let Attachment::Segment(_, place) = station.attachment else {
        panic!("{name} is not on a segment")
    };
    place
}

#[test]
fn standards_fill_what_is_not_said() {
    let drawing =
        read("[segments.x]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"x\"\n");
    assert_eq!(drawing.name, "lab", "named after its file");
    let Medium::SharedEthernet(cable) = &drawing.segments[0].medium else {
        panic!("another medium")
    };
    assert_eq!(cable.rate, BitRate::from_megabits_per_second(10));
    assert_eq!(cable.length, Length::from_metres(500));
    assert_eq!(drawing.stations[0].address.to_string(), "198.18.0.1");
}

#[test]
fn what_has_no_place_is_spread_evenly_stations_before_bridges() {
    let drawing = read(
        "[segments.x]\nmedium = \"shared-ethernet\"\nlength = \"300 m\"\n[segments.y]\nmedium = \"fddi\"\n\
         [stations.z]\nsegment = \"x\"\n[stations.a]\nsegment = \"x\"\ncount = 2\n\
         [stations.fixed]\nsegment = \"x\"\nposition = \"7 m\"\n[bridges.b]\nsegments = [\"x\", \"y\"]\n",
    );
    assert_eq!(place(&drawing, "z"), Length::ZERO, "in the order of the file, not of the alphabet");
    assert_eq!(place(&drawing, "a-1"), Length::from_metres(100));
    assert_eq!(place(&drawing, "a-2"), Length::from_metres(200));
    assert_eq!(place(&drawing, "fixed"), Length::from_metres(7));
    assert_eq!(
        drawing.bridges[0].segments,
        [(SegmentId(0), Length::from_metres(300)), (SegmentId(1), Length::ZERO)]
    );
}

#[test]
fn a_group_on_counted_segments_stands_on_each() {
    let drawing = read(
        "[segments.floor]\nmedium = \"fddi\"\ncount = 3\n[segments.spine]\nmedium = \"fddi\"\n\
         [stations.pc]\nsegment = \"floor\"\ncount = 2\n[stations.printer]\nsegment = \"floor\"\n\
         [stations.one]\nsegment = \"floor-2\"\n[bridges.riser]\nsegments = [\"floor\", \"spine\"]\n",
    );
    let names: Vec<&str> = drawing.stations.iter().map(|station| station.name.as_str()).collect();
    let expected = [
        "pc-1-1",
        "pc-1-2",
        "pc-2-1",
        "pc-2-2",
        "pc-3-1",
        "pc-3-2",
        "printer-1",
        "printer-2",
        "printer-3",
        "one",
    ];
    assert_eq!(names, expected);
    assert!(matches!(drawing.stations[3].attachment, Attachment::Segment(SegmentId(1), _)));
    assert!(matches!(drawing.stations[9].attachment, Attachment::Segment(SegmentId(1), _)));
    let ends: Vec<u32> = drawing.bridges.iter().map(|bridge| bridge.segments[0].0.0).collect();
    assert_eq!(ends, [0, 1, 2]);
    assert!(drawing.bridges.iter().all(|bridge| bridge.segments[1].0 == SegmentId(3)));
    assert_eq!(drawing.bridges[2].name, "riser-3");
}

#[test]
fn groups_are_linked_member_by_member_or_many_to_one_bridge() {
    let drawing = read(
        "[stations.a]\ncount = 3\n[stations.b]\ncount = 3\n[stations.leaf]\ncount = 2\n[bridges.hub]\n\
         [links.pair]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mb/s\"\n[links.spoke]\nbetween = [\"leaf\", \"hub\"]\nrate = \"1 Mb/s\"\n",
    );
    assert_eq!(drawing.links.len(), 5);
    assert_eq!(drawing.links[1].ends, [End::Station(StationId(1)), End::Station(StationId(4))]);
    assert_eq!(drawing.links[1].name, "pair-2");
    assert_eq!(drawing.bridges[0].links.len(), 2);
}

#[test]
fn the_least_round_trip_is_that_of_the_shortest_links_at_their_shortest() {
    let least = |more: &str| {
        let stations = "[stations.a]\n[stations.b]\n[stations.c]\n[bridges.hub]\n";
        let link = |name: &str, delay: &str| {
            format!(
                "[links.to-{name}]\nbetween = [\"{name}\", \"hub\"]\nrate = \"1 Mb/s\"\ndelay = \"{delay}\"\n"
            )
        };
        let links =
            [("a", "5 ms"), ("b", "3 ms"), ("c", "4 ms")].map(|(name, delay)| link(name, delay));
        read(&(stations.to_owned() + &links.concat() + more)).least_round_trip()
    };
    assert_eq!(least(""), Span::from_milliseconds(6));
    let shorter = "[[links.to-c.changes]]\nat = \"2 s\"\nway = \"back\"\ndelay = \"1 ms\"\n";
    assert_eq!(least(shorter), Span::from_milliseconds(5));
    let on_a_segment =
        read("[segments.x]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"x\"\n");
    assert_eq!(on_a_segment.least_round_trip(), Span::ZERO);
}

#[test]
fn a_direction_has_its_own_and_the_link_s_properties() {
    let drawing = read(
        "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mb/s\"\ndelay = \"5 ms\"\nframing = \"serial\"\n\
         [links.l.back]\nrate = \"8 Mb/s\"\nloss = { p = \"1 %\", r = \"25 %\" }\n\
         [[links.l.changes]]\nat = \"9 s\"\ndelay = \"1 s\"\n[[links.l.changes]]\nat = \"2 s\"\ndelay = \"2 s\"\n",
    );
    let link = &drawing.links[0];
    assert_eq!(link.forth.rate, Rate::Fixed(BitRate::from_megabits_per_second(1)));
    assert_eq!(link.back.rate, Rate::Fixed(BitRate::from_megabits_per_second(8)));
    assert_eq!(
        (link.forth.delay, link.back.delay),
        (Span::from_milliseconds(5), Span::from_milliseconds(5))
    );
    assert_eq!(link.back.framing, Framing::Serial { overhead: 8, bits_per_octet: 8 });
    assert_eq!(link.forth.loss, Loss::None);
    close(link.back.loss.share(), 0.01 / 0.26);
    let times: Vec<Span> = link.changes.iter().map(|change| change.at).collect();
    assert_eq!(times, [Span::from_seconds(2), Span::from_seconds(9)]);
}

#[test]
fn written_addresses_are_kept_and_the_others_fill_the_gaps() {
    let drawing = read(
        "[segments.x]\nmedium = \"fddi\"\n[stations.a]\nsegment = \"x\"\ncount = 2\n\
         [stations.b]\nsegment = \"x\"\ncount = 2\naddress = \"198.18.0.2\"\n",
    );
    let addresses: Vec<String> =
        drawing.stations.iter().map(|station| station.address.to_string()).collect();
    assert_eq!(addresses, ["198.18.0.1", "198.18.0.4", "198.18.0.2", "198.18.0.3"]);
}

/// 30 % of 10 Mb/s in frames of 750 B are 500 frames a second, shared by all senders.
#[test]
fn a_load_is_shared_by_its_senders() {
    let text = "[segments.x]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"x\"\ncount = 5\n\
                [traffic.t]\nfrom = \"a\"\nto = \"next\"\nsize = \"750 B\"\nload = \"30 %\"\n";
    let drawing = read(text);
    let Arrivals::Poisson { per_second } = drawing.traffic[0].arrivals else {
        panic!("not Poisson")
    };
    close(per_second, 100.0);
    close(drawing.offered()[0].bits_per_second, 3e6);
    let switched = read(&text.replace("shared", "switched").replace("\"next\"", "\"a\""));
    let Arrivals::Poisson { per_second } = switched.traffic[0].arrivals else {
        panic!("not Poisson")
    };
    close(per_second, 5_000.0);
}

#[test]
fn rates_and_counts_are_each_sender_s() {
    let text = "[segments.x]\nmedium = \"fddi\"\n[stations.a]\nsegment = \"x\"\ncount = 5\n\
                [traffic.t]\nfrom = \"all\"\nto = \"a-2\"\nsize = { mix = [[\"100 B\", 1], [\"300 B\", 3]] }\nrate = \"1 Mb/s\"\narrivals = \"periodic\"\n";
    let flow = &read(text).traffic[0];
    assert_eq!(flow.to, Target::Station(StationId(1)));
    assert_eq!(flow.from, [0, 2, 3, 4].map(StationId), "the target does not send to itself");
    close(flow.sizes.mean(), 250.0);
    let Arrivals::Periodic { per_second } = flow.arrivals else { panic!("not periodic") };
    close(per_second, 500.0);
}

#[test]
fn requests_and_broadcasts() {
    let text = "[segments.x]\nmedium = \"fddi\"\n[stations.a]\nsegment = \"x\"\ncount = 2\n\
                [traffic.t]\nfrom = \"a\"\nto = \"a\"\nthink = \"1 s\"\nreply = \"1 kB\"\nservice = \"2 ms\"\n\
                [traffic.u]\nfrom = \"a-1\"\nto = \"all\"\nsaturated = true\nstop = \"3 s\"\n";
    let drawing = read(text);
    let expected = Arrivals::Closed {
        think: Span::from_seconds(1),
        reply: Some(Bytes::new(1000)),
        service: Span::from_milliseconds(2),
    };
    assert_eq!(drawing.traffic[0].arrivals, expected);
    assert_eq!(drawing.traffic[0].sizes, Sizes::Fixed(Bytes::new(1518)));
    assert_eq!(
        (&drawing.traffic[1].to, drawing.traffic[1].stop),
        (&Target::Broadcast, Some(Span::from_seconds(3)))
    );
}

#[test]
fn settings_replace_and_add_values() {
    let text = library_text("laboratory-1995").unwrap();
    let settings = [
        ("segments.lab.rate", "100 Mb/s"),
        ("traffic.to-active.load", "50 %"),
        ("stations.active.position", "3 m"),
        ("name", "mine"),
    ];
    let drawing =
        Drawing::read_with(text, "x", &settings).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(drawing.name, "mine");
    assert_eq!(place(&drawing, "active"), Length::from_metres(3));
    let Arrivals::Poisson { per_second } = drawing.traffic[0].arrivals else {
        panic!("not Poisson")
    };
    close(per_second, 50e6 / (1518.0 * 8.0));
    let link =
        "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mb/s\"\n";
    let drawing = Drawing::read_with(link, "x", &[("links.l.back.delay", "1 s")]).unwrap();
    assert_eq!(
        (drawing.links[0].forth.delay, drawing.links[0].back.delay),
        (Span::ZERO, Span::from_seconds(1))
    );
}

#[test]
fn a_drawing_goes_through_json_unchanged() {
    for name in ["laboratory-1995", "home-fq-codel", "atm-155", "token-ring-4"] {
        let mut drawing = read(library_text(name).unwrap());
        // serde_json reads a number back to the last bit but one, unless asked for more; rates of
        // traffic are such numbers.
        drawing.traffic.clear();
        let json = serde_json::to_string(&drawing).unwrap();
        assert_eq!(serde_json::from_str::<Drawing>(&json).unwrap(), drawing, "{name}");
    }
}
