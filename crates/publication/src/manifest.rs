//! Manifests: what the publisher of a run signs.

use std::str::FromStr;

use btu_contract::price::Price;

use crate::TextError;
use crate::address::check_address;
use crate::lines::{Lines, number, plain};

btu_units::named! {
    /// Who may see a published run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Visibility {
        /// All readers: it is in lists, and is ranked.
        Public = "public",
        /// Readers who have its address: it is in no list.
        Unlisted = "unlisted",
        /// Readers who have its token.
        Private = "private",
    }
}

impl FromStr for Visibility {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("{text:?} is none of public, unlisted, private"))
    }
}

/// What the publisher of a run signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The address of the board, so that no other board can be given the same publication.
    pub board: String,
    /// The UUID of the run.
    pub run: String,
    /// SHA-256 of the archive's file, 64 hexadecimal digits.
    pub archive_sha256: String,
    /// The hash of the run's plan.
    pub plan_hash: String,
    /// The seed of the run's plan: a challenge is met by its number.
    pub seed: u64,
    /// When the run began, RFC 3339, as the archive says it.
    pub created: String,
    /// When this was signed, RFC 3339.
    pub signed: String,
    /// Who may see it.
    pub visibility: Visibility,
    /// The publisher's name.
    pub name: String,
    /// The machine in the publisher's words.
    pub system: Option<String>,
    /// The price of the machine.
    pub price: Option<Price>,
}

const FIRST_LINE: &str = "btu-manifest 1";

impl Manifest {
    /// The text that is signed. Reading it gives the same manifest, if its values are such as
    /// [`Self::read`] accepts.
    pub fn text(&self) -> String {
        let required = [
            ("board", self.board.clone()),
            ("run", self.run.clone()),
            ("archive", self.archive_sha256.clone()),
            ("plan", self.plan_hash.clone()),
            ("seed", self.seed.to_string()),
            ("created", self.created.clone()),
            ("signed", self.signed.clone()),
            ("visibility", self.visibility.to_string()),
            ("name", self.name.clone()),
        ];
        let optional = [
            ("system", self.system.clone()),
            ("price", self.price.as_ref().map(ToString::to_string)),
        ];
        let optional = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let lines = required.into_iter().chain(optional);
        lines.fold(format!("{FIRST_LINE}\n"), |text, (name, value)| {
            text + name + " " + &value + "\n"
        })
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The text is not the one form of a manifest.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut lines = Lines::of("the manifest", FIRST_LINE, text)?;
        let manifest = Self {
            board: lines.required("board", check_address)?,
            run: lines.required("run", plain)?,
            archive_sha256: lines.required("archive", digest)?,
            plan_hash: lines.required("plan", plain)?,
            seed: lines.required("seed", number)?,
            created: lines.required("created", plain)?,
            signed: lines.required("signed", plain)?,
            visibility: lines.required("visibility", str::parse)?,
            name: lines.required("name", plain)?,
            system: lines.optional("system", plain)?,
            price: lines.optional("price", price)?,
        };
        lines.end()?;
        Ok(manifest)
    }
}

fn digest(value: &str) -> Result<String, String> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if value.len() == 64 && value.bytes().all(is_digit) {
        return Ok(value.to_owned());
    }
    Err(format!("{value:?} is no SHA-256"))
}

/// A price in the form in which it is written.
fn price(value: &str) -> Result<Price, String> {
    let price: Price = value.parse().map_err(|error| format!("{error}"))?;
    if price.to_string() == value { Ok(price) } else { Err(format!("write it as `{price}`")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            board: "https://board.example.org".to_owned(),
            run: "0199d8a2-0000-7000-8000-000000000000".to_owned(),
            archive_sha256: "ab".repeat(32),
            plan_hash: "1f0d".to_owned(),
            seed: 7,
            created: "2026-11-01T10:00:00Z".to_owned(),
            signed: "2026-11-01T11:00:00Z".to_owned(),
            visibility: Visibility::Public,
            name: "Ada Example".to_owned(),
            system: Some("a machine, second hand".to_owned()),
            price: Some("899.50 EUR".parse().unwrap()),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let all = manifest();
        let few = Manifest { system: None, price: None, ..manifest() };
        for one in [all, few] {
            assert_eq!(Manifest::read(&one.text()), Ok(one));
        }
        assert!(manifest().text().len() < 500, "{}", manifest().text().len());
    }

    #[test]
    fn every_text_has_one_form() {
        let text = manifest().text();
        for (from, to, word) in [
            ("btu-manifest 1", "btu-manifest 2", "first line"),
            ("seed 7", "seed 07", "no number"),
            ("seed 7\n", "", "line 6 is not `seed"),
            ("visibility public", "visibility all", "none of public"),
            ("899.50 EUR", "899.5 EUR", "write it as"),
            ("name Ada Example", "name Ada Example ", "spaces"),
            ("name Ada Example", "name Ada\u{202e}", "not shown"),
            ("name Ada Example", "name Ada\u{ffff}", "not shown"),
            ("name Ada Example", "name Ada\u{200b} Example", "not shown"),
            ("name Ada Example", "name \u{3164}", "not shown"),
            ("name Ada Example", "name Ada\u{ad} Example", "not shown"),
            ("name Ada Example", "name \u{feff}Ada", "not shown"),
            ("https://board", "ftp://board", "no address"),
            ("board.example.org", "board.example.org:99999", "no address"),
            ("board.example.org", "board.example.org:", "no address"),
            ("ab\nplan", "aB\nplan", "SHA-256"),
            ("EUR\n", "EUR", "does not end"),
            ("EUR\n", "EUR\nmore 1\n", "line 13"),
            ("\nseed", "\r\nseed", "spaces"),
        ] {
            let other = text.replacen(from, to, 1);
            assert_ne!(other, text);
            let refused = Manifest::read(&other).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
        let long = Manifest { name: "x".repeat(201), ..manifest() };
        assert!(Manifest::read(&long.text()).unwrap_err().to_string().contains("200 characters"));
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(name in "[\\PC\n\u{202e}\0]{0,12}", tail in "\\PC{0,20}") {
            let text = Manifest { name, ..manifest() }.text() + &tail;
            if let Ok(read) = Manifest::read(&text) {
                prop_assert_eq!(read.text(), text);
            }
        }
    }
}
