//! Starts the examples and talks to them with clients that were written elsewhere.
// Those of Debian; and what a process holds is read from its `/proc`.
#![cfg(target_os = "linux")]

#[path = "../../../../tests/examples/http.rs"]
mod http;
#[path = "../../../../tests/examples/process.rs"]
mod process;
#[path = "../../../../tests/examples/sick_cases.rs"]
mod sick_cases;

mod axum_serve;
mod axum_todo;
mod chromium;
mod controls;
mod drawn;
mod file;
mod grpc;
mod https;
mod metrics;
mod nats_words;
mod opentelemetry;
mod page_script;
mod pg_bank;
mod ports;
mod quic_echo;
mod redis_counter;
mod reqwest_fetch;
mod server;
mod sick;
mod sqlx_sqlite;
mod ws_chat;
