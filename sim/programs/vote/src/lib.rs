//! A vote that is not stored before it is given can be given twice: two leaders in one term.
//!
//! The node stores its term, gives its vote, and stores the vote at its next tick. When it crashes before
//! that, it has forgotten the vote, and another candidate of the term gets one too. hashicorp/raft #661 is
//! about two such writes.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval};
use tokio::{fs, select};

pub const NODES: [&str; 3] = ["one", "two", "three"];
const MAJORITY: usize = NODES.len() / 2 + 1;
const TICK: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_millis(100);

/// How a node stores its term and its vote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stores {
    /// Wrong: the term before it votes, and the vote at the next tick.
    InTwoWrites,
    /// Both before it votes.
    InOneWrite,
}

/// What a node says to another one: what, in which term, and which node says it.
type Message = (String, u64, usize);

struct Node {
    me: usize,
    stores: Stores,
    folder: PathBuf,
    to: Vec<mpsc::Sender<Message>>,
    term: u64,
    voted_for: Option<usize>,
    /// Otherwise the next tick stores it.
    vote_is_stored: bool,
    /// The nodes that vote for this one, while it is a candidate.
    votes: Option<BTreeSet<usize>>,
    leads: bool,
    deadline: Instant,
}

/// The main function of the node `NODES[me]`, which keeps its files in `folder`.
#[tokio::main]
pub async fn run(me: usize, folder: PathBuf, stores: Stores) -> Result<()> {
    let (heard, mut inbox) = mpsc::channel(100);
    tokio::spawn(listen(heard));
    let to = NODES.map(|name| {
        let (sender, messages) = mpsc::channel(100);
        tokio::spawn(tell(name, messages));
        sender
    });
    let (term, vote) = stored(&folder, stores).await;
    let mut node = Node {
        me,
        stores,
        folder,
        to: to.to_vec(),
        term,
        voted_for: vote.checked_sub(1).map(|vote| vote as usize),
        vote_is_stored: true,
        votes: None,
        leads: false,
        deadline: Instant::now() + some_patience(),
    };
    let mut ticks = interval(TICK);
    loop {
        select! {
            message = inbox.recv() => match message {
                Some(message) => node.hears(message).await?,
                None => return Err(ErrorKind::BrokenPipe.into()),
            },
            _ = ticks.tick() => node.ticks().await?,
        }
    }
}

impl Node {
    async fn ticks(&mut self) -> Result<()> {
        if !self.vote_is_stored {
            self.store("vote").await?;
            self.vote_is_stored = true;
        }
        if self.leads {
            self.tell_all("leads");
        } else if Instant::now() >= self.deadline {
            self.term += 1;
            self.voted_for = Some(self.me);
            self.votes = Some(BTreeSet::from([self.me]));
            self.deadline = Instant::now() + some_patience();
            self.store("term").await?;
            self.store("vote").await?;
            self.tell_all("vote");
        } else if self.votes.is_some() {
            // A node may not have heard it.
            self.tell_all("vote");
        }
        Ok(())
    }

    async fn hears(&mut self, (word, term, from): Message) -> Result<()> {
        if term > self.term {
            self.term = term;
            self.voted_for = None;
            self.votes = None;
            self.leads = false;
            self.store("term").await?;
        }
        if term < self.term {
            return Ok(());
        }
        match word.as_str() {
            "vote" if self.voted_for.is_none_or(|other| other == from) => {
                self.voted_for = Some(from);
                self.deadline = Instant::now() + some_patience();
                match self.stores {
                    Stores::InTwoWrites => self.vote_is_stored = false,
                    Stores::InOneWrite => self.store("vote").await?,
                }
                self.tell(from, "voted");
            }
            "voted" => {
                let votes = self.votes.get_or_insert_default();
                votes.insert(from);
                if votes.len() >= MAJORITY && !self.leads {
                    self.leads = true;
                    tokio::spawn(announce(self.me, self.term));
                }
            }
            "leads" => {
                self.votes = None;
                self.deadline = Instant::now() + some_patience();
            }
            _ => {}
        }
        Ok(())
    }

    /// Stores the term or the vote. In one write, the other goes with it.
    async fn store(&self, what: &str) -> Result<()> {
        let vote = self.voted_for.map_or(0, |vote| vote + 1);
        match self.stores {
            Stores::InTwoWrites if what == "term" => {
                fs::write(self.folder.join("term"), self.term.to_string()).await
            }
            Stores::InTwoWrites => {
                fs::write(self.folder.join("vote"), format!("{} {vote}", self.term)).await
            }
            Stores::InOneWrite => {
                let new = self.folder.join("new");
                fs::write(&new, format!("{} {vote}", self.term)).await?;
                fs::rename(&new, self.folder.join("vote")).await
            }
        }
    }

    fn tell_all(&self, word: &str) {
        (0..NODES.len()).filter(|i| *i != self.me).for_each(|i| self.tell(i, word));
    }

    fn tell(&self, other: usize, word: &str) {
        // When too many messages wait, this one is lost, as on a network.
        let _ = self.to[other].try_send((word.to_owned(), self.term, self.me));
    }
}

/// The term and the vote as they are stored.
async fn stored(folder: &Path, stores: Stores) -> (u64, u64) {
    let read = async |name| fs::read_to_string(folder.join(name)).await.unwrap_or_default();
    let vote = read("vote").await;
    let (voted_in, vote) = vote.split_once(' ').unwrap_or(("0", "0"));
    let term = if stores == Stores::InTwoWrites { read("term").await } else { voted_in.to_owned() };
    // A vote of an older term does not count.
    let vote = if voted_in == term { vote } else { "0" };
    (term.parse().unwrap_or(0), vote.parse().unwrap_or(0))
}

async fn listen(heard: mpsc::Sender<Message>) -> Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let heard = heard.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stream).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let words: Vec<&str> = line.split(' ').collect();
                let [word, term, from] = words[..] else { return };
                let (Ok(term), Ok(from)) = (term.parse(), from.parse()) else { return };
                let _ = heard.send((word.to_owned(), term, from)).await;
            }
        });
    }
}

/// Sends messages to the node `name`. What cannot be sent is dropped.
async fn tell(name: &str, mut messages: mpsc::Receiver<Message>) {
    let mut stream = None;
    while let Some((word, term, from)) = messages.recv().await {
        if stream.is_none() {
            stream = TcpStream::connect((name, 80)).await.ok();
        }
        if let Some(open) = &mut stream
            && open.write_all(format!("{word} {term} {from}\n").as_bytes()).await.is_err()
        {
            stream = None;
        }
    }
}

async fn announce(me: usize, term: u64) -> Result<()> {
    let mut registry = TcpStream::connect("registry:80").await?;
    registry.write_all(format!("{term} {}", NODES[me]).as_bytes()).await
}

/// Each node tells it when it begins to lead.
///
/// # Panics
///
/// When two nodes lead in one term.
#[tokio::main]
pub async fn registry() -> Result<()> {
    let mut leaders = HashMap::new();
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut line = String::new();
        stream.read_to_string(&mut line).await?;
        let Some((term, name)) = line.split_once(' ') else { continue };
        let first = leaders.entry(term.to_owned()).or_insert_with(|| name.to_owned());
        assert_eq!(first, name, "two nodes lead in term {term}");
    }
}

fn some_patience() -> Duration {
    // Std's hasher has a random key.
    let random = RandomState::new().hash_one(0) % 1_000;
    PATIENCE + PATIENCE * random as u32 / 1_000
}
