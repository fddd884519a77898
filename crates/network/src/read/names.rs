//! Names: which are allowed, which are in use, and what they refer to.

use std::collections::{HashMap, HashSet};

use super::fields::clip;
use super::nearest::suggestion;
use super::problem::{Problems, Spot};
use super::stations::Reference;

/// The kinds of things that a name can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementKind {
    Segment,
    Station,
    Bridge,
    Link,
}

impl ElementKind {
    fn word(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::Station => "station",
            Self::Bridge => "bridge",
            Self::Link => "link",
        }
    }
}

/// The members that a name refers to: `count` consecutive entries of their kind's list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members {
    pub(super) kind: ElementKind,
    pub(super) first: u32,
    pub(super) count: u32,
    /// Whether it is a group with a count, even if that is 1.
    pub(super) counted: bool,
}

impl Members {
    /// The places in the kind's list.
    pub(super) fn places(self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }

    /// The place that belongs to the member with this number of another group: its own where there
    /// are several.
    pub(super) fn of_member(self, number: u32) -> u32 {
        if self.count == 1 { self.first } else { self.first + number }
    }
}

/// All names of a network, compared without regard to case, as host names are.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashMap<String, Members>,
    /// Names of entries with mistakes: a reference to one of them is no further mistake.
    broken: HashSet<String>,
}

impl Names {
    /// Takes a name for these members; a clash is reported as a problem.
    pub(super) fn take(&mut self, name: &str, members: Members, spot: &Spot, problems: &Problems) {
        let before = self.taken.insert(name.to_ascii_lowercase(), members);
        if let Some(before) = before {
            let word = before.kind.word();
            problems.note(spot, format!("the name `{}` is taken by a {word} already", clip(name)));
        }
    }

    /// Adds a name with a wrong entry.
    pub(super) fn broken(&mut self, name: &str) {
        self.broken.insert(name.to_ascii_lowercase());
    }

    /// The members that `reference` names; their kind must be one of `kinds`.
    pub(super) fn find(
        &self,
        reference: &Reference,
        kinds: &[ElementKind],
        problems: &Problems,
    ) -> Option<Members> {
        let name = reference.name.to_ascii_lowercase();
        match self.taken.get(&name) {
            Some(members) if kinds.contains(&members.kind) => return Some(*members),
            Some(members) => {
                let (is, wanted) = (members.kind.word(), or(kinds));
                problems.note(
                    &reference.spot,
                    format!("`{}` is a {is}; {wanted} is wanted", clip(&reference.name)),
                );
            }
            None if self.broken.contains(&name) || problems.full() => {}
            None => {
                // Among very many names the nearest is not worth the search.
                let known = self
                    .taken
                    .iter()
                    .filter(|(_, members)| kinds.contains(&members.kind))
                    .take(1_000);
                let meant = suggestion(&name, known.map(|(name, _)| name.as_str()));
                problems.note(
                    &reference.spot,
                    format!("there is no {} `{}`{meant}", bare(kinds), clip(&reference.name)),
                );
            }
        }
        None
    }
}

fn or(kinds: &[ElementKind]) -> String {
    kinds.iter().map(|kind| format!("a {}", kind.word())).collect::<Vec<_>>().join(" or ")
}

fn bare(kinds: &[ElementKind]) -> String {
    kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" or ")
}

/// Words with another meaning: the loopback interface, the host itself, and the targets of traffic.
const RESERVED: [&str; 4] = ["lo", "localhost", "all", "next"];

/// Checks that `name` can be a host's name: a label as RFC 1123, section 2.1, has it.
pub(super) fn check(name: &str, spot: &Spot, problems: &Problems) {
    let label = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let shown = clip(name);
    let problem = if name.is_empty() || name.len() > 63 || !name.chars().all(label) {
        format!("`{shown}` is not a name: a name is 1 to 63 letters, digits and `-`")
    } else if name.starts_with('-') || name.ends_with('-') {
        format!("`{shown}` is not a name: it must not begin or end with `-`")
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("`{shown}` is not a name: it needs a letter, or it would be taken for an address")
    } else if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        format!("`{shown}` cannot be a name here: it stands for something else")
    } else {
        return;
    };
    problems.note(spot, problem);
}

/// The name of one member: of a counted group its number is added.
pub(super) fn of_member(group: &str, counted: bool, number: u32) -> String {
    if counted { format!("{group}-{}", number + 1) } else { group.to_owned() }
}

/// Checks that the longest name of a group's members is still a label.
pub(super) fn check_longest(name: &str, spot: &Spot, problems: &Problems) {
    if name.len() > 63 {
        problems.note(
            spot,
            format!("the group's last member would be called `{name}`, which is longer than 63 characters"),
        );
    }
}
