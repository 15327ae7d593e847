//! What the program leaves lying while it does something else: connections, the end of a stream, messages;
//! and calls that all end by their timeout.

use super::culprits::{page_of, until_said};
use super::requests::body;
use crate::support::guard::{guarded, until, workers};
use liten::insight::Server;
use liten::io::AsyncReadExt;
use liten::net::{TcpListener, TcpStream};
use liten::runtime::Runtime;
use liten::sync::broadcast::error::RecvError;
use liten::sync::{broadcast, mpsc};
use liten::time::{Duration, interval, sleep, timeout};
use std::net::SocketAddr;

/// A place in this file.
fn at(line: u32) -> String {
    format!("{}:{line}:", file!())
}

fn listen(runtime: &Runtime) -> (TcpListener, SocketAddr) {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn connect(runtime: &Runtime, address: SocketAddr) -> TcpStream {
    runtime.block_on(TcpStream::connect(address)).unwrap()
}

/// Waits for what the first client says before it accepts the next one. That it accepts is seen before.
fn accept_one(runtime: &Runtime, page: &Server) -> (SocketAddr, Vec<TcpStream>) {
    let (listener, address) = listen(runtime);
    drop(runtime.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            _ = stream.read(&mut [0; 8]).await;
        }
    }));
    if cfg!(target_os = "linux") {
        until(|| body(page, "/text").contains("listens, 0 connections to accept, task "));
    }
    (address, (0..4).map(|_| connect(runtime, address)).collect())
}

/// Overlooks that the other side has closed. Returns the line of the spawn.
fn read_on(runtime: &Runtime) -> u32 {
    let (listener, address) = listen(runtime);
    drop(connect(runtime, address));
    let (mut stream, _) = runtime.block_on(listener.accept()).unwrap();
    let place = line!() + 1;
    drop(runtime.spawn(async move { while stream.read(&mut [0; 8]).await.is_ok() {} }));
    place
}

/// There is always another row, so that no question is answered. Returns the line of the spawn, and what
/// keeps the channel open.
fn prefer_rows(runtime: &Runtime) -> (u32, mpsc::Sender<()>) {
    let ((rows, mut to_store), (questions, mut to_answer)) = (mpsc::channel(4), mpsc::channel(1));
    let place = line!() + 1;
    drop(runtime.spawn(async move {
        // It has waited for both, and so is known as the one that receives.
        loop {
            liten::select! {
                biased;
                Some(()) = to_store.recv() => sleep(Duration::from_millis(1)).await,
                Some(()) = to_answer.recv() => {}
            }
        }
    }));
    until(|| runtime.metrics().num_cold_tasks() >= 2);
    drop(runtime.spawn(async move { while rows.send(()).await.is_ok() {} }));
    for _ in 0..3 {
        let questions = questions.clone();
        drop(runtime.spawn(async move { while questions.send(()).await.is_ok() {} }));
    }
    (place, questions)
}

/// Returns the line of the timeouts.
fn give_up(runtime: &Runtime) -> u32 {
    let place = line!() + 3;
    drop(runtime.spawn(async move {
        loop {
            _ = timeout(Duration::from_millis(50), sleep(Duration::from_secs(3600))).await;
        }
    }));
    drop(runtime.spawn(async move {
        for round in 0_u64.. {
            // Now and then it is in time.
            let answer = sleep(Duration::from_millis(if round % 8 == 0 { 1 } else { 60 }));
            _ = timeout(Duration::from_millis(50), answer).await;
        }
    }));
    place
}

/// Takes each tick too late. Returns the line of the spawn.
fn fall_behind(runtime: &Runtime) -> u32 {
    let place = line!() + 1;
    drop(runtime.spawn(async move {
        let mut ticks = interval(Duration::from_millis(10));
        loop {
            ticks.tick().await;
            sleep(Duration::from_millis(50)).await;
        }
    }));
    place
}

/// Receives less than what is sent. Returns the line of the channel.
fn lose_values(runtime: &Runtime) -> u32 {
    let place = line!() + 1;
    let (values, mut slow) = broadcast::channel(4);
    drop(runtime.spawn(async move {
        while !matches!(slow.recv().await, Err(RecvError::Closed)) {
            sleep(Duration::from_millis(200)).await;
        }
    }));
    drop(runtime.spawn(async move {
        while values.send(()).is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    }));
    place
}

/// What is told after ten to twenty seconds, at once for all.
#[test]
fn what_lies_because_tasks_do_something_else_is_told_with_its_place() {
    guarded(|| {
        let runtime = workers(2);
        let page = page_of(runtime.handle());
        let (address, clients) = accept_one(&runtime, &page);
        let ((starved, questions), given_up) = (prefer_rows(&runtime), give_up(&runtime));
        let reads = read_on(&runtime);
        let (behind, lost) = (fall_behind(&runtime), lose_values(&runtime));
        until_said(&page, &[&at(reads), ", reads at the end of a stream some "]);
        if cfg!(target_os = "linux") {
            let lie = format!("3 connections have not been accepted at {address} for ");
            until_said(&page, &[&lie, ", which accepts there, waits for readable"]);
        }
        until_said(
            &page,
            &["room in an mpsc channel", &at(starved), "it takes from another channel, and"],
        );
        let passed = format!("worth a look: the timeout at {}", at(given_up));
        until(|| body(&page, "/text").contains(&passed));
        assert_eq!(body(&page, "/text").matches("the timeout at ").count(), 1);
        let late = format!("worth a look: tasks spawned at {}", at(behind));
        until(|| body(&page, "/text").contains(&late));
        let lost = format!("with room for 4 made at {}", at(lost));
        until(|| {
            let text = body(&page, "/text");
            let mut lines =
                text.lines().filter(|line| line.starts_with("worth a look: receivers of "));
            lines.any(|line| line.contains(&lost))
        });
        drop((clients, questions));
    });
}
