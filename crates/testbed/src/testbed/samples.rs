//! Small networks for tests.

use std::net::Ipv4Addr;

use btu_network::{
    Attachment, Direction, Drawing, End, Link, LinkId, Medium, Segment, SegmentId, Star, Station,
    StationId,
};
use btu_units::{BitRate, Length, Span};

/// `count` stations on a switched Ethernet of 100 Mb/s.
pub(super) fn star(count: usize) -> Drawing {
    let line = || Direction::new(BitRate::from_megabits_per_second(100), Span::ZERO);
    let medium = Medium::SwitchedEthernet(Star { up: line(), down: line(), latency: Span::ZERO });
    let segment = Segment { name: "lan".to_owned(), group: "lan".to_owned(), medium };
    let plug = Attachment::Segment(SegmentId(0), Length::ZERO);
    let stations =
        (1..=count).map(|number| station(&format!("host-{number}"), number, plug)).collect();
    Drawing { name: "sample".to_owned(), segments: vec![segment], stations, ..Drawing::default() }
}

/// Two stations, `near` and `far`, at the ends of a link of `delay_ms` one way.
pub(super) fn line(rate: BitRate, delay_ms: u64) -> Drawing {
    let direction = || Direction::new(rate, Span::from_milliseconds(delay_ms));
    let link = Link {
        name: "line".to_owned(),
        group: "line".to_owned(),
        ends: [End::Station(StationId(0)), End::Station(StationId(1))],
        forth: direction(),
        back: direction(),
        changes: Vec::new(),
    };
    let plug = Attachment::Link(LinkId(0));
    let stations = vec![station("near", 1, plug), station("far", 2, plug)];
    Drawing { name: "sample".to_owned(), stations, links: vec![link], ..Drawing::default() }
}

fn station(name: &str, number: usize, attachment: Attachment) -> Station {
    let [high, low] = (number as u16).to_be_bytes();
    let address = Ipv4Addr::new(198, 18, high, low);
    Station {
        name: name.to_owned(),
        group: name.to_owned(),
        attachment,
        address,
        one_at_a_time: false,
    }
}
