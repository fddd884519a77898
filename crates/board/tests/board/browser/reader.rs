//! A reader of the board: a browser, its keyboard, and what it must never report.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::devtools::Browser;
use crate::support::Server;

/// True when every chart of a report is drawn.
const CHARTS: &str = "document.documentElement.dataset.charts";

/// The texts whose contrast with their ground is below 4.5 (WCAG 2.2, 1.4.3).
const PALE: &str = "(() => {
    const channels = (colour) => colour.match(/[0-9.]+/g).map(Number);
    const light = (colour) => {
        const [red, green, blue] = channels(colour).map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    const ground = (one) => {
        const own = getComputedStyle(one).backgroundColor;
        return channels(own)[3] === 0 ? ground(one.parentElement) : own;
    };
    const hasText = (one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    return [...document.querySelectorAll('body :not(svg *)')].filter(hasText).filter((one) => {
        const [ink, paper] = [light(getComputedStyle(one).color), light(ground(one))];
        return Math.max(ink, paper) / Math.min(ink, paper) < 4.5;
    }).map((one) => one.textContent.slice(0, 40));
})()";

pub(super) struct Reader<'a> {
    pub(super) browser: Browser,
    pub(super) url: &'a str,
    /// Where the files are that it keeps.
    pub(super) downloads: TempDir,
}

impl<'a> Reader<'a> {
    pub(super) fn new(browser: Browser, server: &'a Server) -> Self {
        let downloads = tempfile::tempdir().expect("a directory");
        // What the browser's own checks of forms and policies find.
        browser.call("Audits.enable", json!({}));
        let kept = json!({ "behavior": "allow", "downloadPath": downloads.path() });
        browser.call("Browser.setDownloadBehavior", kept);
        browser.prefer("light");
        browser.size(1200, 900);
        Self { browser, url: &server.url, downloads }
    }

    /// Opens an address of the board; its status.
    pub(super) fn go(&self, address: &str) -> u64 {
        self.browser.load(&format!("{}{address}", self.url));
        self.nothing_is_wrong()
    }

    /// Sends a form by the keyboard; the status of the page that follows.
    pub(super) fn fill(&self, form: &str, fields: &[(&str, &str)]) -> u64 {
        let summary = format!("document.querySelector({}).closest('details')", json!(form));
        if self.browser.value(&format!("{summary}?.open")) == json!(false) {
            self.browser.value(&format!("{summary}.querySelector('summary').focus()"));
            self.browser.press("Enter");
        }
        for (name, text) in fields {
            self.focus(&format!("{form} [name={name}]"));
            self.browser.call("Input.insertText", json!({ "text": text }));
        }
        self.browser.loaded_by(|| self.enter(&format!("{form} button")));
        self.nothing_is_wrong()
    }

    /// Presses a button by the keyboard.
    pub(super) fn enter(&self, button: &str) {
        self.focus(button);
        self.browser.press("Enter");
    }

    fn focus(&self, selector: &str) {
        let one = format!("document.querySelector({})", json!(selector));
        self.browser.value(&format!("{one}.focus()"));
        let has = self.browser.value(&format!("document.activeElement === {one}"));
        assert_eq!(has, json!(true), "{selector} takes no focus");
    }

    pub(super) fn text_of(&self, expression: &str) -> String {
        let value = self.browser.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
    }

    /// The reader sees this.
    pub(super) fn says(&self, words: &str) {
        let text = self.text_of("document.body.innerText");
        assert!(text.contains(words), "{words}: {text}");
    }

    /// The status of the page that is open, about which the browser reports nothing.
    fn nothing_is_wrong(&self) -> u64 {
        let answers = self.browser.events("Network.responseReceived");
        let page = answers.iter().rfind(|answer| answer["type"] == json!("Document"));
        let status = page.and_then(|page| page["response"]["status"].as_u64()).expect("a page");
        for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Audits.issueAdded"] {
            assert_eq!(self.browser.events(method), Vec::<Value>::new(), "{method}");
        }
        // A page that says what went wrong has such a status, which the browser reports.
        let is_status = |entry: &Value| status >= 400 && entry["source"] == json!("network");
        for event in self.browser.events("Log.entryAdded") {
            assert!(is_status(&event["entry"]), "{event}");
        }
        self.no_request_goes_elsewhere();
        status
    }

    fn no_request_goes_elsewhere(&self) {
        for request in self.browser.events("Network.requestWillBeSent") {
            let url = request["request"]["url"].as_str().unwrap_or_default();
            let own = url.strip_prefix(self.url).is_some_and(|rest| rest.starts_with('/'));
            assert!(own || url.starts_with("data:") || url.starts_with("blob:"), "{url}");
        }
    }

    /// The page that is open is a report with charts, which its own scripts drew in a sandbox.
    pub(super) fn has_charts(&self) {
        self.browser.wait(CHARTS);
        let drawn =
            "document.querySelectorAll('figure svg .points path, figure svg .js-line').length";
        assert!(self.browser.value(drawn).as_u64().is_some_and(|drawn| drawn > 0), "no marks");
        assert_eq!(self.browser.value("window.origin"), json!("null"), "an origin of its own");
        self.nothing_is_wrong();
    }

    /// A page of the board without faults that a reader would meet, in all widths and colours.
    pub(super) fn can_use_it(&self, what: &str) {
        assert_eq!(self.browser.value("document.scripts.length"), json!(0), "{what}");
        let unlabelled = self.browser.value(
            "[...document.querySelectorAll('input:not([type=hidden]), textarea')].filter((one) => !one.labels.length).map((one) => one.name)",
        );
        assert_eq!(unlabelled, json!([]), "{what}: fields without a label");
        let twice = self.browser.value(
            "[...document.querySelectorAll('[id]')].map((one) => one.id).filter((id, place, all) => all.indexOf(id) !== place)",
        );
        assert_eq!(twice, json!([]), "{what}: two elements of one name");
        assert_eq!(
            self.browser.value("document.querySelectorAll('h1').length"),
            json!(1),
            "{what}"
        );
        for scheme in ["dark", "light"] {
            self.browser.prefer(scheme);
            assert_eq!(self.browser.value(PALE), json!([]), "{what}: pale in {scheme} colours");
        }
        self.browser.size(390, 844);
        let width = self.browser.value("document.documentElement.scrollWidth");
        assert!(width.as_u64().is_some_and(|width| width <= 390), "{what}: {width} px");
        self.browser.size(1200, 900);
    }
}
