//! The HTML report in a real browser: the browser reports no error and sends no request to a
//! server, and charts are drawn and can be used.
//!
//! `BTU_REPORT_PICTURES=DIR` writes screenshots there, which docs/images has two of.

mod devtools;

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use btu_report::html::html;
use serde_json::{Value, json};

use crate::run::SampleRun;
use devtools::Browser;

/// True when every chart is drawn.
const READY: &str = "document.documentElement.dataset.charts";

#[test]
fn the_report_works_in_a_browser() {
    let Some(browser) = Browser::of_the_lab() else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    std::fs::write(&file, html(&SampleRun::new().page())).unwrap();
    browser.size(1100, 1400);
    browser.prefer("light");
    let address = format!("file://{}", file.display());
    browser.load(&address);
    browser.wait(READY);
    nothing_complains(&browser);
    nobody_is_asked(&browser, &address);
    charts_are_drawn(&browser);
    marks_can_be_read(&browser);
    hovering_tells_values(&browser);
    series_can_be_hidden(&browser);
    zooming_can_be_undone(&browser);
    pictures_can_be_kept(&browser);
    picture(&browser, "report");
    dark_is_dark(&browser);
    picture(&browser, "report-dark");
    paper_is_light_and_has_pages(&browser, directory.path());
    a_phone_shows_it_whole(&browser);
    picture(&browser, "report-phone");
    nothing_complains(&browser);
    without_its_script_the_tables_say_it(&browser, &address);
}

fn nothing_complains(browser: &Browser) {
    for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled"] {
        assert_eq!(browser.events(method), Vec::<Value>::new(), "{method}");
    }
    let loud = browser.events("Log.entryAdded");
    assert!(loud.iter().all(|entry| entry["entry"]["level"] != json!("error")), "{loud:?}");
}

/// The file itself, and its embedded data.
fn nobody_is_asked(browser: &Browser, own: &str) {
    let requests = browser.events("Network.requestWillBeSent");
    assert!(!requests.is_empty(), "the page itself is one");
    for request in requests {
        let url = request["request"]["url"].as_str().unwrap_or_default();
        assert!(url == own || url.starts_with("data:") || url.starts_with("blob:"), "{url}");
    }
}

fn count(browser: &Browser, expression: &str) -> u64 {
    browser.value(expression).as_u64().unwrap_or_else(|| panic!("{expression} is no count"))
}

fn charts_are_drawn(browser: &Browser) {
    let figures = count(browser, "document.querySelectorAll('figure').length");
    assert!(figures >= 10, "{figures}");
    let empty = browser.value(
        "[...document.querySelectorAll('figure')].filter((one) => !one.querySelector('svg .points path, svg .js-line')).map((one) => one.id)",
    );
    assert_eq!(empty, json!([]), "figures without marks");
    let open = count(
        browser,
        "[...document.querySelectorAll('figure details')].filter((one) => one.open).length",
    );
    assert_eq!(open, 0, "tables stand back when charts are drawn");
}

/// The middle of an element in the window, after scrolling there.
fn middle(browser: &Browser, selector: &str) -> (f64, f64) {
    let place = browser.value(&format!(
        "(() => {{
            const one = document.querySelector({});
            one.scrollIntoView({{ block: 'center', behavior: 'instant' }});
            const box = one.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()",
        json!(selector)
    ));
    (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
}

/// Moves, presses or releases; while dragging the button is down.
fn mouse(browser: &Browser, kind: &str, (x, y): (f64, f64)) {
    let (kind, button, buttons) = match kind {
        "mouseDragged" => ("mouseMoved", "left", 1),
        "mouseMoved" => ("mouseMoved", "none", 0),
        "mousePressed" => ("mousePressed", "left", 1),
        other => (other, "left", 0),
    };
    let parameters = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
    browser.call("Input.dispatchMouseEvent", parameters);
}

fn click(browser: &Browser, selector: &str) {
    let place = middle(browser, selector);
    for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
        mouse(browser, kind, place);
    }
}

/// Waits until a condition holds, because the library draws asynchronously.
fn eventually(browser: &Browser, condition: &str) {
    let expression = format!(
        "new Promise((done) => {{
            const begun = Date.now();
            const look = () => ({condition}) || Date.now() - begun > 10000 ? done(Boolean({condition})) : setTimeout(look, 30);
            look();
        }})"
    );
    assert_eq!(browser.value(&expression), json!(true), "{condition}");
}

fn hovering_tells_values(browser: &Browser) {
    let place = middle(browser, "#btu-by-message-size .points path");
    mouse(browser, "mouseMoved", (place.0 - 40.0, place.1 - 40.0));
    mouse(browser, "mouseMoved", place);
    eventually(
        browser,
        "document.querySelector('#btu-by-message-size .hoverlayer')?.textContent.includes('Mb/s')",
    );
}

fn series_can_be_hidden(browser: &Browser) {
    let traces = "document.querySelectorAll('#btu-by-message-size .scatterlayer .trace').length";
    let before = count(browser, traces);
    let toggle = "#btu-by-message-size .tools button";
    click(browser, toggle);
    eventually(browser, &format!("{traces} === {}", before - 1));
    assert_eq!(
        browser.value(&format!("document.querySelector('{toggle}').getAttribute('aria-pressed')")),
        json!("false")
    );
    // And by the keyboard.
    browser.value(&format!("document.querySelector('{toggle}').focus()"));
    browser.press("Enter");
    eventually(browser, &format!("{traces} === {before}"));
}

fn zooming_can_be_undone(browser: &Browser) {
    let range =
        "JSON.stringify(document.querySelector('#btu-by-message-size .chart').layout.yaxis.range)";
    let before = browser.value(range);
    let (x, y) = middle(browser, "#btu-by-message-size .nsewdrag");
    mouse(browser, "mousePressed", (x - 60.0, y - 60.0));
    for step in 1..=6 {
        mouse(
            browser,
            "mouseDragged",
            (x - 60.0 + f64::from(step) * 20.0, y - 60.0 + f64::from(step) * 20.0),
        );
    }
    mouse(browser, "mouseReleased", (x + 60.0, y + 60.0));
    eventually(browser, &format!("{range} !== {}", json!(before)));
    browser.value(
        "[...document.querySelectorAll('#btu-by-message-size .tools button')].find((one) => one.textContent === 'Whole range').click()",
    );
    eventually(browser, &format!("{range} === {}", json!(before)));
}

/// Links are caught instead of followed: a download needs no file here.
fn pictures_can_be_kept(browser: &Browser) {
    browser.value("HTMLAnchorElement.prototype.click = function () { window.kept = [this.download, this.href.slice(0, 18), this.href.length]; }");
    for (name, start) in [("svg", "data:image/svg+xml"), ("png", "data:image/png;bas")] {
        browser.value("window.kept = null");
        let press = format!(
            "[...document.querySelectorAll('#penalties .tools button')].find((one) => one.textContent === 'Save {}').click()",
            name.to_uppercase()
        );
        browser.value(&press);
        eventually(browser, "window.kept");
        let kept = browser.value("window.kept");
        assert_eq!((&kept[0], &kept[1]), (&json!(format!("penalties.{name}")), &json!(start)));
        assert!(kept[2].as_u64().unwrap() > 5000, "{kept}");
    }
}

/// Brightness of a colour as the browser writes it, 0 to 255.
fn brightness(browser: &Browser, expression: &str) -> f64 {
    let colour = browser.value(expression);
    let colour = colour.as_str().unwrap_or_default();
    let channels: Vec<f64> = colour
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect();
    assert!(channels.len() >= 3, "{colour}");
    channels[..3].iter().sum::<f64>() / 3.0
}

const GROUND: &str = "getComputedStyle(document.body).backgroundColor";
const INK: &str = "getComputedStyle(document.querySelector('.chart .xtick text')).fill";

fn dark_is_dark(browser: &Browser) {
    assert!(brightness(browser, GROUND) > 200.0);
    browser.prefer("dark");
    eventually(browser, &format!("{INK} !== 'rgb(27, 31, 36)'"));
    assert!(brightness(browser, GROUND) < 60.0);
    assert!(brightness(browser, INK) > 180.0, "charts follow the theme");
}

/// The browser makes a PDF while dark is on: its ink must be dark all the same, and every table
/// there.
fn paper_is_light_and_has_pages(browser: &Browser, directory: &Path) {
    let printed = browser
        .call("Page.printToPDF", json!({ "preferCSSPageSize": true, "printBackground": true }));
    let bytes = STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
    let path = directory.join("report.pdf");
    std::fs::write(&path, &bytes).unwrap();
    let pages = String::from_utf8_lossy(&bytes).matches("/Type /Page\n").count();
    assert!((5..60).contains(&pages), "{pages} pages");
    // The page's preparation for printing can be observed only without printing.
    browser.value("dispatchEvent(new Event('beforeprint'))");
    assert!(brightness(browser, GROUND) > 200.0);
    assert_eq!(
        count(
            browser,
            "[...document.querySelectorAll('figure details')].filter((one) => !one.open).length"
        ),
        0
    );
    let unfolded = "document.querySelectorAll('details.record[open]').length";
    assert!(count(browser, "document.querySelectorAll('details.record').length") > 0);
    assert_eq!(count(browser, unfolded), 0, "the settings stay folded");
    a_sheet_shows_charts_and_their_legends(browser);
    browser.value("dispatchEvent(new Event('afterprint'))");
    assert!(brightness(browser, GROUND) < 60.0);
}

/// Prepared for printing: each chart fits into the width of a sheet and lies on nothing, and its
/// series are named, but there are no buttons for a mouse.
fn a_sheet_shows_charts_and_their_legends(browser: &Browser) {
    let media = |media: &str| {
        let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
        browser.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": dark }));
    };
    media("print");
    let wrong = browser.value(
        "[...document.querySelectorAll('figure')].filter((figure) => {
            const drawn = figure.querySelector('.main-svg').getBoundingClientRect();
            const table = figure.querySelector('details').getBoundingClientRect();
            const names = [...figure.querySelectorAll('.tools button')].filter((one) => one.offsetParent);
            return drawn.width > 681 || drawn.height > 641 || drawn.bottom > table.top + 1 || !names.length || names.some((one) => !one.querySelector('.key'));
        }).map((figure) => figure.id)",
    );
    assert_eq!(wrong, json!([]), "figures on paper");
    // What is above a chart goes with it to the next sheet, in whole.
    let left_behind = browser.value(
        "[...document.querySelectorAll('section h2, section h2 + p, figcaption, .tools')].filter((one) => {
            const style = getComputedStyle(one);
            return style.breakAfter !== 'avoid' || (one.matches('p, h2, .tools') && style.breakInside !== 'avoid');
        }).map((one) => one.textContent)",
    );
    assert_eq!(left_behind, json!([]), "headings without their charts");
    let torn = "[...document.querySelectorAll('.chart')].filter((one) => getComputedStyle(one).breakInside !== 'avoid').length";
    assert_eq!(count(browser, torn), 0, "charts on two sheets");
    media("");
}

/// Numbers at the marks of an axis do not lie on each other.
fn marks_can_be_read(browser: &Browser) {
    let overlapping = browser.value(
        "[...document.querySelectorAll('.chart')].flatMap((chart) => ['.ytick', '.y2tick', '.xtick', '.x2tick'].flatMap((axis) => {
            const boxes = [...chart.querySelectorAll(`${axis} text`)].filter((one) => /^[0-9.,]+$/.test(one.textContent)).map((one) => [one.textContent, one.getBoundingClientRect()]);
            const lie = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
            return boxes.flatMap(([text, box], place) => boxes.slice(place + 1).filter(([, other]) => lie(box, other)).map(([other]) => `${chart.parentElement.id}: ${text} on ${other}`));
        }))",
    );
    assert_eq!(overlapping, json!([]), "numbers on numbers");
}

/// At a phone's width nothing scrolls sideways, no word of a table is broken into letters, and no
/// title overlaps another.
fn a_phone_shows_it_whole(browser: &Browser) {
    browser.size(390, 844);
    eventually(browser, "document.documentElement.scrollWidth <= 390");
    eventually(browser, "document.querySelector('#goodput-1 .chart').clientHeight > 600");
    // A label is as wide as its longest word at least: where it has more lines than words, a word
    // was broken.
    let broken = browser.value(
        "(() => {
            document.querySelectorAll('details').forEach((one) => { one.open = true; });
            const lines = (cell) => { const all = document.createRange(); all.selectNodeContents(cell); return new Set([...all.getClientRects()].map((box) => Math.round(box.top))).size; };
            return [...document.querySelectorAll('th')].filter((cell) => lines(cell) > cell.textContent.trim().split(/[\\s._,\\/-]+/).length).map((cell) => cell.textContent);
        })()",
    );
    assert_eq!(broken, json!([]), "words broken into letters");
    let hidden = browser.value(
        "[...document.querySelectorAll('#environment tbody tr')].filter((row) => row.cells[1].getBoundingClientRect().left > 300).map((row) => row.textContent)",
    );
    assert_eq!(hidden, json!([]), "values beyond the edge");
    let overlapping = browser.value(
        "[...document.querySelectorAll('.chart')].flatMap((chart) => {
            const boxes = [...chart.querySelectorAll('.annotation-text, .xtitle, .ytitle, .x2title, .y2title')].map((one) => [one.textContent, one.getBoundingClientRect()]);
            const lie = ([, a], [, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
            return boxes.flatMap((one, place) => boxes.slice(place + 1).filter((other) => lie(one, other)).map((other) => `${one[0]} on ${other[0]}`));
        })",
    );
    assert_eq!(overlapping, json!([]), "titles on titles");
}

fn without_its_script_the_tables_say_it(browser: &Browser, address: &str) {
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.load(address);
    assert_eq!(count(browser, "document.querySelectorAll('figure details:not([open])').length"), 0);
    let shown =
        "[...document.querySelectorAll('.chart, .tools')].filter((one) => one.offsetParent).length";
    assert_eq!(count(browser, shown), 0, "no holes where charts would be");
}

/// Writes screenshots of the first screen and of the whole page to `BTU_REPORT_PICTURES`, where it
/// is set.
fn picture(browser: &Browser, name: &str) {
    let Some(directory) = std::env::var_os("BTU_REPORT_PICTURES").map(PathBuf::from) else {
        return;
    };
    browser.value("scrollTo(0, 0)");
    std::fs::write(directory.join(format!("{name}.png")), browser.screenshot(false)).unwrap();
    std::fs::write(directory.join(format!("{name}-whole.png")), browser.screenshot(true)).unwrap();
}
