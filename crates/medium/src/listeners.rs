//! Decides which stations on a shared medium receive a frame.

use crate::frame::Address;
use crate::segment::Tap;

/// The node at a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// A station, which receives the frames that are addressed to it.
    Station(Address),
    /// A bridge, which receives all frames.
    Bridge,
}

/// All listeners of a shared medium. Every frame passes all of them; the medium delivers it to its
/// destination station, if that is here, and to every bridge. Group frames, and frames to an
/// address that no station of the network has, go to all listeners but the sender, so that a
/// driver's own addresses work too (a bridge inside a station).
#[derive(Debug, Clone, Default)]
pub struct Listeners {
    /// The stations in ascending order of address.
    stations: Vec<(Address, Tap)>,
    bridges: Vec<Tap>,
    taps: u32,
    /// Where stations are reached, by their numbers, as far as they were announced.
    announced: Vec<Option<Tap>>,
}

impl Listeners {
    /// The listeners at taps 0, 1 and so on.
    pub fn new(taps: &[Listener]) -> Self {
        let mut listeners = Self { taps: taps.len() as u32, ..Self::default() };
        for (tap, listener) in (0..).map(Tap).zip(taps) {
            match listener {
                Listener::Station(address) => listeners.stations.push((*address, tap)),
                Listener::Bridge => listeners.bridges.push(tap),
            }
        }
        listeners.stations.sort_unstable();
        listeners
    }

    /// How many taps there are.
    pub fn taps(&self) -> u32 {
        self.taps
    }

    /// Notes that every bridge here knows already that the `number`th station is reached through
    /// `tap`, its own or that of the one bridge that leads to it. Then the medium does not deliver
    /// frames for that station to bridges that would discard them: on a backbone with hundreds of
    /// bridges nearly all would.
    pub fn announce(&mut self, number: u32, tap: Tap) {
        if self.bridges.is_empty() {
            return;
        }
        let place = number as usize;
        if self.announced.len() <= place {
            self.announced.resize(place + 1, None);
        }
        self.announced[place] = Some(tap);
    }

    /// Puts the taps that take up a frame from `from` to `destination` into `to`, which is emptied
    /// first. The order is always the same: the station, then the bridges; or all in order of their
    /// taps.
    pub fn of(&self, from: Tap, destination: Address, to: &mut Vec<Tap>) {
        to.clear();
        if let Some(tap) = self.announced_at(destination) {
            to.extend(Some(tap).filter(|&tap| tap != from));
            return;
        }
        match self.stations.binary_search_by_key(&destination, |&(address, _)| address) {
            Ok(place) if !destination.is_group() => {
                let station = self.stations[place].1;
                to.extend(
                    std::iter::once(station)
                        .chain(self.bridges.iter().copied())
                        .filter(|&tap| tap != from),
                );
            }
            // A station of the network that is not on this medium is behind a bridge.
            Err(_) if destination.is_station() => {
                to.extend(self.bridges.iter().copied().filter(|&tap| tap != from));
            }
            _ => to.extend((0..self.taps).map(Tap).filter(|&tap| tap != from)),
        }
    }

    fn announced_at(&self, destination: Address) -> Option<Tap> {
        self.announced.get(destination.station_number()? as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners_of(from: u32, destination: Address) -> Vec<u32> {
        let stations = (0..3).map(|n| Listener::Station(Address::of_station(n)));
        let listeners: Vec<_> = stations.chain([Listener::Bridge]).collect();
        let mut taps = vec![Tap(99)];
        Listeners::new(&listeners).of(Tap(from), destination, &mut taps);
        taps.into_iter().map(|tap| tap.0).collect()
    }

    #[test]
    fn a_station_and_the_bridges_hear_what_is_addressed_to_it() {
        assert_eq!(listeners_of(0, Address::of_station(2)), [2, 3]);
        assert_eq!(listeners_of(3, Address::of_station(2)), [2], "a bridge does not hear itself");
    }

    #[test]
    fn an_announced_station_is_reached_without_asking_the_bridges() {
        let listeners =
            [Listener::Station(Address::of_station(0)), Listener::Bridge, Listener::Bridge];
        let mut listeners = Listeners::new(&listeners);
        listeners.announce(0, Tap(0));
        listeners.announce(7, Tap(2));
        let mut taps = Vec::new();
        for (from, station, expected) in [
            (1, 0, vec![Tap(0)]),
            (0, 7, vec![Tap(2)]),
            (2, 7, vec![]),
            (0, 8, vec![Tap(1), Tap(2)]),
        ] {
            listeners.of(Tap(from), Address::of_station(station), &mut taps);
            assert_eq!(taps, expected, "from {from} to {station}");
        }
        listeners.of(Tap(0), Address::BROADCAST, &mut taps);
        assert_eq!(taps, [Tap(1), Tap(2)], "group frames reach everybody as before");
    }

    #[test]
    fn a_frame_to_oneself_reaches_bridges_only() {
        assert_eq!(listeners_of(1, Address::of_station(1)), [3]);
    }

    #[test]
    fn only_bridges_take_up_what_is_for_a_station_elsewhere() {
        assert_eq!(listeners_of(1, Address::of_station(77)), [3]);
    }

    #[test]
    fn everybody_else_hears_broadcasts_and_strangers() {
        assert_eq!(listeners_of(1, Address::BROADCAST), [0, 2, 3]);
        assert_eq!(listeners_of(1, Address::from_octets([2, 0, 0, 0, 0, 9])), [0, 2, 3]);
    }
}
