//! The time that a repetition takes at least, so that a time limit that allows none is refused.

use btu_network::Drawing;
use btu_units::Span;

use super::doing::{ActivityStep, Doing};
use super::plan::RunPlan;
use super::row::RunRow;
use crate::limits::PathLimits;
use btu_contract::activity::Work;
use btu_contract::experiment::Scripts;
use btu_contract::network::read_stored;
use btu_contract::program::Part;

impl RunPlan {
    /// The least time of one repetition of every row: the leads of loads, the times of activities,
    /// and their amounts over the rates of the lines. What is not known, as the time of a program,
    /// counts as nothing.
    pub fn least_time(&self) -> Span {
        let others = self.networks.iter().map(|other| read_stored(&other.name, &other.text).ok());
        let drawings: Vec<Option<Drawing>> =
            std::iter::once(self.frame().network.drawing()).chain(others).collect();
        let drawing = |row: &RunRow| drawings.get(row.network).and_then(Option::as_ref);
        self.rows.iter().map(|row| row.least_time(drawing(row))).sum()
    }
}

impl RunRow {
    /// The lead, and the longest of the activities that are measured: they start together.
    fn least_time(&self, drawing: Option<&Drawing>) -> Span {
        let measured = self.activities.iter().filter(|step| step.part == Part::Measured);
        let longest = measured.filter_map(|step| step.least_time(drawing)).max();
        self.lead + longest.unwrap_or(Span::ZERO)
    }
}

impl ActivityStep {
    fn least_time(&self, drawing: Option<&Drawing>) -> Option<Span> {
        let amount = match &self.doing {
            Doing::TcpStream { amount: Work::For(time), .. }
            | Doing::UdpStream { time, .. }
            | Doing::Requests { time, .. } => return Some(*time),
            Doing::TcpStream { amount: Work::Bytes(amount), .. } | Doing::Transfer { amount } => {
                *amount
            }
            Doing::Cpu { .. } | Doing::Disk { .. } => return None,
        };
        let drawing = drawing?;
        let ends = [&self.on, self.to.as_ref()?].map(|host| drawing.station_called(host.as_str()));
        let [Some(on), Some(to)] = ends else { return None };
        // A transfer is a fetch: it moves data to the station where the activity is.
        let [from, to] =
            if matches!(self.doing, Doing::Transfer { .. }) { [to, on] } else { [on, to] };
        let (_, line) = PathLimits::between(drawing, from, to)?.seconds(amount)?;
        Some(Span::from_seconds_f64(line))
    }
}

#[cfg(test)]
mod tests {
    use btu_contract::activity::Receiving;
    use btu_contract::network::HostName;

    use super::*;

    fn host(name: &str) -> HostName {
        name.try_into().expect("a name")
    }

    fn step(name: &str, part: Part, doing: Doing) -> ActivityStep {
        let (on, to) = (host("laptop"), Some(host("server")));
        ActivityStep { name: name.to_owned(), on, to, part, doing }
    }

    fn stream(amount: Work) -> Doing {
        Doing::TcpStream {
            message: btu_units::Bytes::new(1024),
            amount,
            window: None,
            receiving: Receiving::Plain,
        }
    }

    /// Of what is measured together the longest, after the lead; loads end with it.
    #[test]
    fn a_repetition_takes_its_lead_and_its_longest_activity() {
        let text = btu_network::library_text("home-bloated").expect("a network of the library");
        let drawing = Drawing::read(text, "home-bloated").expect("a drawing");
        let seconds = Span::from_seconds;
        let row = RunRow {
            levels: vec![],
            network: 0,
            lead: seconds(2),
            programs: vec![],
            activities: vec![
                step("short", Part::Measured, stream(Work::For(seconds(1)))),
                step("long", Part::Measured, stream(Work::For(seconds(3)))),
                step("upload", Part::Load, stream(Work::For(seconds(60)))),
            ],
        };
        assert_eq!(row.least_time(Some(&drawing)), seconds(5));
        // 1 MB up a line of 1 Mb/s are 8 s, and headers.
        let amount = stream(Work::Bytes(btu_units::Bytes::new(1_000_000)));
        let row = RunRow { activities: vec![step("all", Part::Measured, amount)], ..row };
        let takes = row.least_time(Some(&drawing)).seconds();
        assert!((10.0..10.6).contains(&takes), "{takes} s");
        assert_eq!(row.least_time(None), seconds(2));
    }
}
