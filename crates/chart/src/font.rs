//! The font: `DejaVu` Sans, cut down to Latin, Greek and a few signs, as outlines (see
//! `scripts/font`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use tiny_skia::{Path, PathBuilder, Transform};

use crate::drawing::{Anchor, Text};

/// The font, read once. The font is part of this project, so tests find its errors.
static FONT: LazyLock<Font> = LazyLock::new(|| Font::read(include_str!("../font/outlines.txt")));

/// The replacement for characters that the font lacks.
const MISSING: char = '\0';

/// Outlines by character, in units of which an em has [`Font::em`].
#[derive(Debug, Default)]
struct Font {
    em: f32,
    glyphs: BTreeMap<char, Glyph>,
    kerning: BTreeMap<(char, char), f32>,
}

#[derive(Debug)]
struct Glyph {
    advance: f32,
    /// None for a space.
    outline: Option<Path>,
}

/// The outline of a text where it is to be painted. `None` if it has no visible part.
pub(crate) fn outline(text: &Text) -> Option<Path> {
    let font = &*FONT;
    let size = text.size as f32 / font.em;
    let (path, length) = font.line(text.letters());
    let start = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -length / 2.0,
        Anchor::End => -length,
    };
    let turn = if text.upwards { -90.0 } else { 0.0 };
    let place = Transform::from_translate(text.x as f32, text.y as f32)
        .pre_rotate(turn)
        .pre_scale(size, -size)
        .pre_translate(start, 0.0);
    path?.transform(place)
}

impl Font {
    /// Letters one after the other from 0 on, with their length.
    fn line(&self, letters: impl Iterator<Item = char>) -> (Option<Path>, f32) {
        let mut path = PathBuilder::new();
        let (mut x, mut last) = (0.0, None);
        for letter in letters {
            let Some(glyph) = self.glyphs.get(&letter).or_else(|| self.glyphs.get(&MISSING)) else {
                continue;
            };
            x += last.and_then(|last| self.kerning.get(&(last, letter))).unwrap_or(&0.0);
            if let Some(outline) = glyph
                .outline
                .clone()
                .and_then(|path| path.transform(Transform::from_translate(x, 0.0)))
            {
                path.push_path(&outline);
            }
            x += glyph.advance;
            last = Some(letter);
        }
        (path.finish(), x)
    }

    /// Reads the lines that the file itself explains.
    fn read(text: &str) -> Self {
        let mut font = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(4, ' ');
            match (words.next(), words.next()) {
                (Some("e"), Some(units)) => font.em = units.parse().unwrap_or_default(),
                (Some("g"), Some(code)) => {
                    let advance = words.next().and_then(|advance| advance.parse().ok());
                    let outline = words.next().and_then(outline_of);
                    if let (Some(letter), Some(advance)) = (character(code), advance) {
                        font.glyphs.insert(letter, Glyph { advance, outline });
                    }
                }
                (Some("k"), Some(code)) => {
                    let pairs = words
                        .flat_map(|pairs| pairs.split(' '))
                        .filter_map(|pair| pair.split_once(':'));
                    let pair = |(next, units): (&str, &str)| {
                        Some(((character(code)?, character(next)?), units.parse().ok()?))
                    };
                    font.kerning.extend(pairs.filter_map(pair));
                }
                _ => {}
            }
        }
        font
    }
}

fn character(code: &str) -> Option<char> {
    u32::from_str_radix(code, 16).ok().and_then(char::from_u32)
}

/// The outline that the file's commands draw.
fn outline_of(commands: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut rest = commands;
    while let Some(name) = rest.chars().next() {
        let end = rest[1..]
            .find(|letter: char| letter.is_ascii_uppercase())
            .map_or(rest.len(), |end| end + 1);
        let numbers: Vec<f32> =
            rest[1..end].split(' ').filter_map(|number| number.parse().ok()).collect();
        match (name, numbers.as_slice()) {
            ('M', &[x, y]) => path.move_to(x, y),
            ('L', &[x, y]) => path.line_to(x, y),
            ('Q', &[a, b, x, y]) => path.quad_to(a, b, x, y),
            ('Z', []) => path.close(),
            _ => return None,
        }
        rest = &rest[end..];
    }
    path.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(letters: &str, anchor: Anchor, upwards: bool) -> Text {
        Text {
            x: 100.0,
            y: 50.0,
            size: 20.48,
            anchor,
            colour: "#000",
            upwards,
            words: letters.to_owned(),
        }
    }

    #[test]
    fn every_line_of_the_font_is_understood() {
        let lines = include_str!("../font/outlines.txt").lines();
        let all: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
        let glyphs = all.iter().filter(|line| line.starts_with("g ")).count();
        let drawn = all
            .iter()
            .filter(|line| line.starts_with("g ") && line.splitn(4, ' ').count() == 4)
            .count();
        let pairs: usize = all
            .iter()
            .filter(|line| line.starts_with("k "))
            .map(|line| line.matches(':').count())
            .sum();
        assert_eq!((FONT.em.to_string(), FONT.glyphs.len()), ("2048".to_owned(), glyphs));
        assert_eq!(FONT.glyphs.values().filter(|glyph| glyph.outline.is_some()).count(), drawn);
        assert_eq!(FONT.kerning.len(), pairs);
        assert!(drawn > 170 && pairs > 200, "{drawn} outlines, {pairs} pairs");
    }

    /// An exclamation mark is 821 units wide, inked from 309 to 512, 1493 units high: at 2048 units
    /// to 20.48 pixels, a hundredth of that.
    #[test]
    fn a_letter_lies_where_its_outline_says() {
        let start = outline(&text("!", Anchor::Start, false)).unwrap().bounds();
        assert!(
            (start.left() - 103.09).abs() < 0.01 && (start.right() - 105.12).abs() < 0.01,
            "{start:?}"
        );
        assert!(
            (start.bottom() - 50.0).abs() < 0.01 && (start.top() - 35.07).abs() < 0.01,
            "{start:?}"
        );
        let end = outline(&text("!", Anchor::End, false)).unwrap().bounds();
        assert!((start.left() - end.left() - 8.21).abs() < 0.01, "{end:?}");
        let upwards = outline(&text("!", Anchor::Start, true)).unwrap().bounds();
        assert!(
            (upwards.bottom() - 46.91).abs() < 0.01 && (upwards.right() - 100.0).abs() < 0.01,
            "{upwards:?}"
        );
    }

    #[test]
    fn pairs_are_kerned_and_unknown_letters_leave_room() {
        let length = |letters: &str| FONT.line(letters.chars()).1;
        assert!(length("AT") < length("A") + length("T"));
        assert!((length("a\u{4e2d}") - length("a") - FONT.glyphs[&MISSING].advance).abs() < 0.1);
        assert!(outline(&text(" ", Anchor::Middle, false)).is_none());
    }
}
