//! A chat over WebSocket, with the page to chat from on the same port.
//!
//! ```sh
//! cargo run -p real --example ws_chat        # [ADDRESS [SECONDS]], by default 127.0.0.1:3001 and 30
//! chromium http://127.0.0.1:3001/            # in two windows, or with any other browser
//! ```
//!
//! The first message of a client is its name, each later one goes to all of them. A client that says nothing
//! for SECONDS is asked by a ping whether it is still there, and dropped if it stays silent as long again.
//!
//! No client holds up the others: each has a task and a queue of its own, and a queue that overflows costs
//! its client the seat, told by a close frame. Therefore no client may fill the queues of others faster than
//! these can be emptied: a client that says much at once is read at a bounded pace, and the rest waits in its
//! socket.

use async_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use async_tungstenite::tungstenite::http::StatusCode;
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use async_tungstenite::tungstenite::{Bytes, Error, Message, Utf8Bytes, error::ProtocolError};
use async_tungstenite::{WebSocketStream, accept_hdr_async_with_config};
use liten::future::StreamExt;
use liten::io::{self, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::select;
use liten::sync::mpsc::{Receiver, Sender, channel};
use liten::time::{Duration, Instant, interval_at, sleep, timeout};
use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fmt};

const PAGE: &str = include_str!("ws_chat.html");

/// The longest message, in bytes, and the longest frame.
const MESSAGE: usize = 16 * 1024;
/// The longest name, in characters.
const NAME: usize = 32;
/// How many messages may wait for one client.
const QUEUE: usize = 64;
/// How many messages of one client are read without a pause: much less than a queue holds.
const BURST: u32 = 16;
/// How long the pause is, per message, of a client that goes on like that.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a client may take for one step: the handshake, its name, taking a message, parting.
const PATIENCE: Duration = Duration::from_secs(10);

/// The socket borrows the stream, which is still needed when the handshake fails.
type Socket<'a> = WebSocketStream<&'a TcpStream>;

#[liten::main]
async fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:3001".to_owned());
    let seconds = arguments.next().map_or(Ok(30), |text| text.parse());
    let Ok(seconds @ 1..) = seconds else {
        return Err(io::Error::other("usage: ws_chat [ADDRESS [SECONDS]], at least one second"));
    };
    let silence = Duration::from_secs(seconds);

    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let room = Arc::new(Room::default());
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let room = Arc::clone(&room);
                liten::spawn(async move {
                    let end = attend(&room, &stream, peer, silence).await;
                    println!("{peer} {end}");
                    part(&stream).await;
                });
            }
            Err(error) => {
                // No descriptors left, perhaps: give clients time to leave.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The clients that have given a name.
#[derive(Default)]
struct Room {
    members: Mutex<HashMap<SocketAddr, Member>>,
}

struct Member {
    name: String,
    queue: Sender<Utf8Bytes>,
}

/// Leaves the room when it is dropped, however that comes.
struct Seat<'a> {
    room: &'a Room,
    peer: SocketAddr,
}

impl Room {
    fn enter(&self, peer: SocketAddr, name: &str) -> (Seat<'_>, Receiver<Utf8Bytes>) {
        let (sender, receiver) = channel(QUEUE);
        let member = Member { name: name.to_owned(), queue: sender };
        self.members().insert(peer, member);
        self.tell(format!("* {name} came"));
        (Seat { room: self, peer }, receiver)
    }

    /// Queues a line for every member, without waiting. A member whose queue is full is out.
    fn tell(&self, line: String) {
        let line = Utf8Bytes::from(line);
        let mut slow = Vec::new();
        self.members().retain(|_, member| {
            let keeps_up = member.queue.try_send(line.clone()).is_ok();
            if !keeps_up {
                // Its task learns it when the only sender of its queue is dropped.
                slow.push(member.name.clone());
            }
            keeps_up
        });
        // Ends, because each round has fewer members.
        for name in slow {
            self.tell(format!("* {name} was too slow"));
        }
    }

    fn members(&self) -> std::sync::MutexGuard<'_, HashMap<SocketAddr, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        // Not there any more if it was too slow.
        let member = self.room.members().remove(&self.peer);
        if let Some(member) = member {
            self.room.tell(format!("* {} left", member.name));
        }
    }
}

/// Why a connection is over.
enum End {
    /// It wanted the page.
    Served,
    /// The client closed the socket.
    Left,
    /// It did not take what it was sent.
    Slow,
    /// It did not answer a ping, or did not get on with the handshake.
    Silent,
    /// It sent something that is not text.
    Binary,
    /// It broke a rule of HTTP or of WebSocket, or the connection broke.
    Failed(Error),
}

impl End {
    /// What the client is told, if it can still be told something.
    fn frame(&self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Slow => (CloseCode::Policy, "too slow"),
            Self::Silent => (CloseCode::Policy, "no answer"),
            Self::Binary => (CloseCode::Unsupported, "text only"),
            Self::Failed(Error::Capacity(_)) => (CloseCode::Size, "at most 16384 bytes"),
            Self::Failed(Error::Utf8(_)) => (CloseCode::Invalid, "not UTF-8"),
            Self::Failed(Error::Protocol(_)) => (CloseCode::Protocol, "not WebSocket"),
            Self::Served | Self::Left | Self::Failed(_) => return None,
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served => f.write_str("got the page"),
            Self::Left => f.write_str("left"),
            Self::Slow => f.write_str("was too slow"),
            Self::Silent => f.write_str("fell silent"),
            Self::Binary => f.write_str("sent something that is not text"),
            Self::Failed(error) => write!(f, "failed: {error}"),
        }
    }
}

/// Gives the client what it came for: the page, or a seat in the room.
async fn attend(room: &Room, stream: &TcpStream, peer: SocketAddr, silence: Duration) -> End {
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MESSAGE);
    config.max_frame_size = Some(MESSAGE);
    // Per client, and most of them say little.
    config.read_buffer_size = 4 * 1024;
    let handshake = accept_hdr_async_with_config(stream, only_chat, Some(config));
    let mut socket = match timeout(PATIENCE, handshake).await {
        Ok(Ok(socket)) => socket,
        // A browser that has come for the page asks for no upgrade.
        Ok(Err(Error::Protocol(ProtocolError::MissingConnectionUpgradeHeader))) => {
            let sent = answer(stream, "200 OK", "text/html", PAGE).await;
            return sent.map_or_else(|error| End::Failed(error.into()), |()| End::Served);
        }
        Ok(Err(error)) => {
            if !matches!(error, Error::Http(_) | Error::Io(_)) {
                // The client may be gone, and what is wrong is reported anyway.
                let _ = answer(stream, "400 Bad Request", "text/plain", &error.to_string()).await;
            }
            return End::Failed(error);
        }
        Err(_elapsed) => return End::Silent,
    };
    let end = talk(room, &mut socket, peer, silence).await;
    if let Some(frame) = end.frame() {
        // To no avail if the client still takes nothing.
        let _ = timeout(PATIENCE, socket.close(Some(frame))).await;
    }
    end
}

/// Refuses all paths but the one that the page uses.
#[expect(clippy::result_large_err, reason = "the library asks for this signature")]
fn only_chat(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if request.uri().path() == "/chat" {
        return Ok(response);
    }
    let mut refusal = ErrorResponse::new(Some("the chat is at /chat\n".to_owned()));
    *refusal.status_mut() = StatusCode::NOT_FOUND;
    Err(refusal)
}

async fn answer(mut stream: &TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    timeout(PATIENCE, stream.write_all(response.as_bytes())).await?
}

/// Passes messages on, in both directions, until one of both sides has enough.
async fn talk(room: &Room, socket: &mut Socket<'_>, peer: SocketAddr, silence: Duration) -> End {
    let name = match timeout(PATIENCE, name(socket)).await {
        Ok(Ok(name)) => name,
        Ok(Err(end)) => return end,
        Err(_elapsed) => return End::Silent,
    };
    println!("{peer} is {name}");
    let (_seat, mut queue) = room.enter(peer, &name);
    let mut ticks = interval_at(Instant::now() + silence, silence);
    // Whether it has been asked if it is still there, and has said nothing since.
    let mut asked = false;
    let mut pace = Pace::new();
    loop {
        let message = select! {
            message = pace.next(socket) => {
                asked = false;
                match heard(message) {
                    Ok(Some(text)) => room.tell(format!("{name}: {text}")),
                    Ok(None) => {}
                    Err(end) => return end,
                }
                continue;
            }
            // After the room has closed it, what is left in the queue would only take more time.
            line = queue.recv() => match line {
                Some(line) if !queue.is_closed() => Message::Text(line),
                _ => return End::Slow,
            },
            _ = ticks.next() => {
                if asked {
                    return End::Silent;
                }
                asked = true;
                Message::Ping(Bytes::new())
            }
        };
        match timeout(PATIENCE, socket.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return End::Failed(error),
            Err(_elapsed) => return End::Slow,
        }
    }
}

/// When a client may be read.
struct Pace {
    /// Later by a pause with each message, and never in the past.
    paid: Instant,
}

impl Pace {
    fn new() -> Self {
        Self { paid: Instant::now() }
    }

    /// The next message, or the end. Dropped before, it has taken none.
    async fn next(&mut self, socket: &mut Socket<'_>) -> Option<Result<Message, Error>> {
        let ahead = self.paid.saturating_duration_since(Instant::now());
        sleep(ahead.saturating_sub(PAUSE * BURST)).await;
        let message = socket.next().await;
        self.paid = self.paid.max(Instant::now()) + PAUSE;
        message
    }
}

/// The first text of a client, made fit to stand at the head of a line.
async fn name(socket: &mut Socket<'_>) -> Result<String, End> {
    loop {
        if let Some(text) = heard(socket.next().await)? {
            let name: String = text.chars().filter(|char| !char.is_control()).take(NAME).collect();
            let name = name.trim();
            return Ok(if name.is_empty() { "somebody" } else { name }.to_owned());
        }
    }
}

/// The text of a message. Pings, pongs and the wish to close are answered by the library.
fn heard(message: Option<Result<Message, Error>>) -> Result<Option<Utf8Bytes>, End> {
    match message {
        None => Err(End::Left),
        Some(Err(error)) => Err(End::Failed(error)),
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        Some(Ok(Message::Binary(_))) => Err(End::Binary),
        Some(Ok(_)) => Ok(None),
    }
}

/// Ends the connection, and waits until the client has ended it too: closing a socket with bytes unread
/// would reset the connection, and the client could lose what it was told last.
async fn part(stream: &TcpStream) {
    // Errors mean that the client was quicker.
    let _ = stream.shutdown_std(Shutdown::Write);
    let _ = timeout(PATIENCE, io::copy(stream, &mut io::sink())).await;
}
