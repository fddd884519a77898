//! A headless Chromium and a few messages of its `DevTools` protocol, sent through a pair of pipes:
//! no port is opened, and the browser ends with this process.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// No network, no first-run pages, nothing in the background.
const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run \
                       --disable-background-networking --disable-component-update --disable-sync --disable-extensions \
                       --no-default-browser-check --hide-scrollbars --remote-debugging-pipe";

/// A running browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: RefCell<ChildStdin>,
    answers: RefCell<BufReader<ChildStdout>>,
    next: RefCell<u64>,
    session: String,
    /// The events that arrived without a request.
    events: RefCell<Vec<Value>>,
    _home: tempfile::TempDir,
}

impl Browser {
    /// Starts it. `None` where `scripts/test` has run the test already, since its result does not depend on
    /// root; and, loudly, without Chromium, which fails if a lab is required.
    pub(crate) fn of_the_lab() -> Option<Self> {
        if std::env::var_os("BTU_TESTED_AS").is_some() {
            return None;
        }
        let browser = Self::start();
        if browser.is_none() {
            assert!(
                std::env::var("BTU_LAB").as_deref() != Ok("required"),
                "LAB REQUIRED but there is no chromium"
            );
            eprintln!("LAB SKIPPED: there is no chromium to look at pages with");
        }
        browser
    }

    /// `None` if Chromium is not installed.
    fn start() -> Option<Self> {
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|program| is_there(program))?;
        let home = tempfile::tempdir().expect("a temporary directory");
        // The browser reads commands from descriptor 3 and answers on 4.
        let script = format!(
            "exec {program} {OPTIONS} --user-data-dir=\"$HOME/profile\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for name in
            ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR"]
        {
            command.env(name, home.path());
        }
        let mut child = command.spawn().expect("a shell");
        let commands = RefCell::new(child.stdin.take().expect("asked for"));
        let answers = RefCell::new(BufReader::new(child.stdout.take().expect("asked for")));
        let events = RefCell::new(Vec::new());
        let mut browser = Self {
            child,
            commands,
            answers,
            next: RefCell::new(0),
            session: String::new(),
            events,
            _home: home,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = text(&browser.call("Target.attachToTarget", target)["sessionId"]);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command and waits for its answer; earlier events are kept.
    pub(crate) fn call(&self, method: &str, parameters: Value) -> Value {
        let id = self.next.replace_with(|next| *next + 1) + 1;
        let mut message = json!({ "id": id, "method": method });
        message["params"] = parameters;
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands
            .borrow_mut()
            .write_all(&bytes)
            .unwrap_or_else(|error| panic!("{method}: {error}"));
        loop {
            let answer = self.read(method);
            if answer["id"] == json!(id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.borrow_mut().push(answer);
        }
    }

    fn read(&self, waiting_for: &str) -> Value {
        let mut bytes = Vec::new();
        self.answers.borrow_mut().read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser ended while {waiting_for} was under way");
        serde_json::from_slice(&bytes).expect("the browser speaks JSON")
    }

    /// Waits until `ready` holds in the page.
    pub(crate) fn wait(&self, ready: &str) {
        self.value(&format!(
            "new Promise((done, failed) => {{
                const begun = Date.now();
                const look = () => {{
                    if ({ready}) done(true);
                    else if (Date.now() - begun > 60000) failed(new Error('not ready: ' + document.body.innerText.slice(0, 200)));
                    else setTimeout(look, 50);
                }};
                look();
            }})"
        ));
    }

    /// Opens an address, and waits until the browser has read what is there. Scripts may still be
    /// at work, or switched off.
    pub(crate) fn load(&self, url: &str) {
        self.loaded_by(|| drop(self.call("Page.navigate", json!({ "url": url }))));
    }

    /// Waits until the browser has read the page that `ask` asks for.
    pub(crate) fn loaded_by(&self, ask: impl FnOnce()) {
        self.events.borrow_mut().clear();
        ask();
        while self.events("Page.loadEventFired").is_empty() {
            let event = self.read("Page.loadEventFired");
            self.events.borrow_mut().push(event);
        }
    }

    /// The value of an expression or of its promise.
    pub(crate) fn value(&self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// The events of this name.
    pub(crate) fn events(&self, method: &str) -> Vec<Value> {
        let events = self.events.borrow();
        events
            .iter()
            .filter(|event| event["method"] == json!(method))
            .map(|event| event["params"].clone())
            .collect()
    }

    /// The size of the window.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Presses and releases Enter or Tab.
    pub(crate) fn press(&self, key: &str) {
        let (code, text) = if key == "Enter" { (13, "\r") } else { (9, "") };
        for kind in ["keyDown", "keyUp"] {
            let key = json!({ "type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", key);
        }
    }

    /// A picture of the window, or of the whole page, as PNG.
    pub(crate) fn screenshot(&self, whole: bool) -> Vec<u8> {
        let asked = json!({ "format": "png", "captureBeyondViewport": whole });
        let shot = self.call("Page.captureScreenshot", asked);
        STANDARD.decode(text(&shot["data"])).expect("base64")
    }

    /// `light` or `dark`.
    pub(crate) fn prefer(&self, scheme: &str) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell has become the browser's script, which may have children: a request to the
        // browser ends them all.
        let bye = json!({ "id": 0, "method": "Browser.close" }).to_string() + "\0";
        let asked = self.commands.borrow_mut().write_all(bye.as_bytes());
        if asked.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text")).to_owned()
}
