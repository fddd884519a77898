//! From `--pin` to processors.

use btu_suite::pipe::{Pin, Place, Processors};

use crate::exit::Refusal;

/// The processors of both ends, where they are to be held on some. Another machine's are its own matter, so they must be
/// named, and whether they can be used is found out there.
pub(super) fn processors(pin: Option<Pin>, place: &Place) -> Result<Option<Processors>, Refusal> {
    let Some(pin) = pin else { return Ok(None) };
    let here = btu_traffic::allowed_processors()
        .map_err(|error| Refusal::Machine(format!("asking which processors may be used: {error}")))?;
    let wrong = |error| Refusal::Usage(format!("--pin: {error}"));
    match (pin, place) {
        (Pin::On(processors), Place::Machines(_)) => {
            let near = Pin::On(Processors { far: processors.near, ..processors });
            near.processors(&here).map_err(wrong)?;
            Ok(Some(processors))
        }
        (Pin::Apart | Pin::Together, Place::Machines(_)) => {
            let problem = "--pin: name a processor of each machine, this one's first: --pin 0,0";
            Err(Refusal::Usage(problem.to_owned()))
        }
        _ => pin.processors(&here).map(Some).map_err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use btu_suite::network::Reached;
    use btu_suite::pipe::Remote;

    use super::*;

    #[test]
    fn processors_of_another_machine_are_named() {
        let reached = Reached::Ssh { destination: "beta".to_owned() };
        let there = Place::Machines(Remote { name: "beta".to_owned(), reached, measured: [192, 0, 2, 1].into() });
        let first = btu_traffic::allowed_processors().unwrap()[0];
        let on = |near, far| Some(Pin::On(Processors { near, far }));
        assert_eq!(processors(on(first, 700), &there).unwrap(), Some(Processors { near: first, far: 700 }));
        assert!(processors(on(70_000, first), &there).unwrap_err().to_string().contains("processor 70000"));
        assert!(processors(on(first, 70_000), &Place::Here).unwrap_err().to_string().contains("processor 70000"));
        assert!(processors(Some(Pin::Apart), &there).unwrap_err().to_string().contains("--pin 0,0"));
        assert_eq!(
            processors(Some(Pin::Together), &Place::Here).unwrap(),
            Some(Processors { near: first, far: first })
        );
        assert_eq!(processors(None, &there).unwrap(), None);
    }
}
