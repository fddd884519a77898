//! `[factors]` and `[variant.NAME]`: what is varied, as settings.

use std::collections::BTreeMap;

use btu_network::{Document, Fields, Item, Spot};

use super::super::effects::{design, folded};
use super::super::plan::Factor;
use super::{CONGESTION, OWN, is_own, is_too_many};

/// Most levels of a factor, and most factors.
const MOST_LEVELS: usize = 100;
const MOST_FACTORS: usize = 16;

/// The factor that selects the running loads.
const LOAD: &str = "load";

/// The factor that variants are.
const VARIANT: &str = "variant";

/// All factors of a file.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    all: Vec<Read>,
    /// The place of a problem that concerns several factors.
    place: Spot,
}

#[derive(Debug, Clone)]
struct Read {
    name: String,
    levels: Vec<Level>,
}

#[derive(Debug, Clone)]
struct Level {
    /// As results call it.
    text: String,
    /// The values that it replaces.
    settings: Vec<(String, String)>,
    /// The running loads, of the factor that selects them.
    loads: Option<Vec<String>>,
    spot: Spot,
}

impl Factors {
    pub(super) fn read(fields: &Fields<'_>, document: &Document<'_>) -> Self {
        let factors = fields.get("factors");
        let place =
            factors.as_ref().map_or_else(|| fields.spot().clone(), |item| item.spot().clone());
        let mut all = Vec::new();
        if let Some(variants) = fields.get(VARIANT) {
            all.extend(variant(&variants));
        }
        let loads: Vec<String> = names(fields, LOAD);
        if let Some(table) = factors.and_then(|item| item.fields()) {
            for (name, spot, item) in table.members() {
                if all.len() >= MOST_FACTORS {
                    document.problem_at(
                        &spot,
                        format!("an experiment has at most {MOST_FACTORS} factors"),
                    );
                    break;
                }
                all.extend(factor(name, &item, &loads));
            }
        }
        Self { all, place }
    }

    /// The first level of each.
    pub(super) fn baseline(&self) -> Vec<usize> {
        vec![0; self.all.len()]
    }

    /// The number of levels of each.
    pub(super) fn counts(&self) -> Vec<usize> {
        self.all.iter().map(|factor| factor.levels.len()).collect()
    }

    /// Every level of every factor: (factor, level).
    pub(super) fn each(&self) -> impl Iterator<Item = (usize, usize)> {
        let places = self.all.iter().enumerate();
        places.flat_map(|(factor, read)| (0..read.levels.len()).map(move |level| (factor, level)))
    }

    /// The baseline except for one level.
    pub(super) fn only(&self, factor: usize, level: usize) -> Vec<usize> {
        let mut levels = self.baseline();
        levels[factor] = level;
        levels
    }

    /// Other settings with those of one factor's level.
    pub(super) fn settings(
        &self,
        levels: &[usize],
        others: &[(String, String)],
        factor: usize,
    ) -> Vec<(String, String)> {
        let own =
            self.level(factor, levels).map(|level| level.settings.clone()).unwrap_or_default();
        // Its own first: their number marks them as a level's.
        own.into_iter().chain(others.iter().cloned()).collect()
    }

    /// Other settings with those of all levels.
    pub(super) fn all_settings(
        &self,
        levels: &[usize],
        others: &[(String, String)],
    ) -> Vec<(String, String)> {
        let own = (0..self.all.len()).filter_map(|factor| self.level(factor, levels));
        others.iter().cloned().chain(own.flat_map(|level| level.settings.clone())).collect()
    }

    /// The meanings of words in braces: factors by their names.
    pub(super) fn words(&self, levels: &[usize]) -> BTreeMap<String, String> {
        let word = |(factor, read): (usize, &Read)| {
            Some((read.name.clone(), self.level(factor, levels)?.text.clone()))
        };
        self.all.iter().enumerate().filter_map(word).collect()
    }

    /// The running loads; `None` if no factor selects them, so that all run.
    pub(super) fn loads(&self, levels: &[usize]) -> Option<Vec<String>> {
        (0..self.all.len()).find_map(|factor| self.level(factor, levels)?.loads.clone())
    }

    pub(super) fn spot(&self, factor: usize, level: usize) -> &Spot {
        self.all
            .get(factor)
            .and_then(|read| read.levels.get(level))
            .map_or(&self.place, |level| &level.spot)
    }

    pub(super) fn place(&self) -> &Spot {
        &self.place
    }

    /// A combination in words.
    pub(super) fn in_words(&self, levels: &[usize]) -> String {
        let words: Vec<String> = self
            .words(levels)
            .into_iter()
            .map(|(name, level)| format!("{name} = {level}"))
            .collect();
        if words.is_empty() { "these settings".to_owned() } else { words.join(" and ") }
    }

    /// As plans have them.
    pub(super) fn listed(&self) -> Vec<Factor> {
        let factor = |read: &Read| {
            let levels = read.levels.iter().map(|level| level.text.clone()).collect();
            Factor { name: read.name.clone(), levels }
        };
        self.all.iter().map(factor).collect()
    }

    /// Whether so many rows are fewer than all.
    pub(super) fn is_fraction(&self, rows: usize) -> bool {
        rows < self.counts().into_iter().product()
    }

    fn level(&self, factor: usize, levels: &[usize]) -> Option<&Level> {
        self.all.get(factor)?.levels.get(*levels.get(factor)?)
    }
}

/// The names in a group of the file.
fn names(fields: &Fields<'_>, group: &'static str) -> Vec<String> {
    let group = fields.get(group).and_then(|item| item.fields());
    group
        .map(|group| group.members().map(|(name, _, _)| name.to_owned()).collect())
        .unwrap_or_default()
}

fn factor(name: &str, item: &Item<'_>, loads: &[String]) -> Option<Read> {
    let levels = item.each();
    if !item.is_list() || levels.len() < 2 || levels.len() > MOST_LEVELS {
        item.problem(format!(
            "a factor is a list of 2 to {MOST_LEVELS} levels, the baseline first"
        ));
        return None;
    }
    if OWN.contains(&name) && !matches!(name, LOAD | "network" | CONGESTION) {
        item.problem(format!(
            "`{name}` is not a value: name a key below it, such as `measure.get.message`"
        ));
        return None;
    }
    let mut read: Vec<Level> = Vec::new();
    for item in &levels {
        let level = level(name, item, loads)?;
        if read.iter().any(|other| other.text == level.text) {
            item.problem("this level is listed twice");
            return None;
        }
        read.push(level);
    }
    Some(Read { name: name.to_owned(), levels: read })
}

fn level(name: &str, item: &Item<'_>, loads: &[String]) -> Option<Level> {
    let (text, spot) = (item.written(), item.spot().clone());
    if name == LOAD {
        let loads = at_work(item, &text, loads)?;
        return Some(Level { text, settings: Vec::new(), loads: Some(loads), spot });
    }
    // A word without a dot that is not a key of the file is used literally, in arguments and
    // environments.
    let is_word = !name.contains('.') && !is_own(name);
    let settings = if is_word { Vec::new() } else { vec![(name.to_owned(), text.clone())] };
    Some(Level { text, settings, loads: None, spot })
}

/// The loads of `cpu + upload`.
fn at_work(item: &Item<'_>, text: &str, loads: &[String]) -> Option<Vec<String>> {
    if text == "none" {
        return Some(Vec::new());
    }
    let mut named = Vec::new();
    for name in text.split('+').map(str::trim) {
        if !loads.iter().any(|load| load == name) {
            let known = loads.iter().map(String::as_str).chain(["none"]);
            return item.unknown(name, known);
        }
        named.push(name.to_owned());
    }
    Some(named)
}

/// Variants are the levels of one factor, each with as many settings as it has keys.
fn variant(item: &Item<'_>) -> Option<Read> {
    let table = item.fields()?;
    let mut levels = Vec::new();
    for (name, spot, item) in table.members() {
        let Some(fields) = item.fields() else { continue };
        let mut settings = Vec::new();
        flat(&fields, "", &mut settings);
        levels.push(Level { text: name.to_owned(), settings, loads: None, spot });
    }
    if levels.len() < 2 {
        item.problem(
            "variants are compared: write two of them, `[variant.old]` and `[variant.new]`",
        );
        return None;
    }
    Some(Read { name: VARIANT.to_owned(), levels })
}

/// The keys of nested tables, joined by dots. A table of values, such as a `value` or a `ready`, is
/// one value.
fn flat(fields: &Fields<'_>, way: &str, settings: &mut Vec<(String, String)>) {
    for (key, _, item) in fields.members() {
        let path = if way.is_empty() { key.to_owned() } else { format!("{way}.{key}") };
        let is_group = item.is_table() && !matches!(key, "value" | "ready");
        match is_group.then(|| item.fields()).flatten() {
            Some(below) => flat(&below, &path, settings),
            None => settings.push((path, item.written())),
        }
    }
}

/// The combinations that are measured, the baseline first.
pub(super) fn combinations(
    factors: &Factors,
    resolution: Option<u32>,
    document: &Document<'_>,
) -> Vec<Vec<usize>> {
    let counts = factors.counts();
    let Some(rows) = counts.iter().try_fold(1usize, |all, count| all.checked_mul(*count)) else {
        return too_many(factors, document, "too many");
    };
    if let Some(resolution) = resolution {
        return fraction(&counts, resolution, factors, document);
    }
    if is_too_many(rows) {
        return too_many(factors, document, &rows.to_string());
    }
    if counts.is_empty() {
        return vec![Vec::new()];
    }
    design(&counts, None).map(|design| folded(&design)).unwrap_or_default()
}

fn too_many(factors: &Factors, document: &Document<'_>, rows: &str) -> Vec<Vec<usize>> {
    document.problem_at(
        factors.place(),
        format!(
            "every combination of levels would be {rows} rows; leave levels out, or write `resolution = 4` in [order]"
        ),
    );
    Vec::new()
}

/// The rows of a fraction: every factor has two levels.
fn fraction(
    counts: &[usize],
    resolution: u32,
    factors: &Factors,
    document: &Document<'_>,
) -> Vec<Vec<usize>> {
    let Some(design) = design(counts, Some(resolution)) else {
        let problem = "a fraction of the combinations (`resolution` in [order]) needs two levels of every factor";
        document.problem_at(factors.place(), problem);
        return Vec::new();
    };
    let rows = folded(&design);
    if is_too_many(rows.len()) {
        return too_many(factors, document, &rows.len().to_string());
    }
    rows
}
