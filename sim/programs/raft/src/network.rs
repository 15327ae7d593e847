//! How nodes hear of each other: lines over one connection from each node to each other one.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

/// What one node tells another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Would you vote for me in this term?
    PreVote,
    WouldVote,
    /// Vote for me in this term.
    Vote,
    Voted,
    /// I lead in this term.
    Leads,
    /// I have heard that you lead.
    Follows,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) term: u64,
    pub(crate) from: usize,
}

pub(crate) enum Event {
    Message(Message),
    /// A client asks whether this node leads, and in which term.
    Asked(oneshot::Sender<Option<u64>>),
}

impl Message {
    fn line(self) -> String {
        format!("{} {} {}\n", self.kind as u8, self.term, self.from)
    }

    fn parse(line: &str) -> Option<Self> {
        use Kind::{Follows, Leads, PreVote, Vote, Voted, WouldVote};
        let mut numbers = line.split(' ').map(|word| word.parse().ok());
        let kind: u64 = numbers.next()??;
        let kind = *[PreVote, WouldVote, Vote, Voted, Leads, Follows].get(kind as usize)?;
        let term = numbers.next()??;
        Some(Self { kind, term, from: numbers.next()?? as usize })
    }
}

/// Takes what comes from other nodes and clients.
pub(crate) async fn listen(events: mpsc::Sender<Event>) -> Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(hear(stream, events.clone()));
    }
}

async fn hear(stream: TcpStream, events: mpsc::Sender<Event>) -> Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        if line == "leads" {
            let (answer, answered) = oneshot::channel();
            events.send(Event::Asked(answer)).await.map_err(Error::other)?;
            let term = answered.await.map_err(Error::other)?;
            write.write_all(format!("{}\n", term.unwrap_or(0)).as_bytes()).await?;
        } else {
            let message = Message::parse(&line).ok_or(ErrorKind::InvalidData)?;
            events.send(Event::Message(message)).await.map_err(Error::other)?;
        }
    }
    Ok(())
}

/// Sends messages to the node `name`. What cannot be sent is dropped.
pub(crate) async fn tell(name: &str, mut messages: mpsc::Receiver<Message>) {
    let mut stream = None;
    while let Some(message) = messages.recv().await {
        let sent = timeout(Duration::from_millis(100), async {
            if stream.is_none() {
                stream = Some(TcpStream::connect((name, 80)).await?);
            }
            let Some(stream) = &mut stream else { return Ok(()) };
            stream.write_all(message.line().as_bytes()).await
        });
        if !matches!(sent.await, Ok(Ok(()))) {
            stream = None;
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The term in which the node leads, if it does.
pub(crate) async fn leads(name: &str) -> Result<Option<u64>> {
    let asked = timeout(Duration::from_millis(100), async {
        let mut stream = BufReader::new(TcpStream::connect((name, 80)).await?);
        stream.write_all(b"leads\n").await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let term: u64 = line.trim().parse().map_err(|_| ErrorKind::InvalidData)?;
        Ok(Some(term).filter(|term| *term > 0))
    });
    asked.await?
}
