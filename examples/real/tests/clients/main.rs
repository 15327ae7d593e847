//! Starts the examples and talks to them with clients that nobody here wrote.
// Those of Debian; and what a process holds is read from its `/proc`.
#![cfg(target_os = "linux")]

#[path = "../../../../tests/examples/http.rs"]
mod http;
#[path = "../../../../tests/examples/process.rs"]
mod process;

mod axum_serve;
mod axum;
mod chromium;
mod file;
mod https;
mod pg_bank;
mod redis_counter;
mod server;
mod nats_words;
mod reqwest_fetch;
mod sqlx_sqlite;
mod quic_echo;
mod ws_chat;
