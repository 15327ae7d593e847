//! Actors: a program of tokio's that has moved to liten.
//!
//! ```sh
//! cargo run -p real --example actors
//! ```
//!
//! A bank whose accounts are actors, each with a mailbox; a supervisor that starts an account again when one
//! panics, with what it had at the last tick; a journal on a thread that blocks. `examples/real/ports.md`
//! explains each line in which the two programs differ.

use liten::task::{CancellationToken, JoinSet, TaskId};
use liten::time::{MissedTickBehavior, interval, timeout};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

/// How many letters a mailbox holds before a sender of another one waits.
const MAILBOX: usize = 16;
const TICK: Duration = Duration::from_millis(5);

liten::task_local! {
    /// Whose letter is being read.
    static ACCOUNT: &'static str;
}

enum Letter {
    Deposit(u64),
    Withdraw(u64, oneshot::Sender<Result<u64, String>>),
    /// A letter that its reader does not survive.
    Curse,
}

/// An account as others see it. Stays the same when the actor behind it is another.
#[derive(Clone)]
struct Account {
    letters: mpsc::Sender<Letter>,
    saved: watch::Receiver<u64>,
}

impl Account {
    async fn deposit(&self, amount: u64) {
        // The bank may have closed.
        let _ = self.letters.send(Letter::Deposit(amount)).await;
    }

    async fn withdraw(&self, amount: u64) -> Result<u64, String> {
        let (sender, receiver) = oneshot::channel();
        let _ = self.letters.send(Letter::Withdraw(amount, sender)).await;
        match timeout(Duration::from_secs(5), receiver).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err("the account did not survive the letter".to_owned()),
            Err(elapsed) => Err(elapsed.to_string()),
        }
    }
}

/// What an actor leaves behind, for itself or its successor.
struct Desk {
    name: &'static str,
    letters: Mutex<mpsc::Receiver<Letter>>,
    saved: watch::Sender<u64>,
    journal: blocking::Sender<String>,
}

async fn keep(desk: Arc<Desk>, closing: CancellationToken) {
    let mut letters = desk.letters.lock().await;
    let mut balance = *desk.saved.borrow();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        liten::select! {
            biased;
            Some(letter) = letters.recv() => read(letter, &mut balance, &desk.journal),
            _ = ticks.tick() => { desk.saved.send_replace(balance); }
            () = closing.cancelled() => break,
        }
    }
    desk.saved.send_replace(balance);
}

fn read(letter: Letter, balance: &mut u64, journal: &blocking::Sender<String>) {
    let name = ACCOUNT.get();
    let line = match letter {
        Letter::Deposit(amount) => {
            *balance += amount;
            format!("{name}: +{amount}")
        }
        Letter::Withdraw(amount, answer) => {
            let left = balance.checked_sub(amount);
            *balance = left.unwrap_or(*balance);
            let _ = answer.send(left.ok_or_else(|| format!("{name} has only {balance}")));
            format!("{name}: -{amount}, {}", if left.is_some() { "done" } else { "refused" })
        }
        Letter::Curse => panic!("{name} has read a curse"),
    };
    let _ = journal.send(line);
}

/// Opens the accounts, and starts those again that have panicked, until `closing`.
struct Supervisor {
    desks: BTreeMap<TaskId, Arc<Desk>>,
    actors: JoinSet<()>,
    closing: CancellationToken,
}

impl Supervisor {
    fn start(&mut self, desk: Arc<Desk>) {
        let keeping = keep(Arc::clone(&desk), self.closing.clone());
        let actor = self.actors.spawn(ACCOUNT.scope(desk.name, keeping));
        self.desks.insert(actor.id(), desk);
    }

    fn open(&mut self, name: &'static str, journal: &blocking::Sender<String>) -> Account {
        let (letters, mailbox) = mpsc::channel(MAILBOX);
        let (saved, balance) = watch::channel(0);
        let mailbox = Mutex::new(mailbox);
        let desk = Desk { name, letters: mailbox, saved, journal: journal.clone() };
        self.start(Arc::new(desk));
        Account { letters, saved: balance }
    }

    /// Returns how many actors had to be replaced.
    async fn watch(mut self) -> usize {
        let mut replaced = 0;
        while let Some(ended) = self.actors.join_next_with_id().await {
            if let Err(error) = ended {
                let desk = self.desks.remove(&error.id()).expect("it was opened");
                replaced += 1;
                self.start(desk);
            }
        }
        replaced
    }
}

#[liten::main]
async fn main() -> io::Result<()> {
    let (journal, lines) = blocking::channel::<String>();
    let writing = liten::spawn_blocking(move || lines.iter().count());
    let closing = CancellationToken::new();
    let (desks, actors) = (BTreeMap::new(), JoinSet::new());
    let mut supervisor = Supervisor { desks, actors, closing: closing.clone() };
    let mut ada = supervisor.open("ada", &journal);
    let bob = supervisor.open("bob", &journal);
    drop(journal);
    let watching = liten::spawn(supervisor.watch());

    ada.deposit(100).await;
    println!("ada: {:?}", ada.withdraw(30).await);
    println!("bob: {:?}", bob.withdraw(1).await);
    ada.saved.wait_for(|saved| *saved == 70).await.expect("it is open");
    let _ = ada.letters.send(Letter::Curse).await;
    println!("ada: {:?}", ada.withdraw(7).await);
    let deposits = (0..100).map(|_| {
        liten::spawn({
            let bob = bob.clone();
            async move { bob.deposit(1).await }
        })
    });
    for deposit in deposits.collect::<Vec<_>>() {
        deposit.await?;
    }
    println!("bob: {:?}", bob.withdraw(50).await);

    closing.cancel();
    println!("replaced: {}", watching.await?);
    println!("journal: {} lines", writing.await?);
    Ok(())
}
