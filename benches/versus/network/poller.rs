//! Echo servers without a runtime: one thread over mio. They show what this kind of I/O costs at
//! least, with the same system calls per message.

use super::server::{Server, Session, Sessions, send_empty_datagram};
use super::streams::SHORT_READ_DRAINS;
use mio::net::{TcpListener, TcpStream, UdpSocket};
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::{self, JoinHandle};

const LISTENER: Token = Token(usize::MAX - 1);
/// As in the runtimes' servers.
const BUFFER: usize = 1024;

/// A thread that serves, and what tells it to end.
pub(crate) struct Served {
    address: SocketAddr,
    sessions: Option<Sessions>,
    thread: Option<JoinHandle<()>>,
}

impl Server for Served {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn settle(&self) {
        if let Some(sessions) = &self.sessions {
            sessions.settle();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        match &self.sessions {
            Some(sessions) => sessions.stop_accepting(self.address),
            None => send_empty_datagram(self.address),
        }
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

pub(crate) fn serve_streams() -> Served {
    let mut listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let poll = Poll::new().expect("a poller can be had");
    let registered = poll.registry().register(&mut listener, LISTENER, Interest::READABLE);
    registered.expect("a new socket can be registered");
    let sessions = Sessions::default();
    let server =
        Streams { poll, listener, sessions: sessions.clone(), slots: Vec::new(), free: Vec::new() };
    let thread = thread::spawn(move || server.serve().expect("no error is due"));
    Served { address, sessions: Some(sessions), thread: Some(thread) }
}

struct Streams {
    poll: Poll,
    listener: TcpListener,
    sessions: Sessions,
    slots: Vec<Option<Connection>>,
    free: Vec<usize>,
}

struct Connection {
    stream: TcpStream,
    _session: Session,
}

impl Streams {
    fn serve(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            wait(&mut self.poll, &mut events)?;
            for event in &events {
                if event.token() == LISTENER {
                    if self.accept()?.is_none() {
                        return Ok(());
                    }
                } else {
                    self.echo(event.token().0);
                }
            }
        }
    }

    /// `None` if the server is to end.
    fn accept(&mut self) -> io::Result<Option<()>> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Some(())),
                Err(error) => return Err(error),
            };
            let Some(session) = self.sessions.open() else { return Ok(None) };
            stream.set_nodelay(true)?;
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            self.poll.registry().register(&mut stream, Token(slot), Interest::READABLE)?;
            self.slots[slot] = Some(Connection { stream, _session: session });
        }
    }

    fn echo(&mut self, slot: usize) {
        let connection = self.slots[slot].as_mut();
        let over = connection.is_some_and(|connection| !connection.echo());
        if over {
            self.slots[slot] = None;
            self.free.push(slot);
        }
    }
}

impl Connection {
    /// Answers what is there. Whether the connection goes on.
    fn echo(&mut self) -> bool {
        let mut buffer = [0; BUFFER];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(length) => {
                    // The client has read everything before it sends again, so there is room.
                    if self.stream.write_all(&buffer[..length]).is_err() {
                        return false;
                    }
                    if SHORT_READ_DRAINS && length < buffer.len() {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

pub(crate) fn serve_datagrams() -> Served {
    let mut socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port is free");
    let address = socket.local_addr().expect("it is bound");
    let poll = Poll::new().expect("a poller can be had");
    let registered = poll.registry().register(&mut socket, Token(0), Interest::READABLE);
    registered.expect("a new socket can be registered");
    let thread = thread::spawn(move || echo_datagrams(poll, &socket).expect("no error is due"));
    Served { address, sessions: None, thread: Some(thread) }
}

/// Until an empty one comes.
fn echo_datagrams(mut poll: Poll, socket: &UdpSocket) -> io::Result<()> {
    let mut events = Events::with_capacity(8);
    let mut buffer = [0; BUFFER];
    loop {
        wait(&mut poll, &mut events)?;
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((0, _)) => return Ok(()),
                Ok((length, peer)) => drop(socket.send_to(&buffer[..length], peer)?),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
    }
}

fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    match poll.poll(events, None) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        result => result,
    }
}
