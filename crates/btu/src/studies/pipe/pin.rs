//! Chooses processors from the value of `--pin`.

use btu_contract::network::Network;
use btu_contract::pipe::{Pin, Place, Processors};
use btu_control::environment;

use crate::exit::Refusal;

/// The processors of both ends, if they are pinned; by default [`Pin::usual`]. Processors of
/// another machine must be named, and that machine checks them.
pub(super) fn processors(
    pin: Option<Pin>,
    pairs: u32,
    place: &Place,
) -> Result<Option<Processors>, Refusal> {
    let here = environment::cores();
    let wrong = |error| Refusal::Usage(format!("--pin: {error}"));
    match (pin, place) {
        (None, Place::Machines(_)) => Ok(None),
        (None, place) => {
            let is_emulated =
                !matches!(place, Place::Here | Place::Stations { network: Network::Veth });
            Pin::usual(&here, pairs, is_emulated).processors(&here).map_err(wrong)
        }
        (Some(Pin::On(processors)), Place::Machines(_)) => {
            let near = Pin::On(Processors { far: processors.near, ..processors });
            near.processors(&here).map_err(wrong)?;
            Ok(Some(processors))
        }
        (Some(Pin::Apart | Pin::Together), Place::Machines(_)) => {
            let problem = "--pin: name a processor of each machine, this one's first: --pin 0,0";
            Err(Refusal::Usage(problem.to_owned()))
        }
        (Some(pin), _) => pin.processors(&here).map_err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use btu_contract::network::Reached;
    use btu_contract::pipe::Remote;

    use super::*;

    #[test]
    fn processors_of_another_machine_are_named() {
        let reached = Reached::Ssh { destination: "beta".to_owned() };
        let there = Place::Machines(Remote {
            name: "beta".to_owned(),
            reached,
            measured: [192, 0, 2, 1].into(),
        });
        let first = environment::cores()[0].numbers()[0];
        let processors = |pin, place| processors(pin, 1, place);
        let on = |near, far| Some(Pin::On(Processors { near, far }));
        assert_eq!(
            processors(on(first, 700), &there).unwrap(),
            Some(Processors { near: first, far: 700 })
        );
        assert!(
            processors(on(70_000, first), &there)
                .unwrap_err()
                .to_string()
                .contains("processor 70000")
        );
        assert!(
            processors(on(first, 70_000), &Place::Here)
                .unwrap_err()
                .to_string()
                .contains("processor 70000")
        );
        assert!(
            processors(Some(Pin::Apart), &there).unwrap_err().to_string().contains("--pin 0,0")
        );
        assert_eq!(
            processors(Some(Pin::Together), &Place::Here).unwrap(),
            Some(Processors { near: first, far: first })
        );
        assert_eq!(processors(None, &there).unwrap(), None);
    }
}
