//! Limits of a stored plan. The plan may come with a file from an untrusted source, so it is
//! checked where it is read; code that has a plan need not check it again.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use btu_network::{AgentAddress, HostName, SshDestination};
use serde::de::{Deserialize, Deserializer, Error};

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

/// The names of profiles.
const PROFILES: [&str; 3] = ["quick", "standard", "full"];

/// The name of one of the profiles.
pub fn profile<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if PROFILES.contains(&name.as_str()) {
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
    use crate::json;
    use crate::pipe::{Kind, PipePlan, Place, Purpose, SetPlan};

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
