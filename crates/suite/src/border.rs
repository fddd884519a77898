//! Limits of a stored plan. The plan may come with a file from an untrusted source, so it is
//! checked where it is read; code that has a plan need not check it again.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use btu_network::{AgentAddress, HostName, SshDestination};
use serde::de::{Deserialize, Deserializer, Error};

use crate::plan::Profile;

/// More entries than any plan lists; every one of them multiplies the cells that a reader has to
/// look for.
const MOST_ENTRIES: usize = 100;

/// More cells than any plan crosses.
const MOST_CELLS: usize = 100_000;

/// Most levels of a factor that is crossed with several others.
pub const MOST_LEVELS: usize = 20;

/// Most blocks of a plan.
pub const MOST_BLOCKS: u32 = 1000;

/// More blocks than any plan has; a full profile has 30.
const BLOCKS: RangeInclusive<u32> = 1..=MOST_BLOCKS;

/// More signatures than any set has.
const MOST_SERIES: usize = 16;

/// A list without repetitions.
pub fn once<'de, D: Deserializer<'de>, T: Deserialize<'de> + PartialEq>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let list = short(from, MOST_ENTRIES)?;
    let is_new = |(place, entry): (usize, &T)| !list[..place].contains(entry);
    if list.iter().enumerate().all(is_new) {
        Ok(list)
    } else {
        Err(Error::custom("an entry of a list stands there twice"))
    }
}

/// The levels of a factor that is crossed with others: a list without repetitions, and not many.
pub fn levels<'de, D: Deserializer<'de>, T: Deserialize<'de> + PartialEq>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let levels = once(from)?;
    if levels.len() <= MOST_LEVELS {
        return Ok(levels);
    }
    Err(Error::custom(format!(
        "a factor has {} levels, and {MOST_LEVELS} are the most",
        levels.len()
    )))
}

/// The signatures of a set.
pub(crate) fn series<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    short(from, MOST_SERIES)
}

/// Cells of a plan.
pub fn cells<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    short(from, MOST_CELLS)
}

fn short<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
    most: usize,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(from)?;
    if list.len() > most {
        return Err(Error::custom(format!(
            "a list has {} entries, and {most} are the most",
            list.len()
        )));
    }
    Ok(list)
}

/// The name of one of the profiles.
pub fn profile<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if Profile::named(&name).is_some() {
        Ok(name)
    } else {
        Err(Error::custom(format!("there is no profile {name:?}")))
    }
}

/// A number of blocks.
pub fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let blocks = u32::deserialize(from)?;
    let (least, most) = (BLOCKS.start(), BLOCKS.end());
    if BLOCKS.contains(&blocks) {
        Ok(blocks)
    } else {
        Err(Error::custom(format!("{blocks} blocks are not between {least} and {most}")))
    }
}

/// A share, above 0 and at most 1.
pub fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(from)?;
    if share > 0.0 && share <= 1.0 {
        Ok(share)
    } else {
        Err(Error::custom(format!("{share} is not a share of a mean")))
    }
}

/// The user's name for a host.
pub(crate) fn host_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    HostName::deserialize(from).map(String::from)
}

/// Where an agent listens.
pub fn address<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    readable::<AgentAddress, D>(from)
}

/// Reads the destination of an ssh connection.
pub fn destination<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    readable::<SshDestination, D>(from)
}

/// A text that can be parsed as its type.
fn readable<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    from: D,
) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    text.parse::<T>().map_err(Error::custom)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::json;
    use crate::network::{HostRole, Machine, Machines, Network, Reached};
    use crate::pipe::{Kind, PipePlan, Place, Purpose, SetPlan};
    use crate::plan::Plan;

    fn refused(changed: impl Fn(&mut Value)) -> String {
        let host = |station: HostRole, reached| Machine {
            station: station.into(),
            name: station.name().to_owned(),
            reached,
            measured: [192, 0, 2, 1].into(),
        };
        let tls = Reached::Tls { address: "192.0.2.10:7417".to_owned() };
        let ssh = Reached::Ssh { destination: "me@alpha".to_owned() };
        let hosts = vec![host(HostRole::Test, tls), host(HostRole::Active, ssh)];
        let network = Network::Machines(Machines { hosts });
        let mut plan =
            json::to_value(&Plan::whole(1, crate::plan::Profile::quick(), network)).unwrap();
        assert!(json::from_value::<Plan>(&plan).is_ok());
        changed(&mut plan);
        json::from_value::<Plan>(&plan).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_that_nobody_would_make_is_not_read() {
        let many: Vec<u64> = (1..=101).collect();
        let script = "<img src=x onerror=alert(1)></script>$(id)";
        for (word, found) in [
            ("101 entries", refused(|plan| plan["message_bytes"] = json!(many))),
            ("twice", refused(|plan| plan["message_bytes"] = json!([1, 2, 1]))),
            ("twice", refused(|plan| plan["components"] = json!(["SEND", "SEND"]))),
            ("twice", refused(|plan| plan["loads"] = json!(["idle", "cpu", "idle"]))),
            ("no profile", refused(|plan| plan["profile"]["name"] = json!(script))),
            ("blocks", refused(|plan| plan["profile"]["most_blocks"] = json!(u32::MAX))),
            ("blocks", refused(|plan| plan["profile"]["most_blocks"] = json!(0))),
            ("no share", refused(|plan| plan["profile"]["wanted_half_width"] = json!(0.0))),
            (
                "cannot name a host",
                refused(|plan| plan["network"]["hosts"][0]["name"] = json!(script)),
            ),
            (
                "no address",
                refused(|plan| plan["network"]["hosts"][0]["reached"]["address"] = json!(script)),
            ),
            (
                "ssh",
                refused(|plan| {
                    plan["network"]["hosts"][1]["reached"]["destination"] =
                        json!("-oProxyCommand=x");
                }),
            ),
            (
                "twice",
                refused(|plan| plan["network"]["hosts"][1] = plan["network"]["hosts"][0].clone()),
            ),
        ] {
            assert!(found.contains(word), "{found} has no `{word}`");
        }
    }

    #[test]
    fn a_set_has_as_many_signatures_as_somebody_waits_for() {
        let set = |count| SetPlan {
            purpose: Purpose::Load,
            series: vec![PipePlan::new(1, Kind::Tcp, Place::Here); count],
        };
        let read = |count| json::from_value::<SetPlan>(&json::to_value(&set(count)).unwrap());
        assert_eq!(read(16).unwrap(), set(16));
        assert!(read(17).unwrap_err().to_string().contains("17 entries"));
    }
}
