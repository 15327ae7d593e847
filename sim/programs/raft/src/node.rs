//! One node: what it does when it hears something, and when it has heard nothing for too long.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Result;
use std::time::Duration;

use tokio::select;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::network::{Event, Kind, Message, listen, tell};

pub const NODES: [&str; 3] = ["one", "two", "three"];
const MAJORITY: usize = NODES.len() / 2 + 1;
/// A leader tells so often that it leads.
const HEARTBEAT: Duration = Duration::from_millis(50);
/// A node that hears no leader for this time, and up to as much again, stands for election.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Elections {
    /// Wrong: a node that hears no leader begins a new term.
    AtOnce,
    /// It asks first whether a majority would vote for it (PreVote). A leader that no majority hears gives up
    /// (CheckQuorum).
    AfterPreVote,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Follower,
    /// It asks which nodes would vote for it.
    Asks,
    Candidate,
    Leader,
}

struct Node {
    me: usize,
    elections: Elections,
    to: Vec<mpsc::Sender<Message>>,
    term: u64,
    voted_for: Option<usize>,
    role: Role,
    /// The nodes that vote for this one, or would.
    votes: BTreeSet<usize>,
    /// When a leader was heard.
    leader_heard: Option<Instant>,
    /// For a leader: when each node was heard.
    heard: [Instant; NODES.len()],
    deadline: Instant,
}

/// The main function of the node `NODES[me]`.
#[tokio::main]
pub async fn run(me: usize, elections: Elections) -> Result<()> {
    let (events, mut inbox) = mpsc::channel(100);
    let listening = tokio::spawn(listen(events));
    let to = NODES.map(|name| {
        let (sender, messages) = mpsc::channel(100);
        tokio::spawn(tell(name, messages));
        sender
    });
    let mut node = Node::new(me, elections, to.to_vec());
    loop {
        select! {
            event = inbox.recv() => match event {
                Some(Event::Message(message)) => node.hears(message),
                Some(Event::Asked(answer)) => {
                    let _ = answer.send(Some(node.term).filter(|_| node.is_of_use()));
                }
                None => return listening.await?,
            },
            () = sleep_until(node.deadline) => node.has_waited(),
        }
    }
}

impl Node {
    fn new(me: usize, elections: Elections, to: Vec<mpsc::Sender<Message>>) -> Self {
        let now = Instant::now();
        Self {
            me,
            elections,
            to,
            term: 0,
            voted_for: None,
            role: Role::Follower,
            votes: BTreeSet::new(),
            leader_heard: None,
            heard: [now; NODES.len()],
            deadline: now + some_patience(),
        }
    }

    fn has_waited(&mut self) {
        if self.role == Role::Leader {
            if self.elections == Elections::AfterPreVote && !self.is_of_use() {
                self.follow(self.term);
                return;
            }
            self.deadline = Instant::now() + HEARTBEAT;
            self.tell_all(Kind::Leads, self.term);
        } else if self.elections == Elections::AfterPreVote {
            self.deadline = Instant::now() + some_patience();
            self.role = Role::Asks;
            self.votes = BTreeSet::from([self.me]);
            self.tell_all(Kind::PreVote, self.term + 1);
        } else {
            self.stand();
        }
    }

    /// Begins a new term and stands for election in it.
    fn stand(&mut self) {
        self.deadline = Instant::now() + some_patience();
        self.term += 1;
        self.role = Role::Candidate;
        self.voted_for = Some(self.me);
        self.votes = BTreeSet::from([self.me]);
        self.tell_all(Kind::Vote, self.term);
    }

    fn hears(&mut self, Message { kind, term, from }: Message) {
        match kind {
            Kind::PreVote => {
                let has_leader = self.leader_heard.is_some_and(|at| at.elapsed() < PATIENCE);
                if term > self.term && !has_leader && !self.is_of_use() {
                    self.tell(from, Kind::WouldVote, term);
                }
                return;
            }
            Kind::WouldVote => {
                if self.role == Role::Asks && term == self.term + 1 && self.is_chosen(from) {
                    self.stand();
                }
                return;
            }
            _ if term > self.term => self.follow(term),
            _ => {}
        }
        match kind {
            // The answer tells an old leader of the new term.
            Kind::Leads if term < self.term => self.tell(from, Kind::Follows, self.term),
            _ if term < self.term => {}
            Kind::Vote if self.voted_for.is_none_or(|other| other == from) => {
                self.voted_for = Some(from);
                self.deadline = Instant::now() + some_patience();
                self.tell(from, Kind::Voted, term);
            }
            Kind::Voted if self.role == Role::Candidate && self.is_chosen(from) => {
                self.role = Role::Leader;
                self.heard = [Instant::now(); NODES.len()];
                self.has_waited();
            }
            Kind::Leads => {
                self.role = Role::Follower;
                self.leader_heard = Some(Instant::now());
                self.deadline = Instant::now() + some_patience();
                self.tell(from, Kind::Follows, term);
            }
            Kind::Follows => self.heard[from] = Instant::now(),
            _ => {}
        }
    }

    fn follow(&mut self, term: u64) {
        if term > self.term {
            self.term = term;
            self.voted_for = None;
        }
        if self.role == Role::Leader {
            self.deadline = Instant::now() + some_patience();
        }
        self.role = Role::Follower;
    }

    /// Whether a majority is for this node, now that `from` is.
    fn is_chosen(&mut self, from: usize) -> bool {
        self.votes.insert(from);
        self.votes.len() >= MAJORITY
    }

    /// Whether it leads and a majority follows.
    fn is_of_use(&self) -> bool {
        let follows = |i: &usize| *i == self.me || self.heard[*i].elapsed() < 2 * PATIENCE;
        self.role == Role::Leader && (0..NODES.len()).filter(follows).count() >= MAJORITY
    }

    fn tell_all(&self, kind: Kind, term: u64) {
        (0..NODES.len()).filter(|i| *i != self.me).for_each(|i| self.tell(i, kind, term));
    }

    fn tell(&self, other: usize, kind: Kind, term: u64) {
        // When too many messages wait, this one is lost, as on a network.
        let _ = self.to[other].try_send(Message { kind, term, from: self.me });
    }
}

fn some_patience() -> Duration {
    // Std's hasher has a random key.
    let random = RandomState::new().hash_one(0) % 1_000;
    PATIENCE + PATIENCE * random as u32 / 1_000
}
