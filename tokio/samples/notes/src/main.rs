//! A service that keeps notes in a file of SQLite's: a server of axum, a pool of sqlx, a client of reqwest.
//!
//! ```text
//! notes FILE               # prints where it listens; ctrl-c ends it
//! POST   /notes            # the text of a note; answers with its number
//! POST   /fetched          # an address of the web, whose text becomes a note
//! GET    /notes            # all notes, in JSON
//! GET    /notes/NUMBER     # its text
//! DELETE /notes/NUMBER
//! ```

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use reqwest::Client;
use serde::Serialize;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use std::env;
use std::error::Error;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal;

#[derive(Clone)]
struct Service {
    pool: SqlitePool,
    client: Client,
}

#[derive(Serialize)]
struct Note {
    number: i64,
    text: String,
}

type Answer<T> = Result<T, (StatusCode, String)>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args().nth(1).ok_or("usage: notes FILE")?;
    let service = Service { pool: open(&file).await?, client: Client::new() };
    let router = Router::new()
        .route("/notes", get(all).post(add))
        .route("/notes/{number}", get(one).delete(remove))
        .route("/fetched", post(fetch))
        .with_state(service.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let interrupted = async {
        signal::ctrl_c().await.expect("the signal can be listened to");
    };
    axum::serve(listener, router).with_graceful_shutdown(interrupted).await?;
    service.pool.close().await;
    println!("bye");
    Ok(())
}

async fn open(file: &str) -> sqlx::Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(30));
    let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options).await?;
    let table = "CREATE TABLE IF NOT EXISTS note (number INTEGER PRIMARY KEY, text TEXT NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await?;
    Ok(pool)
}

async fn all(State(service): State<Service>) -> Answer<Json<Vec<Note>>> {
    let rows = sqlx::query_as("SELECT number, text FROM note ORDER BY number");
    let rows: Vec<(i64, String)> = rows.fetch_all(&service.pool).await.map_err(broken)?;
    Ok(Json(rows.into_iter().map(|(number, text)| Note { number, text }).collect()))
}

async fn one(State(service): State<Service>, Path(number): Path<i64>) -> Answer<String> {
    let text = sqlx::query_scalar("SELECT text FROM note WHERE number = ?").bind(number);
    let text: Option<String> = text.fetch_optional(&service.pool).await.map_err(broken)?;
    text.ok_or((StatusCode::NOT_FOUND, format!("there is no note {number}\n")))
}

async fn add(State(service): State<Service>, text: String) -> Answer<(StatusCode, String)> {
    let mut transaction = service.pool.begin().await.map_err(broken)?;
    let insert = sqlx::query("INSERT INTO note (text) VALUES (?)").bind(text);
    let number = insert.execute(&mut *transaction).await.map_err(broken)?.last_insert_rowid();
    transaction.commit().await.map_err(broken)?;
    Ok((StatusCode::CREATED, number.to_string()))
}

async fn remove(State(service): State<Service>, Path(number): Path<i64>) -> Answer<StatusCode> {
    let delete = sqlx::query("DELETE FROM note WHERE number = ?").bind(number);
    match delete.execute(&service.pool).await.map_err(broken)?.rows_affected() {
        0 => Err((StatusCode::NOT_FOUND, format!("there is no note {number}\n"))),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

async fn fetch(service: State<Service>, address: String) -> Answer<(StatusCode, String)> {
    let text = async {
        let answer = service.client.get(address.trim()).timeout(Duration::from_secs(30));
        answer.send().await?.error_for_status()?.text().await
    };
    let text = text.await.map_err(|error| (StatusCode::BAD_GATEWAY, format!("{error}\n")))?;
    add(service, text).await
}

fn broken(error: sqlx::Error) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"))
}
