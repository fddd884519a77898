//! The name of a result, by the run rules of docs/run-rules.md. Every output uses this module.

use serde::Serialize;

use super::context::Context;
use super::rating::Rating;

/// The name of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Title {
    /// The result is a BTU rating.
    BtuRating,
    /// Part of one: a number by the same rule over less, or over more than one machine.
    Part,
    /// No cell of a rating was measured.
    None,
}

impl Title {
    /// The title that these obstacles leave.
    pub fn of(obstacles: &[Obstacle]) -> Self {
        match obstacles {
            [] => Self::BtuRating,
            all if all.contains(&Obstacle::NoRating) => Self::None,
            _ => Self::Part,
        }
    }

    /// The title as it is printed before the number.
    pub const fn words(self) -> &'static str {
        match self {
            Self::BtuRating => "BTU rating",
            Self::Part => "Part of a BTU rating",
            Self::None => "No BTU rating",
        }
    }
}

/// Why a result may not be called a BTU rating, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// No loaded cell was measured.
    NoRating,
    /// Rows of the plan have no valid cell, or the run did not end by itself.
    Incomplete,
    /// It was resumed on another machine, kernel or version of btu, and its cells are of both.
    ResumedElsewhere,
    /// The plan leaves out components, message sizes or loads.
    Partial,
}

impl Obstacle {
    /// The obstacle in one to three words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoRating => "no rating",
            Self::Incomplete => "incomplete",
            Self::ResumedElsewhere => "resumed elsewhere",
            Self::Partial => "partial",
        }
    }

    /// Its meaning, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoRating => {
                "No network activity was measured under a host activity, so there is nothing to rate."
            }
            Self::Incomplete => {
                "Planned rows have no valid cell; the number is not comparable with a complete one."
            }
            Self::ResumedElsewhere => {
                "The run was resumed on another machine, kernel or version of btu; its cells are of both."
            }
            Self::Partial => {
                "Components, message sizes or loads of the rating were left out on purpose."
            }
        }
    }
}

/// All obstacles to calling `rating` a BTU rating, the most severe first.
pub(super) fn obstacles(rating: Option<&Rating>, context: &Context) -> Vec<Obstacle> {
    let missing = rating.is_some_and(|rating| !rating.missing.is_empty());
    let applies = [
        (Obstacle::NoRating, rating.is_none()),
        (Obstacle::Incomplete, missing || !context.run.complete),
        (Obstacle::ResumedElsewhere, context.run.resumed_elsewhere),
        (Obstacle::Partial, !context.plan.is_whole()),
    ];
    applies.into_iter().filter(|(_, applies)| *applies).map(|(obstacle, _)| obstacle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_follows_from_the_obstacles() {
        assert_eq!(Title::of(&[]), Title::BtuRating);
        assert_eq!(Title::of(&[Obstacle::NoRating, Obstacle::Partial]), Title::None);
        for obstacle in [Obstacle::Incomplete, Obstacle::ResumedElsewhere, Obstacle::Partial] {
            assert_eq!(Title::of(&[obstacle]), Title::Part, "{obstacle:?}");
        }
    }

    #[test]
    fn the_words_of_the_json_form() {
        let words = serde_json::to_string(&[Title::BtuRating, Title::Part, Title::None]).unwrap();
        assert_eq!(words, r#"["btu-rating","part","none"]"#);
        assert_eq!(
            serde_json::to_string(&Obstacle::ResumedElsewhere).unwrap(),
            "\"resumed-elsewhere\""
        );
    }
}
