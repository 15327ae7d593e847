//! A page in Debian's Chromium, without a window, driven through the browser's debugging socket.

use crate::http;
use crate::process::{Example, LIMIT};
use async_tungstenite::tungstenite::{Message, WebSocket, client};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A browser of its own with one page.
pub(crate) struct Page {
    debugger: WebSocket<TcpStream>,
    browser: Option<Example>,
    profile: PathBuf,
    /// What the browser has told without being asked: its events.
    events: Vec<Value>,
}

impl Page {
    /// Starts a browser and opens `url` in it.
    pub(crate) fn open(url: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let profile = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("chromium-{}-{number}", process::id()));
        let browser = Example::start(
            "chromium",
            // No sandbox, because it wants rights that a container's root has not.
            Command::new("chromium")
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
                .args(["--no-first-run", "--remote-debugging-port=0"])
                .arg(format!("--user-data-dir={}", profile.display()))
                .arg("about:blank"),
        );
        let deadline = Instant::now() + LIMIT;
        let address = loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let line = browser.errors.recv_timeout(rest).expect("it tells its debugging address");
            if let Some(rest) = line.strip_prefix("DevTools listening on ws://") {
                break rest.split_once('/').expect("a path follows").0.to_owned();
            }
        };
        let opened = http::curl(&["--request", "PUT", &format!("http://{address}/json/new?{url}")]);
        let target = opened.split_once("\"webSocketDebuggerUrl\": \"").expect("the page is open").1;
        let target = target.split_once('"').expect("the address ends").0;
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (debugger, _) = client(target, stream).unwrap();
        Self { debugger, browser: Some(browser), profile, events: Vec::new() }
    }

    /// Runs a script in the page and returns the answer, as the browser writes it: JSON. The script may
    /// contain no double quotes.
    pub(crate) fn run(&mut self, script: &str) -> String {
        assert!(!script.contains('"'), "{script}");
        let request = format!(
            r#"{{"id":1,"method":"Runtime.evaluate","params":{{"expression":"{script}"}}}}"#
        );
        self.debugger.send(Message::text(request)).unwrap();
        self.debugger.read().unwrap().into_text().unwrap().as_str().to_owned()
    }

    /// Calls a method of the browser's, and returns its result. Events that come before it are kept.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let request = json!({ "id": 1, "method": method, "params": parameters });
        self.debugger.send(Message::text(request.to_string())).unwrap();
        loop {
            let message = self.debugger.read().unwrap().into_text().unwrap();
            let mut message: Value = serde_json::from_str(message.as_str()).unwrap();
            if message["id"] == 1 {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// From now on the browser tells what is written to the console, and what fails.
    pub(crate) fn listen(&mut self) {
        for domain in ["Runtime", "Log", "Page"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// What the browser has complained about: errors, warnings and exceptions, since it was asked last.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // So that all events have come that were under way.
        self.evaluate("0");
        let is_one = |event: &Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "verbose",
            _ => false,
        };
        let events = std::mem::take(&mut self.events);
        events.iter().filter(|event| is_one(event)).map(Value::to_string).collect()
    }

    /// Opens another address, and waits until it is there.
    pub(crate) fn go_to(&mut self, url: &str) {
        let gone = self.call("Page.navigate", json!({ "url": url }));
        assert!(gone["errorText"].is_null(), "{gone}");
        // A page that is hidden may stop to ask.
        self.call("Page.bringToFront", json!({}));
        let deadline = Instant::now() + LIMIT;
        let ready = format!("location.href === '{url}' && document.readyState");
        while self.evaluate(&ready) != "complete" {
            assert!(Instant::now() < deadline, "{url} is never there");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of a script in the page.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        let parameters = json!({ "expression": script, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until the value of a script is `true`. Any other value says how far it has come.
    #[track_caller]
    pub(crate) fn until(&mut self, script: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let value = self.evaluate(script);
            if value == true {
                return;
            }
            assert!(Instant::now() < deadline, "{script}: still {value}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types a text where the page has its focus.
    pub(crate) fn insert(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// What the mouse does at a place of the window, as the browser calls it: `mouseMoved`, `mousePressed`
    /// or `mouseReleased`, these with the left button.
    pub(crate) fn mouse(&mut self, event: &str, [x, y]: [f64; 2]) {
        let button = if event == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": event, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Where the middle of an element is in the window.
    pub(crate) fn middle_of(&mut self, element: &str) -> [f64; 2] {
        let script = format!(
            "(() => {{ const box = {element}.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let middle = self.evaluate(&script);
        [0, 1].map(|at| middle[at].as_f64().expect("it is a number"))
    }

    /// Returns the folder in which the browser keeps, from now on, the files that the page gives.
    pub(crate) fn keep_files(&mut self) -> PathBuf {
        let folder = self.profile.join("files");
        let way = json!({ "behavior": "allow", "downloadPath": folder });
        self.call("Browser.setDownloadBehavior", way);
        folder
    }

    /// From now on the window has this size.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// A picture of what can be seen of the page, as PNG.
    pub(crate) fn screenshot(&mut self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        base64(picture["data"].as_str().expect("it is text"))
    }

    /// Waits until the text of the page contains `expected`.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &str) {
        self.expect_of("document.body.innerText", expected);
    }

    /// Waits until the page is there with its script, which comes after what it acts on.
    #[track_caller]
    pub(crate) fn expect_loaded(&mut self) {
        self.expect_of("document.readyState", "complete");
    }

    #[track_caller]
    fn expect_of(&mut self, script: &str, expected: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let text = self.run(script);
            if text.contains(expected) {
                return;
            }
            assert!(Instant::now() < deadline, "{expected:?} never came: {text}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Asked to end, because killing would leave its children, which go on writing to the profile. Errors
        // mean that it has ended already.
        let _ = self.debugger.send(Message::text(r#"{"id":2,"method":"Browser.close"}"#));
        if let Some(browser) = self.browser.take() {
            // Its output is at the end when the last of them has gone.
            while browser.line_within(LIMIT).is_some() {}
        }
        // A helper of the browser may still write there: what it leaves lies in cargo's folder for that.
        let _ = fs::remove_dir_all(&self.profile);
    }
}

/// The bytes of a text in base64.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().take_while(|&byte| byte != b'=');
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        let value = DIGITS.iter().position(|&other| other == digit).expect("it is a digit");
        (bits, count) = (bits << 6 | value as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
