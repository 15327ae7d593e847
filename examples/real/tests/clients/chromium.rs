//! A page in Debian's Chromium, without a window, driven through the browser's debugging socket.

use crate::http;
use crate::process::{Example, LIMIT};
use async_tungstenite::tungstenite::{Message, WebSocket, client};
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
        Self { debugger, browser: Some(browser), profile }
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
