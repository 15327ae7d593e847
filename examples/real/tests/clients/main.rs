//! Starts the examples and talks to them with clients that nobody here wrote.

#[path = "../../../../tests/examples/process.rs"]
mod process;

mod chromium;
mod https;
mod pg_bank;
mod redis_counter;
mod server;
mod ws_chat;
