//! insight's page, open while a server is under load.

use super::lane::WrkLoaded;
use super::server::TcpServer;
use crate::contest::Lane;
use crate::page::get;
use crate::runtimes::Liten;
use liten::insight::Builder;
use liten::runtime::Handle;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the page asks: `PERIOD` in `src/insight/page/page.js`.
const PERIOD: Duration = Duration::from_secs(1);
/// What it asks for each time.
const PATHS: [&str; 2] = ["/live", "/json"];

/// A server whose page is open during each of its measurements. The page's thread counts as processor time of
/// the server, and so does the client's, which runs in this process.
pub(super) struct Watched(pub(super) WrkLoaded<TcpServer<Liten>>);

impl Lane for Watched {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let page = OpenPage::open(self.0.server().runtime().0.handle());
        let values = self.0.measure(slice);
        page.close();
        values
    }
}

struct OpenPage {
    over: Sender<()>,
    client: JoinHandle<()>,
}

impl OpenPage {
    fn open(handle: &Handle) -> Self {
        let page = Builder::new().observe(handle).serve("127.0.0.1:0").expect("a port is free");
        let (over, is_over) = mpsc::channel();
        let client = thread::spawn(move || {
            loop {
                for path in PATHS {
                    get(&page, path);
                }
                if is_over.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Self { over, client }
    }

    fn close(self) {
        drop(self.over);
        self.client.join().expect("the page answers");
    }
}
