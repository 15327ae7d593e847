//! A bank in PostgreSQL: many tasks transfer money between accounts, over a pool of eight connections.
//!
//! ```sh
//! cargo run --release -p real --example pg_bank -- 127.0.0.1:5432 postgres 10000
//! ```
//!
//! Address, user (who needs no password), number of transfers. It makes its own table, says what the sum of
//! all accounts is before and after, and fails if the two differ.
//!
//! tokio-postgres speaks its protocol over any stream with tokio's I/O traits. liten's `TcpStream` has them
//! with the feature `tokio-io`; the task that drives each connection is liten's.

use liten::net::TcpStream;
use liten::sync::Mutex;
use liten::sync::mpsc::{Receiver, Sender, channel};
use liten::task::JoinSet;
use liten::time::{Duration, timeout};
use std::error::Error;
use std::sync::Arc;
use tokio_postgres::{Client, Config, NoTls};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const CONNECTIONS: usize = 8;
const TELLERS: u64 = 64;
const ACCOUNTS: i32 = 100;
const BALANCE: i64 = 1_000;
/// A server that is there answers sooner.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clients that wait for work. In the place of one that has failed comes `None`.
struct Pool {
    free: Mutex<Receiver<Option<Client>>>,
    back: Sender<Option<Client>>,
}

impl Pool {
    async fn open(address: &str, user: &str) -> Result<Self> {
        let (back, free) = channel(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            back.send(Some(connect(address, user).await?)).await?;
        }
        Ok(Self { free: Mutex::new(free), back })
    }

    /// Lends a client to `work`.
    async fn with<T>(&self, work: impl AsyncFnOnce(&mut Client) -> Result<T>) -> Result<T> {
        let free = self.free.lock().await.recv().await.flatten();
        let Some(mut client) = free else {
            // The next one learns it too, and does not wait for ever.
            self.back.send(None).await?;
            return Err("a client has failed".into());
        };
        let result = work(&mut client).await;
        self.back.send((!client.is_closed()).then_some(client)).await?;
        result
    }
}

async fn connect(address: &str, user: &str) -> Result<Client> {
    let stream = timeout(PATIENCE, TcpStream::connect(address)).await??;
    stream.set_nodelay(true)?;
    let mut config = Config::new();
    config.user(user).dbname("postgres");
    let (client, connection) = timeout(PATIENCE, config.connect_raw(stream, NoTls)).await??;
    // It ends when the client is dropped or the server goes; its error reaches the client as well.
    liten::spawn(connection);
    Ok(client)
}

async fn set_up(client: &Client) -> Result<()> {
    let table = format!(
        "DROP TABLE IF EXISTS account;
         CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0));
         INSERT INTO account SELECT id, {BALANCE} FROM generate_series(1, {ACCOUNTS}) id"
    );
    Ok(client.batch_execute(&table).await?)
}

async fn sum(client: &Client) -> Result<i64> {
    let row = client.query_one("SELECT sum(balance)::bigint FROM account", &[]).await?;
    Ok(row.try_get(0)?)
}

/// Moves money in one transaction. `false`: the account does not cover it, and nothing has been moved.
async fn transfer(client: &mut Client, from: i32, to: i32, amount: i64) -> Result<bool> {
    let transaction = client.transaction().await?;
    // Always in one order, or two transfers would wait for each other.
    transaction
        .execute("SELECT FROM account WHERE id IN ($1, $2) ORDER BY id FOR UPDATE", &[&from, &to])
        .await?;
    let taken = transaction
        .execute(
            "UPDATE account SET balance = balance - $2 WHERE id = $1 AND balance >= $2",
            &[&from, &amount],
        )
        .await?;
    if taken == 0 {
        transaction.rollback().await?;
        return Ok(false);
    }
    transaction
        .execute("UPDATE account SET balance = balance + $2 WHERE id = $1", &[&to, &amount])
        .await?;
    transaction.commit().await?;
    Ok(true)
}

/// Makes `count` transfers; returns how many were covered.
async fn teller(pool: Arc<Pool>, seed: u64, count: u64) -> Result<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut covered = 0;
    for _ in 0..count {
        let (from, to) = (random.i32(1..=ACCOUNTS), random.i32(1..=ACCOUNTS));
        let amount = random.i64(1..=BALANCE / 2);
        let moved = pool.with(async |client| transfer(client, from, to, amount).await).await?;
        covered += u64::from(moved);
    }
    Ok(covered)
}

#[liten::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:5432".to_owned());
    let user = arguments.next().unwrap_or_else(|| "postgres".to_owned());
    let transfers: u64 = arguments.next().map_or(Ok(1_000), |text| text.parse())?;

    let pool = Arc::new(Pool::open(&address, &user).await?);
    let before = pool
        .with(async |client| {
            set_up(client).await?;
            sum(client).await
        })
        .await?;
    println!("{before} on {ACCOUNTS} accounts");

    let mut tellers = JoinSet::new();
    for seed in 0..TELLERS {
        let count = transfers / TELLERS + u64::from(seed < transfers % TELLERS);
        tellers.spawn(teller(Arc::clone(&pool), seed, count));
    }
    let mut covered = 0;
    while let Some(teller) = tellers.join_next().await {
        // The first failure ends the bank: the set is dropped, and with it the other tellers.
        covered += teller??;
    }
    let after = pool.with(async |client| sum(client).await).await?;
    println!("{after} after {transfers} transfers, {covered} of them covered");
    if before == after { Ok(()) } else { Err("money has been made or lost".into()) }
}
