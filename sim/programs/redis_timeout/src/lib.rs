//! A client of mini-redis that waits for an answer only so long, and then asks for the next key.
//!
//! A `redis::aio::Connection` whose command is dropped half-way keeps no account of it: its next
//! command gets the answer of the one before (redis-rs #848, #553). A `MultiplexedConnection`
//! counts the answers.

// The connection with the bug is deprecated for it.
#![allow(deprecated)]

use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::ConnectionLike;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

const KEYS: usize = 5;
const PATIENCE: Duration = Duration::from_millis(1);

/// A server in memory.
#[tokio::main]
pub async fn server() {
    let listener = TcpListener::bind("0.0.0.0:6379").await.expect("bind");
    mini_redis::server::run(listener, std::future::pending::<()>()).await;
}

/// Reads each key back by a plain connection.
///
/// # Panics
///
/// When a key has the value of another one.
#[tokio::main]
pub async fn client() {
    let client = redis::Client::open("redis://server/").expect("the address is well-formed");
    let connection = loop {
        match client.get_async_connection().await {
            Ok(connection) => break connection,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    };
    read_back(connection).await;
}

/// Reads each key back by a connection that is made for many tasks.
///
/// # Panics
///
/// When a key has the value of another one.
#[tokio::main]
pub async fn multiplexed_client() {
    let client = redis::Client::open("redis://server/").expect("the address is well-formed");
    let connection = loop {
        match client.get_multiplexed_async_connection().await {
            Ok(connection) => break connection,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    };
    read_back(connection).await;
}

async fn read_back(mut connection: impl ConnectionLike + AsyncCommands) {
    for key in 0..KEYS {
        let (): () = connection.set(key, format!("value {key}")).await.expect("set");
    }
    for key in 0..KEYS {
        match timeout(PATIENCE, connection.get::<_, String>(key)).await {
            Ok(value) => {
                assert_eq!(value.expect("get"), format!("value {key}"), "the value of key {key}")
            }
            Err(_) => println!("no answer for key {key} yet; go on"),
        }
    }
}
