//! The values of a file that a setting can change: the written ones, and the standard ones.

use super::tree::{At, Entry, Node, Table, Value};
use super::{Problems, ReadError, Reader, document};
use crate::drawing::Drawing;
use crate::quantity::Quantity;
use crate::segment::{Atm, Medium, Star};
use crate::{Direction, Rate, Service};

/// A value of a network file that [`Reader::set`] can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its key, such as `segments.ether.rate`.
    pub key: String,
    /// As it is written, without quotation marks.
    pub text: String,
    /// Its quantity.
    pub quantity: Quantity,
    /// Whether the file or a setting gives it; otherwise it is the standard value.
    pub written: bool,
}

impl Reader<'_> {
    /// Reads `text`, and lists the rates, distances, times, sizes, counts and frequencies, in the
    /// order of the file; each group's standard values follow its written ones. The list has no
    /// queues, no impairments other than loss, no changes during a run, and no members of lists.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn read_parameters(&self, text: &str) -> Result<(Drawing, Vec<Parameter>), ReadError> {
        let drawing = self.read(text)?;
        let problems = Problems::default();
        let table =
            document::opened(text, "a network file", &self.settings, &problems).unwrap_or_default();
        let mut list = List { text, settings: &self.settings, found: Vec::new() };
        for kind in ["segments", "stations", "bridges", "links", "traffic"] {
            for group in table.get(kind).map(members).unwrap_or_default() {
                list.group(kind, group, &drawing);
            }
        }
        Ok((drawing, list.found))
    }
}

fn members(entry: &Entry) -> &[Entry] {
    if let Value::Table(Table { entries }) = &entry.node.value { entries } else { &[] }
}

struct List<'a> {
    text: &'a str,
    settings: &'a [(String, String)],
    found: Vec<Parameter>,
}

impl List<'_> {
    /// A group's written values, then its standard ones.
    fn group(&mut self, kind: &str, group: &Entry, drawing: &Drawing) {
        let path = format!("{kind}.{}", group.key);
        let first = self.found.len();
        for entry in members(group) {
            self.value(&path, entry);
        }
        let traced = |entry: &Entry| {
            entry.key == "trace" || members(entry).iter().any(|below| below.key == "trace")
        };
        let is_traced = members(group).iter().any(traced);
        for (leaf, quantity, value) in standards(kind, &group.key, drawing) {
            // A direction that has its own hides the group's.
            let said =
                |known: &Parameter| known.key[path.len()..].split('.').any(|part| part == leaf);
            let hidden = self.found[first..].iter().any(said) || (leaf == "rate" && is_traced);
            if !hidden {
                let text = quantity.written(value);
                self.found.push(Parameter {
                    key: format!("{path}.{leaf}"),
                    text,
                    quantity,
                    written: false,
                });
            }
        }
    }

    fn value(&mut self, path: &str, entry: &Entry) {
        let key = format!("{path}.{}", entry.key);
        let Some(quantity) = quantity(&entry.key, &entry.node.value) else {
            if matches!(entry.key.as_str(), "forth" | "back" | "up" | "down" | "loss" | "size") {
                for below in members(entry) {
                    self.value(&key, below);
                }
            }
            return;
        };
        let text = self.as_written(&entry.node);
        // A table of its own, `[traffic.everyone.size]`, cannot be written in one piece.
        if text.starts_with('[') {
            return;
        }
        // `service = "gated"` is no quantity.
        let quantity = if quantity.value(&text).is_some() { quantity } else { Quantity::Words };
        self.found.push(Parameter { key, text, quantity, written: true });
    }

    fn as_written(&self, node: &Node) -> String {
        match (&node.value, &node.at) {
            (Value::Text(text), _) => text.clone(),
            (_, At::File(place)) => {
                let written = self.text.get(place.clone()).unwrap_or_default();
                written.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            (_, At::Setting(number)) => {
                self.settings.get(*number).map_or_else(String::new, |(_, value)| value.clone())
            }
        }
    }
}

/// The quantity of the value under a key; `None` for a value that cannot be changed.
fn quantity(key: &str, value: &Value) -> Option<Quantity> {
    let quantity = match key {
        "rate" => Quantity::Rate,
        "length" => Quantity::Length,
        "size" | "reply" | "exponential" => Quantity::Size,
        "loss" | "p" | "r" | "bad" | "good" => Quantity::Share,
        "load" => Quantity::Load,
        "count" => Quantity::Count,
        "packets_per_s" => Quantity::Frames,
        "velocity" => Quantity::Velocity,
        "station_latency" if matches!(value, Value::Text(text) if text.ends_with("bit") || text.ends_with("bits")) => {
            Quantity::Bits
        }
        "delay" | "latency" | "ring_latency" | "station_latency" | "ttrt" | "think" | "service" => {
            Quantity::Time
        }
        _ => return None,
    };
    match value {
        Value::Text(_) | Value::Whole(_) | Value::Number(_) => Some(quantity),
        // A mix of sizes is written in one piece.
        Value::Table(table) if key == "size" && table.get("exponential").is_none() => {
            Some(Quantity::Words)
        }
        _ => None,
    }
}

/// The standard values of a group.
fn standards(kind: &str, name: &str, drawing: &Drawing) -> Vec<(&'static str, Quantity, f64)> {
    match kind {
        "segments" => {
            let segment = drawing.segments.iter().find(|segment| segment.group == name);
            segment.map(|segment| of_medium(&segment.medium)).unwrap_or_default()
        }
        "bridges" => {
            let bridge = drawing.bridges.iter().find(|bridge| bridge.group == name);
            bridge
                .map(|bridge| ("latency", Quantity::Time, bridge.latency.seconds()))
                .into_iter()
                .collect()
        }
        "links" => {
            let link = drawing.links.iter().find(|link| link.group == name);
            link.map(|link| of_line(&link.forth)[1..].to_vec()).unwrap_or_default()
        }
        "traffic" => vec![("size", Quantity::Size, 1518.0)],
        _ => Vec::new(),
    }
}

fn of_medium(medium: &Medium) -> Vec<(&'static str, Quantity, f64)> {
    let cable = |rate: btu_units::BitRate, length: btu_units::Length, velocity| {
        vec![
            ("rate", Quantity::Rate, rate.bits_per_second() as f64),
            ("length", Quantity::Length, length.metres()),
            ("velocity", Quantity::Velocity, velocity),
        ]
    };
    match medium {
        Medium::SharedEthernet(ether) => cable(ether.rate, ether.length, ether.velocity),
        Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => of_star(star),
        Medium::TokenRing(ring) => {
            let mut found = cable(ring.rate, ring.length, ring.velocity);
            found.push(("station_latency", Quantity::Bits, f64::from(ring.station_latency_bits)));
            if let Service::HoldingTime(longest) = ring.service {
                found.push(("service", Quantity::Time, longest.seconds()));
            }
            found
        }
        Medium::Fddi(ring) => {
            let mut found = cable(ring.rate, ring.length, ring.velocity);
            found.push(("station_latency", Quantity::Time, ring.station_latency.seconds()));
            found.push(("ttrt", Quantity::Time, ring.target_rotation.seconds()));
            found
        }
    }
}

fn of_star(star: &Star) -> Vec<(&'static str, Quantity, f64)> {
    let mut found = of_line(&star.up);
    found.push(("latency", Quantity::Time, star.latency.seconds()));
    found
}

fn of_line(line: &Direction) -> Vec<(&'static str, Quantity, f64)> {
    let rate = match &line.rate {
        Rate::Fixed(rate) => rate.bits_per_second() as f64,
        Rate::Trace(trace) => trace.mean_rate().bits_per_second() as f64,
    };
    vec![
        ("rate", Quantity::Rate, rate),
        ("delay", Quantity::Time, line.delay.seconds()),
        ("loss", Quantity::Share, line.loss.share()),
    ]
}
