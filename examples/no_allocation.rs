//! A server that allocates nothing as long as its connections stay: it echoes, and counts.
//!
//! ```sh
//! cargo run --release --example no_allocation
//! ```
//!
//! The clients are tasks of the same program, so they are counted too. What is made once per connection
//! (the task, its buffer, the registration of its socket) comes before the count begins; a message costs a
//! wake, two system calls and no memory. What is made once per thread may come at any time: parking_lot
//! enters a thread into its table when that thread first has to wait for a lock. Therefore the count is
//! repeated a few times, and the lowest one is shown. What each message costs would be in all of them:
//!
//! ```text
//! 8 connections, 8000 messages: 0 allocations
//! ```
#![allow(unsafe_code)]

use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::Builder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

const CONNECTIONS: usize = 8;
/// Per connection, before the count begins: until then queues grow to their size.
const WARM_UP: usize = 200;
/// Per connection, in each count.
const MESSAGES: usize = 1_000;
/// How often the messages are counted, at the most: a count of 0 is the last.
const COUNTS: usize = 10;
const MESSAGE: [u8; 32] = [b'm'; 32];

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands every call on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> io::Result<()> {
    // Without spare workers: on a machine that is busy with other programs one may come, and a thread has
    // memory of its own.
    let runtime = Builder::new_multi_thread().worker_threads(2).max_spare_workers(0).build()?;
    runtime.block_on(run())
}

async fn run() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    liten::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(liten::spawn(serve(stream)));
        }
    });
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(TcpStream::connect(address).await?);
    }

    play(&mut clients, WARM_UP).await?;
    let mut allocations = usize::MAX;
    for _ in 0..COUNTS {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        play(&mut clients, MESSAGES).await?;
        allocations = allocations.min(ALLOCATIONS.load(Ordering::Relaxed) - before);
        if allocations == 0 {
            break;
        }
    }
    let messages = CONNECTIONS * MESSAGES;
    println!("{CONNECTIONS} connections, {messages} messages: {allocations} allocations");
    Ok(())
}

/// Returns every byte until the client has gone.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 64];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..length]).await?;
    }
}

/// Sends so many messages on each connection, and waits for all answers in each round.
async fn play(clients: &mut [TcpStream], rounds: usize) -> io::Result<()> {
    for _ in 0..rounds {
        for client in clients.iter_mut() {
            client.write_all(&MESSAGE).await?;
        }
        for client in clients.iter_mut() {
            let mut answer = [0; MESSAGE.len()];
            client.read_exact(&mut answer).await?;
            assert_eq!(answer, MESSAGE);
        }
    }
    Ok(())
}
