//! The network of a command whose subject it is: by `--network`, as every command takes it, or as
//! a bare word.

use clap::Args;

use super::octets;

/// The network that is predicted, simulated or raised.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Subject {
    /// The network: a network file, a name from the library, the rate of a line, or a link recorded
    /// in Mahimahi's format; - reads standard input
    #[arg(value_name = "NETWORK", value_parser = octets())]
    bare: Option<String>,
    /// The same with the option of the other commands
    #[arg(long, value_name = "RATE|FILE", value_parser = octets())]
    network: Option<String>,
}

impl Subject {
    /// The network as it was typed.
    pub(crate) fn network(&self) -> &str {
        // The group requires one of the two.
        self.bare.as_deref().or(self.network.as_deref()).unwrap_or_default()
    }
}

/// Networks of a command that takes several.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Subjects {
    /// The networks: network files, names from the library, or rates of a line; - reads standard
    /// input
    #[arg(value_name = "NETWORK", value_parser = octets())]
    bare: Vec<String>,
    /// The same with the option of the other commands
    #[arg(long, value_name = "RATE|FILE", value_parser = octets())]
    network: Vec<String>,
}

impl Subjects {
    /// The networks as they were typed.
    pub(crate) fn networks(&self) -> Vec<&str> {
        self.bare.iter().chain(&self.network).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::{Arguments, Command, Net};

    fn named(line: &str) -> Result<String, clap::error::ErrorKind> {
        let read = Arguments::try_parse_from(line.split(' ')).map_err(|error| error.kind())?;
        Ok(match read.command {
            Command::Model(model) => model.subject.network().to_owned(),
            Command::Sim(sim) => sim.subject.network().to_owned(),
            Command::Net(Net::Run(run)) => run.raising.subject.network().to_owned(),
            Command::Net(Net::Up(up)) => up.raising.subject.network().to_owned(),
            Command::Net(Net::Show(subject)) => subject.network().to_owned(),
            Command::Net(Net::Check(check)) => check.subjects.networks().join(","),
            other => panic!("{other:?}"),
        })
    }

    /// With the option or without it, but one of the two and only one.
    #[test]
    fn a_network_goes_with_its_option_or_without() {
        for command in ["model", "sim", "net run --watch", "net up", "net check", "net show"] {
            let with = named(&format!("btu {command} --network satellite"));
            assert_eq!(with.as_deref(), Ok("satellite"), "{command}");
            assert_eq!(named(&format!("btu {command} satellite")), with, "{command}");
            let none = named(&format!("btu {command}")).unwrap_err();
            assert_eq!(none, clap::error::ErrorKind::MissingRequiredArgument, "{command}");
        }
        let both = named("btu sim satellite --network path").unwrap_err();
        assert_eq!(both, clap::error::ErrorKind::ArgumentConflict);
        assert_eq!(named("btu net check a.toml --network path").as_deref(), Ok("a.toml,path"));
    }
}
