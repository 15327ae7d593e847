//! The listener, and the connections that are open: so many, and no more.

use super::connection;
use super::page::Page;
use crate::engine::task::JoinHandle;
use crate::io::{Async, Interest};
use crate::runtime::LocalRuntime;
use crate::task::yield_now;
use crate::time::{Duration, sleep};
use mio::net::{TcpListener, TcpStream};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// How many connections there are at most: enough for a few tabs, a scraper and a `curl`.
const MOST: usize = 16;

/// How long we wait if the system has no connection for us, for instance because the program has used up its
/// descriptors.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Listener(Async<TcpListener>);

impl Listener {
    /// In the current runtime. `listener` does not block.
    pub(super) fn new(listener: std::net::TcpListener) -> io::Result<Self> {
        Async::with_interest(TcpListener::from_std(listener), Interest::READABLE).map(Self)
    }

    /// Serves `page`, without end.
    pub(super) async fn serve(self, runtime: &LocalRuntime, page: Rc<Page>) {
        let mut open = Connections::default();
        loop {
            match self.0.async_io(Interest::READABLE, TcpListener::accept).await {
                Ok((stream, _)) => {
                    open.start(runtime, stream, page.clone());
                    // A request that has come already is answered before the next connection may take its
                    // place.
                    yield_now().await;
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

/// The oldest first.
#[derive(Default)]
struct Connections(VecDeque<Connection>);

struct Connection {
    task: JoinHandle<()>,
    /// It has brought the token, and is being answered.
    is_trusted: Rc<Cell<bool>>,
}

impl Connections {
    fn start(&mut self, runtime: &LocalRuntime, stream: TcpStream, page: Rc<Page>) {
        self.make_room();
        let is_trusted = Rc::new(Cell::new(false));
        let task = runtime.spawn_local(connection::serve(stream, page, is_trusted.clone()));
        self.0.push_back(Connection { task, is_trusted });
    }

    /// A new connection takes the place of the oldest that has not brought the token, so that a client that
    /// opens many and sends nothing keeps out only those whose head has not come yet. Rejected: not to accept
    /// while all places are taken, which lets 16 connections shut the page for seconds.
    fn make_room(&mut self) {
        self.0.retain(|connection| !connection.task.is_finished());
        if self.0.len() >= MOST {
            let oldest = self.0.iter().position(|connection| !connection.is_trusted.get());
            if let Some(connection) = self.0.remove(oldest.unwrap_or(0)) {
                connection.task.abort();
            }
        }
    }
}
