//! The network of a rating: the one that the options name, the one to raise, and the part of a plan
//! that can be measured there.

use btu_contract::network::{Drawn, HostRole, Network, Path, Stations, Topology};
use btu_model::predict::{FlowPrediction, alone};
use btu_network::{Arrivals, Atm, Drawing, Medium, Station, StationId};
use btu_studies::rate::{Component, Plan, UDP_MESSAGE, drain_time};
use btu_units::{BitRate, Bytes, Span};

use super::arguments::Rate;
use crate::exit::Refusal;
use crate::files;
use crate::start::hosts;

/// The emulated paths. What the wire carries of a fast one depends on the machine: late frames are told.
const SLOWEST: BitRate = BitRate::from_bits_per_second(64_000);
const FASTEST: BitRate = BitRate::from_megabits_per_second(100_000);
const LONGEST_DELAY: Span = Span::from_seconds(10);

/// The frame of a small request: Ethernet's shortest.
const SMALL_FRAME: Bytes = Bytes::new(64);

/// Octets of a datagram's frame in addition to its payload: Ethernet header and check sequence,
/// IPv4 and UDP headers.
const AROUND_DATAGRAM: Bytes = Bytes::new(14 + 4 + 20 + 8);

/// The network that the options name: real hosts, or one that is raised.
pub(super) fn named(rate: &Rate) -> anyhow::Result<Network> {
    let network = rate.network.as_deref();
    if network.is_none()
        && let Some(machines) = hosts::machines(&rate.real)?
    {
        return Ok(Network::Machines(machines));
    }
    let network = network.unwrap_or("veth");
    let is_changed = rate.delay > Span::ZERO || rate.loss + rate.duplicate + rate.reorder > 0.0;
    if let Ok(line) = network.parse::<BitRate>() {
        refuse_stations(rate, "a path has")?;
        return Ok(Network::Path(path(rate, line)?));
    }
    if is_changed {
        let instead = "another network has what its file says (--set)";
        return Err(usage(format!(
            "--delay, --loss, --duplicate and --reorder are for an emulated path, for example --network '100 Mb/s'; {instead}"
        ))
        .into());
    }
    if network == "veth" {
        refuse_stations(rate, "veth has")?;
        return Ok(Network::Veth);
    }
    drawn(rate, network)
}

fn refuse_stations(rate: &Rate, who: &str) -> Result<(), Refusal> {
    let real = &rate.real;
    if [&real.test, &real.active, &real.passive].into_iter().any(Option::is_some)
        || !rate.settings.is_empty()
    {
        let problem = format!(
            "{who} stations of its own: --test, --active, --passive and --set go with a network file"
        );
        return Err(usage(problem));
    }
    Ok(())
}

fn path(rate: &Rate, line: BitRate) -> Result<Path, Refusal> {
    if !(SLOWEST..=FASTEST).contains(&line) {
        return Err(usage(format!(
            "a path of {line} cannot be emulated: allowed are {SLOWEST} to {FASTEST}"
        )));
    }
    if rate.delay > LONGEST_DELAY {
        return Err(usage(format!("--delay {} is too long: at most {LONGEST_DELAY}", rate.delay)));
    }
    let Rate { delay, loss, duplicate, reorder, .. } = *rate;
    Ok(Path { rate: line, delay, loss, duplicate, reorder })
}

/// Stations of a network file.
fn drawn(rate: &Rate, network: &str) -> anyhow::Result<Network> {
    let source = files::source(network)?;
    let drawing = source.read(&rate.settings).map_err(|error| usage(error.to_string()))?;
    let stations = stations(rate, network, &drawing)?;
    let text = source.with_settings(&rate.settings);
    Ok(Network::Drawing(Drawn { name: drawing.name, text, stations }))
}

/// The stations of the roles: by the options, else those of that name, else the first, the last,
/// and the last but one.
fn stations(rate: &Rate, network: &str, drawing: &Drawing) -> Result<Stations, Refusal> {
    let usual = |role: HostRole, place: Option<&Station>| {
        drawing
            .station_called(role.name())
            .map(|id| drawing.station(id))
            .or(place)
            .map(|one| one.name.clone())
    };
    let find = |named: &Option<String>, role: HostRole, place: Option<&Station>| match named {
        None => Ok(usual(role, place)),
        Some(name) if drawing.station_called(name).is_some() => Ok(Some(name.clone())),
        Some(name) => Err(usage(files::no_such_station(name, network))),
    };
    let (real, all) = (&rate.real, drawing.stations.as_slice());
    let test = find(&real.test, HostRole::Test, all.first())?;
    let active = find(&real.active, HostRole::Active, all.last())?;
    let third = all
        .iter()
        .rev()
        .find(|one| Some(&one.name) != test.as_ref() && Some(&one.name) != active.as_ref());
    let passive = find(&real.passive, HostRole::Passive, third)?;
    let (Some(test), Some(active)) = (test, active) else {
        return Err(usage(format!("{network} has no stations")));
    };
    if test == active || passive.as_ref().is_some_and(|passive| [&test, &active].contains(&passive))
    {
        let problem = "--test, --active and --passive are different stations, and a network needs two of them at least";
        return Err(usage(problem.to_owned()));
    }
    Ok(Stations { test, active, passive })
}

/// The network to raise for a plan; `None` on real hosts.
pub(super) fn topology(network: &Network) -> anyhow::Result<Option<Topology>> {
    let topology = match network {
        // Older plans name traces that may be here.
        Network::Drawing(drawn) => {
            files::stored(&drawn.text).map(|drawing| Topology::of(drawing, &drawn.stations))
        }
        _ => network.topology(),
    };
    let topology = topology.map_err(|error| usage(error.to_string()))?;
    topology.iter().try_for_each(|topology| btu_testbed::testbed::check(&topology.drawing))?;
    Ok(topology)
}

/// Adapts a new plan to the stations of a network file; returns warnings about it.
pub(super) fn fit(plan: &mut Plan, topology: &Topology) -> Result<Vec<String>, Refusal> {
    if !matches!(plan.network, Network::Drawing(_)) {
        return Ok(Vec::new());
    }
    let mut warnings = Vec::new();
    let absent = |component: &Component| {
        component.flows().iter().any(|(from, to)| {
            [from, to]
                .into_iter()
                .any(|role| !topology.roles.iter().any(|(present, _)| present == role))
        })
    };
    warnings.extend(hosts::leave_out(plan, absent, "the network has two stations")?);
    warnings.extend(last_long_enough(plan, topology));
    if let Some(offered) = udp_offered(topology) {
        plan.udp_offered = offered;
        plan.udp_stream = plan.profile.stream_over(longest_drain(topology));
    } else {
        let why = "the network's capacity cannot be predicted, so there is no rate to offer";
        warnings.extend(hosts::leave_out(plan, |one| *one == Component::Udp, why)?);
    }
    Ok(warnings)
}

/// Makes activities last several round trips, so that a request can be answered and TCP can find
/// its rate.
fn last_long_enough(plan: &mut Plan, topology: &Topology) -> Option<String> {
    const ROUND_TRIPS: u64 = 8;
    let round_trip = round_trip(topology)?;
    let wanted = round_trip * ROUND_TRIPS;
    if wanted <= plan.profile.target {
        return None;
    }
    let usual = std::mem::replace(&mut plan.profile.target, wanted);
    Some(format!(
        "a round trip takes {round_trip} on this network, so activities last {:.1} s instead of {:.1} s, and a run longer",
        wanted.seconds(),
        usual.seconds()
    ))
}

/// The time that a small packet takes from test to active and back by the closed forms, without
/// other traffic on the network; `None` if no network is emulated.
fn round_trip(topology: &Topology) -> Option<Span> {
    let (test, active) = (station(topology, HostRole::Test)?, station(topology, HostRole::Active)?);
    let rarely = Arrivals::Periodic { per_second: 1e-3 };
    let way =
        |from, to| flow(&topology.drawing, from, to, SMALL_FRAME, rarely)?.delay_seconds.value;
    (!topology.drawing.bare)
        .then(|| Some(Span::from_seconds_f64(way(test, active)? + way(active, test)?)))
        .flatten()
}

/// Nine tenths of the payload rate of the closed forms from active to test; as much as on veth
/// without emulation.
fn udp_offered(topology: &Topology) -> Option<BitRate> {
    if topology.drawing.bare {
        return Some(BitRate::from_megabits_per_second(500));
    }
    let frame = UDP_MESSAGE + AROUND_DATAGRAM;
    let (from, to) = (station(topology, HostRole::Active)?, station(topology, HostRole::Test)?);
    let carried = flow(&topology.drawing, from, to, frame, Arrivals::Saturated)?
        .carried_bits_per_second
        .value?;
    let offered = carried * UDP_MESSAGE.bits() / frame.bits() * 0.9;
    (offered >= 1.0).then(|| BitRate::from_bits_per_second(offered as u64))
}

/// The longest time for draining a queue on the path from active to test.
fn longest_drain(topology: &Topology) -> Span {
    let ends = station(topology, HostRole::Active).zip(station(topology, HostRole::Test));
    let Some((from, to)) = ends.filter(|_| !topology.drawing.bare) else { return Span::ZERO };
    let used =
        alone(&topology.drawing, from, to, UDP_MESSAGE + AROUND_DATAGRAM, Arrivals::Saturated);
    let directions = topology.drawing.links.iter().flat_map(|link| [&link.forth, &link.back]);
    let links =
        directions.zip(&used.links).filter(|(_, line)| line.offered_packets_per_second > 0.0);
    let segments = topology.drawing.segments.iter().zip(&used.segments);
    let stars = segments.filter(|(_, used)| used.offered_packets_per_second > 0.0).filter_map(
        |(segment, _)| match &segment.medium {
            Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => {
                Some([&star.up, &star.down])
            }
            Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => None,
        },
    );
    let queues = links.map(|(direction, _)| direction).chain(stars.flatten());
    queues.map(drain_time).max().unwrap_or(Span::ZERO)
}

fn station(topology: &Topology, wanted: HostRole) -> Option<StationId> {
    topology.roles.iter().find(|(role, _)| *role == wanted).map(|&(_, station)| station)
}

/// The closed forms' prediction for one flow of such frames without other traffic on the network.
fn flow(
    drawing: &Drawing,
    from: StationId,
    to: StationId,
    frame: Bytes,
    arrivals: Arrivals,
) -> Option<FlowPrediction> {
    alone(drawing, from, to, frame, arrivals).flows.into_iter().next()
}

fn usage(problem: String) -> Refusal {
    Refusal::Usage(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(name: &str, stations: &Stations) -> Topology {
        Topology::of(files::network(name, &[]).unwrap(), stations).unwrap()
    }

    fn home() -> Topology {
        let [test, active, passive] = ["laptop", "server", "phone"].map(str::to_owned);
        topology("home-fq-codel", &Stations { test, active, passive: Some(passive) })
    }

    /// A frame of 1070 octets occupies 1090 on the line of 16 Mb/s towards the laptop.
    #[test]
    fn datagrams_are_offered_as_the_slowest_line_on_their_way_takes_them() {
        let offered = udp_offered(&home()).unwrap().bits_per_second() as f64;
        let expected = 16e6 * 1024.0 / 1090.0 * 0.9;
        assert!((offered / expected - 1.0).abs() < 1e-6, "{offered} instead of {expected}");
    }

    /// Towards the laptop the bloated home has a separate queue in the modem, and queues of other
    /// lines do not count.
    #[test]
    fn a_stream_outlasts_the_queue_on_its_way() {
        let [test, active] = ["laptop", "server"].map(str::to_owned);
        let bloated = topology("home-bloated", &Stations { test, active, passive: None });
        // 256 KiB at 16 Mb/s, and 24 octets more on the line for each of 174 frames; upwards it is
        // 1 Mb/s.
        let expected = (262_144.0 + 174.0 * 24.0) * 8.0 / 16e6;
        assert!(
            (longest_drain(&bloated).seconds() / expected - 1.0).abs() < 1e-6,
            "{}",
            longest_drain(&bloated)
        );
    }

    #[test]
    fn what_needs_a_third_station_is_left_out_where_there_are_two() {
        let [test, active] = ["ship", "server"].map(str::to_owned);
        let stations = Stations { test, active, passive: None };
        let topology = topology("satellite", &stations);
        let drawn = Drawn { name: "satellite".to_owned(), text: String::new(), stations };
        let mut plan = Plan::whole(1, btu_studies::rate::Profile::quick(), Network::Drawing(drawn));
        let warnings = fit(&mut plan, &topology).unwrap();
        assert_eq!(
            warnings,
            [
                "left out, since the network has two stations: 2xRECV+DL, 2xSEND+DR",
                "a round trip takes 550 ms on this network, so activities last 4.4 s instead of 0.1 s, and a run longer"
            ]
        );
        assert_eq!(plan.components.len(), 7);
    }
}
