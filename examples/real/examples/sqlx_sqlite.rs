//! sqlx with its feature `runtime-tokio`: transfers between the accounts of a bank in an SQLite file.
//!
//! ```sh
//! cargo run -p real --example sqlx_sqlite bank.db
//! sqlite3 bank.db 'SELECT * FROM account'
//! ```
//!
//! Tasks of liten's share a pool of connections and move money about, each step in a transaction. The sum
//! stays what it was. liten's feature `tokio-context` is all it takes: the program mentions tokio nowhere.

use liten::task::JoinHandle;
use liten::time::Duration;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::env;
use std::path::Path;
use std::process::ExitCode;

const ACCOUNTS: i64 = 10;
const CAPITAL: i64 = 100;
const TELLERS: i64 = 20;
const TRANSFERS: i64 = 25;

#[liten::main]
async fn main() -> ExitCode {
    let Some(path) = env::args().nth(1) else {
        eprintln!("usage: sqlx_sqlite FILE");
        return ExitCode::FAILURE;
    };
    match run(Path::new(&path)).await {
        Ok((done, refused, sum)) => {
            println!("{done} transfers, {refused} refused, {sum} in the bank");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How many transfers were made, how many refused, and what all accounts hold together.
async fn run(path: &Path) -> sqlx::Result<(i64, i64, i64)> {
    let pool = open(path).await?;
    let tellers: Vec<JoinHandle<sqlx::Result<i64>>> =
        (0..TELLERS).map(|teller| liten::spawn(tell(pool.clone(), teller))).collect();
    let mut done = 0;
    for teller in tellers {
        done += teller.await.expect("no panic")?;
    }
    let sum = sqlx::query_scalar("SELECT sum(balance) FROM account").fetch_one(&pool).await?;
    pool.close().await;
    Ok((done, TELLERS * TRANSFERS - done, sum))
}

async fn open(path: &Path) -> sqlx::Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // What SQLite recommends with this journal: the disk need not have each transfer at once.
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(Duration::from_secs(30));
    let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options).await?;
    sqlx::raw_sql("DROP TABLE IF EXISTS account").execute(&pool).await?;
    sqlx::raw_sql(
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0))",
    )
    .execute(&pool)
    .await?;
    for id in 0..ACCOUNTS {
        let insert = sqlx::query("INSERT INTO account VALUES (?, ?)").bind(id).bind(CAPITAL);
        insert.execute(&pool).await?;
    }
    Ok(pool)
}

/// Makes transfers one after the other; returns how many of them were covered.
async fn tell(pool: SqlitePool, teller: i64) -> sqlx::Result<i64> {
    let mut done = 0;
    for round in 0..TRANSFERS {
        let (from, to) = ((teller + round) % ACCOUNTS, (teller * 3 + round * 7 + 1) % ACCOUNTS);
        match transfer(&pool, from, to, 1 + (teller * 13 + round) % 50).await {
            Ok(()) => done += 1,
            // The constraint has refused it, and the transaction took the other half back.
            Err(sqlx::Error::Database(error)) if error.is_check_violation() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

async fn transfer(pool: &SqlitePool, from: i64, to: i64, amount: i64) -> sqlx::Result<()> {
    // Takes the writer's lock at once: two that begin as readers could not both become writers.
    let mut both = pool.begin_with("BEGIN IMMEDIATE").await?;
    for (id, change) in [(to, amount), (from, -amount)] {
        let update = sqlx::query("UPDATE account SET balance = balance + ? WHERE id = ?");
        update.bind(change).bind(id).execute(&mut *both).await?;
    }
    both.commit().await
}
