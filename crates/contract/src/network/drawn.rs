//! Stations of a network file in the roles of a rating.

use std::fmt;

use btu_network::{Drawing, ReadError, Reader, StationId, library_text, settings_of};
use serde::{Deserialize, Serialize};

use super::{HostRole, Network, Path};

/// A network file, and the roles of its stations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// The name of the network.
    pub name: String,
    /// The file with its settings, so that the plan is complete.
    pub text: String,
    /// The names of the stations in the roles.
    pub stations: Stations,
}

/// The stations in the roles, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stations {
    /// The machine under test.
    pub test: String,
    /// The first peer.
    pub active: String,
    /// The second, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passive: Option<String>,
}

/// A network that is raised for a run, and the stations in the roles.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// The drawing of the network that is raised.
    pub drawing: Drawing,
    /// The stations of the roles, in the order of [`HostRole::ALL`].
    pub roles: Vec<(HostRole, StationId)>,
}

impl Stations {
    /// Roles and stations, in the order of [`HostRole::ALL`].
    pub fn roles(&self) -> impl Iterator<Item = (HostRole, &str)> {
        let passive = self.passive.iter().map(|name| (HostRole::Passive, name.as_str()));
        [(HostRole::Test, self.test.as_str()), (HostRole::Active, &self.active)]
            .into_iter()
            .chain(passive)
    }
}

/// The network's name, and the roles of its stations.
impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles: Vec<String> =
            self.stations.roles().map(|(role, station)| format!("{role} {station}")).collect();
        write!(f, "{} ({})", self.name, roles.join(", "))
    }
}

impl Topology {
    /// Stations of `drawing`; `None` if it has no station of such a name.
    pub fn of(drawing: Drawing, stations: &Stations) -> Option<Self> {
        let roles =
            stations.roles().map(|(role, name)| Some((role, drawing.station_called(name)?)));
        let roles = roles.collect::<Option<_>>()?;
        Some(Self { drawing, roles })
    }

    /// The stations with impaired incoming packets.
    pub fn black_boxes(&self) -> impl Iterator<Item = StationId> {
        self.roles.iter().filter(|(role, _)| role.is_black_box()).map(|&(_, station)| station)
    }
}

impl Path {
    /// The library's path with these values.
    fn topology(&self) -> Result<Topology, ReadError> {
        let share = |share: f64| format!("{} %", share * 100.0);
        laboratory(
            "path",
            &[
                ("links.path.rate", format!("{} b/s", self.rate.bits_per_second())),
                ("links.path.delay", format!("{} ns", self.delay.nanoseconds())),
                ("links.path.loss", share(self.loss)),
                ("links.path.duplicate", share(self.duplicate)),
                ("links.path.reorder", share(self.reorder)),
            ],
        )
    }
}

/// A network of the library with stations that are named after the roles.
fn laboratory(name: &str, settings: &[(&str, String)]) -> Result<Topology, ReadError> {
    let reader =
        settings.iter().fold(Reader::new(name), |reader, (key, value)| reader.set(key, value));
    let drawing = reader.read(library_text(name).unwrap_or_default())?;
    let roles = HostRole::ALL.into_iter().zip(0..).map(|(role, number)| (role, StationId(number)));
    Ok(Topology { drawing, roles: roles.collect() })
}

/// A network file as a plan holds it, with its settings and the recordings that it names.
pub fn read_stored(name: &str, text: &str) -> Result<Drawing, ReadError> {
    settings_of(text)
        .fold(Reader::new(name), |reader, (key, value)| reader.set(key, value))
        .read(text)
}

impl Network {
    /// The drawing that is raised for it; `None` on real hosts, and if a file has no station of
    /// such a name. Traces that a file names are in its comments, or the library's.
    ///
    /// # Errors
    /// A file that cannot be read, or values that no network file can have.
    pub fn topology(&self) -> Result<Option<Topology>, ReadError> {
        match self {
            Self::Veth => laboratory("veth", &[]).map(Some),
            Self::Path(path) => path.topology().map(Some),
            Self::Drawing(Drawn { name, text, stations }) => {
                Ok(Topology::of(read_stored(name, text)?, stations))
            }
            Self::Machines(_) => Ok(None),
        }
    }

    /// The stations that take part, in the order of [`HostRole::ALL`].
    pub fn roles(&self) -> Vec<HostRole> {
        match self {
            Self::Drawing(drawn) => drawn.stations.roles().map(|(role, _)| role).collect(),
            Self::Veth | Self::Path(_) | Self::Machines(_) => HostRole::ALL.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use btu_network::{Loss, Rate};
    use btu_units::{BitRate, Probability, Span};

    use super::*;

    #[test]
    fn the_laboratories_of_the_library_have_the_roles_in_their_order() {
        let rate = BitRate::from_megabits_per_second(100);
        let path = Path {
            rate,
            delay: Span::from_milliseconds(5),
            loss: 0.015,
            duplicate: 0.0,
            reorder: 0.001,
        };
        let [veth, path] = [Network::Veth, Network::Path(path)]
            .map(|network| network.topology().unwrap().unwrap());
        for topology in [&veth, &path] {
            for (role, station) in &topology.roles {
                assert_eq!(topology.drawing.station(*station).name, role.name());
            }
            assert_eq!(topology.black_boxes().collect::<Vec<_>>(), [StationId(1), StationId(2)]);
        }
        assert!(veth.drawing.bare && !path.drawing.bare);
        let line = &path.drawing.links[0];
        for direction in [&line.forth, &line.back] {
            assert_eq!(
                (&direction.rate, direction.delay),
                (&Rate::Fixed(rate), Span::from_milliseconds(5))
            );
            let share = |share: f64| Probability::new(share).unwrap();
            assert_eq!(direction.loss, Loss::Random(share(0.015)));
            assert_eq!(
                (direction.reorder.share, direction.duplicate),
                (share(0.001), Probability::NEVER)
            );
        }
    }

    #[test]
    fn two_stations_are_two_roles() {
        let stations =
            Stations { test: "ship".to_owned(), active: "server".to_owned(), passive: None };
        let drawing = Drawing::read(library_text("satellite").unwrap(), "satellite").unwrap();
        assert_eq!(Topology::of(drawing.clone(), &stations).unwrap().black_boxes().count(), 1);
        let nobody = Stations { active: "nobody".to_owned(), ..stations.clone() };
        assert!(Topology::of(drawing, &nobody).is_none());
        let network =
            Network::Drawing(Drawn { name: "satellite".to_owned(), text: String::new(), stations });
        assert_eq!(network.to_string(), "satellite (test ship, active server)");
        assert_eq!(network.roles(), [HostRole::Test, HostRole::Active]);
        let text = serde_json::to_string(&network).unwrap();
        assert!(
            text.starts_with(r#"{"kind":"drawing","name":"satellite","text":"#)
                && !text.contains("passive"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    }
}
