//! SVG of a picture.

use std::fmt::Write;

use crate::drawing::{Anchor, Drawing, Group, Ink, PathStep, Shape, Text};
use crate::layout::drawing;
use crate::picture::Picture;

/// The picture as an SVG document.
pub fn svg(picture: &Picture) -> String {
    let Drawing { width, height, title, shapes } = drawing(picture);
    let mut body = String::new();
    draw(&mut body, &shapes);
    let title = escaped(title.chars());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"{title}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <g font-family=\"DejaVu Sans,Verdana,sans-serif\" fill=\"none\">\n{body}</g>\n</svg>\n"
    )
}

fn draw(out: &mut String, shapes: &[Shape]) {
    let mut clipped = None;
    for shape in shapes {
        if let Shape::Series(group) = shape {
            if clipped.replace(group.panel) != Some(group.panel) {
                clip_path(out, group);
            }
            series(out, group);
        } else {
            let _ = writeln!(out, "{}", element(shape));
        }
    }
}

/// Everything but a series is one element.
fn element(shape: &Shape) -> String {
    match shape {
        Shape::Path { steps, ink } => format!(r#"<path d="{}"{}/>"#, path(steps), painted(*ink)),
        Shape::Polygon { corners, ink } => {
            let corners: Vec<String> =
                corners.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
            format!(r#"<polygon points="{}"{}/>"#, corners.join(" "), painted(*ink))
        }
        Shape::Circle { x, y, radius, ink } => {
            format!(r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius}"{}/>"#, painted(*ink))
        }
        Shape::Square { left, top, side, ink } => {
            format!(
                r#"<rect x="{left:.2}" y="{top:.2}" width="{side}" height="{side}"{}/>"#,
                painted(*ink)
            )
        }
        Shape::Frame { inside, ink } => format!("<rect {}{}/>", inside.attributes(), painted(*ink)),
        Shape::Text(text) => label(text),
        Shape::Series(_) => String::new(),
    }
}

fn clip_path(out: &mut String, group: &Group) {
    let Group { panel, clip, .. } = group;
    let _ =
        writeln!(out, r#"<clipPath id="panel-{panel}"><rect {}/></clipPath>"#, clip.attributes());
}

fn series(out: &mut String, group: &Group) {
    let name = escaped(group.name.chars());
    let _ = writeln!(out, r#"<g data-series="{name}" clip-path="url(#panel-{})">"#, group.panel);
    draw(out, &group.shapes);
    let _ = writeln!(out, "</g>");
}

fn path(steps: &[PathStep]) -> String {
    let word = |step: &PathStep| match *step {
        PathStep::Move(x, y) => format!("M{x:.2} {y:.2}"),
        PathStep::Line(x, y) => format!("L{x:.2} {y:.2}"),
        PathStep::Across(x) => format!("H{x:.2}"),
        PathStep::Up(y) => format!("V{y:.2}"),
        PathStep::By(x, y) => format!("l{x} {y}"),
        PathStep::Close => "z".to_owned(),
    };
    steps.iter().map(word).collect()
}

/// The attributes that ink a shape.
fn painted(ink: Ink) -> String {
    let attribute = |name: &str, value: Option<f64>| {
        value.map_or_else(String::new, |value| format!(r#" {name}="{value}""#))
    };
    match ink {
        Ink::Stroke { colour, width, round_joins } => {
            let joins = if round_joins { r#" stroke-linejoin="round""# } else { "" };
            format!(r#" stroke="{colour}"{}{joins}"#, attribute("stroke-width", width))
        }
        Ink::Fill { colour, opacity } => {
            format!(r#" fill="{colour}"{}"#, attribute("fill-opacity", opacity))
        }
    }
}

fn label(text: &Text) -> String {
    let Text { x, y, size, colour, .. } = text;
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => r#" text-anchor="middle""#,
        Anchor::End => r#" text-anchor="end""#,
    };
    let turn = if text.upwards {
        format!(r#" transform="rotate(-90 {x:.2} {y:.2})""#)
    } else {
        String::new()
    };
    let letters = escaped(text.letters());
    format!(
        r#"<text x="{x:.2}" y="{y:.2}" font-size="{size}"{anchor} fill="{colour}"{turn}>{letters}</text>"#
    )
}

/// Text escaped for XML, without the characters that XML cannot hold.
fn escaped(letters: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    for letter in letters.filter(|letter| !letter.is_control()) {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests;
