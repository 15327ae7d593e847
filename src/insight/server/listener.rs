//! The listener, and the connections that are open: so many, and no more.

use super::connection;
use super::page::Page;
use crate::engine::task::JoinHandle;
use crate::io::{Async, Interest};
use crate::observe::spare_descriptors::{SpareDescriptors, with_spare};
use crate::runtime::LocalRuntime;
use crate::task::yield_now;
use crate::time::{Duration, sleep, timeout};
use mio::net::{TcpListener, TcpStream};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// How many connections there are at most: enough for a few tabs, a scraper and a `curl`.
const MOST: usize = 16;

/// How many there are at most while descriptors are lacking: as many as are kept for them.
const MOST_SPARE: usize = 2;

/// How long we wait if the system has no connection for us, or has had one for a spare descriptor alone. So a
/// client that has connected has the time to send its request before another one takes its place.
const PAUSE: Duration = Duration::from_millis(20);

/// How often we ask for descriptors that are missing.
const REFILL: Duration = Duration::from_millis(100);

pub(super) struct Listener {
    socket: Async<TcpListener>,
    spare: SpareDescriptors,
}

impl Listener {
    /// In the current runtime. `listener` does not block.
    pub(super) fn new(listener: std::net::TcpListener) -> io::Result<Self> {
        let socket = Async::with_interest(TcpListener::from_std(listener), Interest::READABLE)?;
        Ok(Self { socket, spare: SpareDescriptors::keep() })
    }

    /// Serves `page`, without end.
    pub(super) async fn serve(self, runtime: &LocalRuntime, page: Rc<Page>) {
        let mut open = Connections::default();
        loop {
            // A descriptor that is kept for the rest is taken for a connection if there is no other one.
            let left = usize::from(open.is_any());
            let accepted = if self.spare.refill() {
                self.accept(left).await
            } else {
                let Ok(accepted) = timeout(REFILL, self.accept(left)).await else { continue };
                accepted
            };
            match accepted {
                Ok((stream, false)) => {
                    open.make_room();
                    open.start(runtime, stream, page.clone());
                    // A request that has come already is answered before the next connection may take its
                    // place.
                    yield_now().await;
                }
                Ok((stream, true)) => {
                    open.make_spare_room();
                    open.start(runtime, stream, page.clone());
                    sleep(PAUSE).await;
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Waits for a connection; says whether it has a spare descriptor. Of these, `left` are not taken.
    ///
    /// While descriptors are lacking the system says so even if no connection waits, so that only the second
    /// try, with a spare one, tells whether one does.
    async fn accept(&self, left: usize) -> io::Result<(TcpStream, bool)> {
        let accept = |socket: &TcpListener| with_spare(left, || socket.accept());
        let ((stream, _), is_spare) = self.socket.async_io(Interest::READABLE, accept).await?;
        Ok((stream, is_spare))
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
        let is_trusted = Rc::new(Cell::new(false));
        let task = runtime.spawn_local(connection::serve(stream, page, is_trusted.clone()));
        self.0.push_back(Connection { task, is_trusted });
    }

    fn is_any(&mut self) -> bool {
        self.0.retain(|connection| !connection.task.is_finished());
        !self.0.is_empty()
    }

    /// A new connection takes the place of the oldest that has not brought the token, so that a client that
    /// opens many and sends nothing keeps out only those whose head has not come yet. Rejected: not to accept
    /// while all places are taken, which lets 16 connections shut the page for seconds.
    fn make_room(&mut self) {
        if self.is_any() && self.0.len() >= MOST {
            self.end(self.oldest_untrusted().unwrap_or(0));
        }
    }

    /// As [`make_room`](Self::make_room), while descriptors are lacking. One that is being answered is not
    /// ended for that: it gives its descriptor back in a moment.
    fn make_spare_room(&mut self) {
        if self.is_any() && self.0.len() >= MOST_SPARE {
            self.oldest_untrusted().into_iter().for_each(|oldest| self.end(oldest));
        }
    }

    fn oldest_untrusted(&self) -> Option<usize> {
        self.0.iter().position(|connection| !connection.is_trusted.get())
    }

    fn end(&mut self, place: usize) {
        if let Some(connection) = self.0.remove(place) {
            connection.task.abort();
        }
    }
}
