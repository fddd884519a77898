//! A description of a drawing in words.

use btu_network::{
    Arrivals, Attachment, Bridge, Direction, Drawing, End, Flow, Link, Loss, Medium, Offered, Rate,
    Sizes,
};
use btu_network::{Star, StationId, Target};
use btu_units::BitRate;

/// Up to this number, stations are listed one by one; more are listed by groups.
const FEW: usize = 16;

/// The description of `drawing`, one paragraph for each kind.
pub(super) fn of(drawing: &Drawing) -> String {
    let mut text = drawing.name.clone();
    if !drawing.about.is_empty() {
        text = format!("{text}: {}", drawing.about);
    }
    text.push('\n');
    if drawing.bare {
        text.push_str("Nothing is emulated: the stations are on a bridge of this host's kernel, and its segment's values have \
                       no effect.\n");
    }
    let offered = drawing.offered();
    let segments = grouped(&drawing.segments, |segment| &segment.group);
    paragraph(&mut text, "segment", drawing.segments.len(), &segments, |place| {
        segment(drawing, place, &offered[place])
    });
    let bridges = grouped(&drawing.bridges, |bridge| &bridge.group);
    paragraph(&mut text, "bridge", drawing.bridges.len(), &bridges, |place| {
        bridge(drawing, &drawing.bridges[place])
    });
    let links = grouped(&drawing.links, |link| &link.group);
    paragraph(&mut text, "link", drawing.links.len(), &links, |place| {
        link(drawing, &drawing.links[place])
    });
    let stations = if drawing.stations.len() <= FEW {
        drawing
            .stations
            .iter()
            .enumerate()
            .map(|(place, station)| (station.name.clone(), place))
            .collect()
    } else {
        grouped(&drawing.stations, |station| &station.group)
    };
    paragraph(&mut text, "station", drawing.stations.len(), &stations, |place| {
        station(drawing, place)
    });
    let flows = grouped(&drawing.traffic, |flow| &flow.name);
    paragraph(&mut text, "flow", drawing.traffic.len(), &flows, |place| {
        flow(drawing, &drawing.traffic[place])
    });
    text
}

/// One label for each group, with the place of its first member: `floor`, or `floor (200 of them)`.
fn grouped<T>(all: &[T], group: impl Fn(&T) -> &String) -> Vec<(String, usize)> {
    let mut groups = Vec::new();
    let mut first = 0;
    for members in all.chunk_by(|left, right| group(left) == group(right)) {
        let name = group(&members[0]);
        let label = if members.len() > 1 {
            format!("{name} ({} of them)", members.len())
        } else {
            name.clone()
        };
        groups.push((label, first));
        first += members.len();
    }
    groups
}

fn paragraph(
    text: &mut String,
    what: &str,
    count: usize,
    rows: &[(String, usize)],
    say: impl Fn(usize) -> String,
) {
    if count == 0 {
        return;
    }
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let plural = if count == 1 { "" } else { "s" };
    text.extend(["\n", &count.to_string(), " ", what, plural, "\n"]);
    for (label, place) in rows {
        text.push_str(format!("  {label:width$}  {}", say(*place)).trim_end());
        text.push('\n');
    }
}

fn segment(drawing: &Drawing, place: usize, offered: &Offered) -> String {
    let (medium, rate) = match &drawing.segments[place].medium {
        Medium::SharedEthernet(cable) => (
            format!("shared Ethernet, {}, {} of cable", cable.rate, cable.length),
            Some(cable.rate),
        ),
        Medium::SwitchedEthernet(star) => (format!("switched Ethernet, {}", lines(star)), None),
        Medium::Atm(atm) => (format!("ATM, {}", lines(&atm.star)), None),
        Medium::TokenRing(ring) => {
            (format!("token ring, {}, {} of cable", ring.rate, ring.length), Some(ring.rate))
        }
        Medium::Fddi(ring) => {
            let said = format!(
                "FDDI, {}, {} of fibre, TTRT {}",
                ring.rate, ring.length, ring.target_rotation
            );
            (said, Some(ring.rate))
        }
    };
    medium + &load(offered, rate)
}

/// The offered load, as a share of the rate if all stations share it.
fn load(offered: &Offered, rate: Option<BitRate>) -> String {
    let mut said = Vec::new();
    if offered.bits_per_second > 0.0 {
        let share = rate.map(|rate| {
            format!(" ({:.1} %)", offered.bits_per_second / rate.bits_per_second() as f64 * 100.0)
        });
        let bits = BitRate::from_bits_per_second(offered.bits_per_second.round() as u64);
        said.push(format!("{bits}{}", share.unwrap_or_default()));
    }
    if offered.saturated > 0 {
        said.push(format!("saturated senders: {}", offered.saturated));
    }
    if offered.closed > 0 {
        said.push(format!("senders that wait for replies: {}", offered.closed));
    }
    if said.is_empty() {
        String::new()
    } else {
        format!("; its stations offer {}", said.join(", "))
    }
}

fn lines(star: &Star) -> String {
    if star.up == star.down {
        direction(&star.up)
    } else {
        format!("{} up, {} down", direction(&star.up), direction(&star.down))
    }
}

fn direction(direction: &Direction) -> String {
    let mut said = match &direction.rate {
        Rate::Fixed(rate) => rate.to_string(),
        Rate::Trace(trace) => format!("a trace of {} in the mean", trace.mean_rate()),
    };
    if direction.delay.nanoseconds() > 0 {
        said = format!("{said} and {}", direction.delay);
    }
    if direction.loss != Loss::None {
        said = format!("{said}, {:.2} % lost", direction.loss.share() * 100.0);
    }
    said
}

fn bridge(drawing: &Drawing, bridge: &Bridge) -> String {
    let segments =
        bridge.segments.iter().map(|(segment, _)| drawing.segment(*segment).name.as_str());
    let links = bridge.links.iter().map(|link| drawing.link(*link).name.as_str());
    let ports: Vec<&str> = segments.chain(links).take(FEW).collect();
    let more = (bridge.segments.len() + bridge.links.len()).saturating_sub(ports.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("between {}{more}, latency {}", ports.join(", "), bridge.latency)
}

fn link(drawing: &Drawing, link: &Link) -> String {
    let [left, right] = link.ends.map(|end| match end {
        End::Station(station) => drawing.station(station).name.as_str(),
        End::Bridge(bridge) => drawing.bridge(bridge).name.as_str(),
    });
    if link.forth == link.back {
        format!("{left} - {right}, {}", direction(&link.forth))
    } else {
        format!(
            "{left} - {right}, {} forth, {} back",
            direction(&link.forth),
            direction(&link.back)
        )
    }
}

fn station(drawing: &Drawing, place: usize) -> String {
    let station = &drawing.stations[place];
    let at = match station.attachment {
        Attachment::Segment(segment, at) => match drawing.segment(segment).medium {
            Medium::SharedEthernet(_) => format!("{} at {at}", drawing.segment(segment).name),
            _ => drawing.segment(segment).name.clone(),
        },
        Attachment::Link(link) => drawing.link(link).name.clone(),
    };
    let many = drawing.stations.len() > FEW;
    let (from, first) = if many { ("from ", "the first on ") } else { ("", "") };
    format!("{from}{:14}  {first}{at}", station.address.to_string())
}

fn flow(drawing: &Drawing, flow: &Flow) -> String {
    let to = match &flow.to {
        Target::Station(station) => drawing.station(*station).name.clone(),
        Target::AnyOf(list) => stations(drawing, list),
        Target::Next => "the next".to_owned(),
        Target::Broadcast => "all".to_owned(),
    };
    let sizes = match &flow.sizes {
        Sizes::Fixed(size) => size.to_string(),
        sizes => format!("{:.0} B in the mean", sizes.mean()),
    };
    let often = match flow.arrivals {
        Arrivals::Poisson { per_second } => format!("{per_second:.6} frames/s each, at random"),
        Arrivals::Periodic { per_second } => format!("{per_second:.6} frames/s each, evenly"),
        Arrivals::Saturated => "always one more".to_owned(),
        Arrivals::Closed { think, .. } => format!("request, reply, pause of {think}"),
    };
    format!("{} to {to}, {sizes}, {}", stations(drawing, &flow.from), trimmed(&often))
}

fn stations(drawing: &Drawing, senders: &[StationId]) -> String {
    match senders {
        [] => "no station".to_owned(),
        [one] => drawing.station(*one).name.clone(),
        [first, .., last] => {
            format!(
                "{} .. {} ({})",
                drawing.station(*first).name,
                drawing.station(*last).name,
                senders.len()
            )
        }
    }
}

/// A sentence; its first number has no zeros at its end.
fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, rest)) if number.contains('.') => {
            format!("{} {rest}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> String {
        of(&Drawing::read(btu_network::library_text(name).unwrap(), name).unwrap())
    }

    #[test]
    fn the_laboratory_in_words() {
        let expected = "\
laboratory-1995: The 1995 laboratory: three workstations on one 10 Mb/s Ethernet

1 segment
  lab  shared Ethernet, 10 Mb/s, 10 m of cable; its stations offer 6 Mb/s (60.0 %)

3 stations
  test     198.18.0.1      lab at 0 m
  active   198.18.0.2      lab at 5 m
  passive  198.18.0.3      lab at 10 m

2 flows
  to-active   test to active, 1518 B, 247.035573 frames/s each, at random
  to-passive  test to passive, 1518 B, 247.035573 frames/s each, at random
";
        assert_eq!(said("laboratory-1995"), expected);
    }

    #[test]
    fn a_campus_takes_few_lines() {
        let text = said("campus");
        assert!(text.lines().count() < 20, "{text}");
        assert!(
            text.contains("floor (200 of them)") && text.contains("host (10000 of them)"),
            "{text}"
        );
    }
}
