//! Connections that their peers have closed, and what to look at where the page has no finding.

use super::culprits::{page_of, until_said};
use super::requests::{body, json};
use crate::support::guard::{guarded, until, workers};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::Runtime;
use liten::sync::{Notify, mpsc, watch};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A connection within this process.
async fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

fn listen(runtime: &Runtime) -> TcpListener {
    runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap()
}

/// They may be right to wait. So there is no finding, but the first lines name them.
#[test]
fn tasks_that_have_waited_for_long_are_what_to_look_at_without_a_finding() {
    guarded(|| {
        let runtime = workers(1);
        let (page, bell) = (page_of(runtime.handle()), Arc::new(Notify::new()));
        let line = line!() + 3;
        for _ in 0..5 {
            let bell = bell.clone();
            runtime.spawn(async move { bell.notified().await });
        }
        // Of two tasks of one place, each waits at another one. A single task that receives is no news.
        let [mut first, mut second] = std::array::from_fn(|_| mpsc::channel::<()>(1));
        let receivers: [Pin<Box<dyn Future<Output = ()> + Send>>; 2] = [
            Box::pin(async move { _ = first.1.recv().await }),
            Box::pin(async move { _ = second.1.recv().await }),
        ];
        receivers.into_iter().for_each(|receiver| drop(runtime.spawn(receiver)));
        let expected = format!("worth a look: 5 tasks spawned at {}:{line}:", file!());
        let text = || body(&page, "/text");
        until(|| text().lines().nth(1).is_some_and(|line| line.starts_with(&expected)));
        let text = text();
        assert!(text.starts_with("no finding; not looked at: "), "{text}");
        let place = format!(" wait for a Notify awaited at {}:{line}:", file!());
        assert!(text.contains(&place) && text.contains(", the longest for "), "{text}");
        let one = " has waited for a message of an mpsc channel awaited at ";
        until(|| body(&page, "/text").matches(one).count() == 2);
        let sentence = &json(&page)["runtimes"][0]["look_at"][0]["text"];
        assert!(sentence.as_str().unwrap().starts_with(&expected), "{sentence}");
    });
}

/// Each change wakes all of them, and each of them looks whether it is its own.
#[test]
fn tasks_that_take_the_workers_time_are_told_with_what_they_wait_for_in_between() {
    guarded(|| {
        let runtime = workers(1);
        let (page, (feed, changes)) = (page_of(runtime.handle()), watch::channel(0));
        let line = line!() + 3;
        for _ in 0..500 {
            let mut changes = changes.clone();
            runtime.spawn(async move { while changes.changed().await.is_ok() {} });
        }
        runtime.spawn(async move {
            while feed.send(0).is_ok() {
                liten::task::yield_now().await;
            }
        });
        let place = format!("worth a look: tasks spawned at {}:{line}:", file!());
        let cause =
            "of the workers' time; those that wait now wait for a watch channel awaited at ";
        until(|| {
            let text = body(&page, "/text");
            text.lines().any(|line| line.starts_with(&place) && line.contains(cause))
        });
    });
}

#[test]
#[cfg(target_os = "linux")]
fn connections_that_their_peers_have_closed_long_ago_are_told_by_their_address() {
    guarded(|| {
        let runtime = workers(1);
        let (page, listener) = (page_of(runtime.handle()), listen(&runtime));
        for _ in 0..8 {
            let (client, server) = runtime.block_on(connected(&listener));
            drop(client);
            // It has to do with something else.
            runtime.spawn(async move {
                pending::<()>().await;
                drop(server);
            });
        }
        let address = listener.local_addr().unwrap();
        let sentence =
            format!("8 connections at {address} were closed by their peers, the first one ");
        until_said(&page, &[&sentence, "still open: suspected that"]);
    });
}

/// It does not read, so it is not the one that is to say something.
#[test]
#[cfg(target_os = "linux")]
fn neither_a_peer_that_does_not_read_nor_a_client_is_told_to_be_silent() {
    guarded(|| {
        let runtime = workers(1);
        let (page, listener) = (page_of(runtime.handle()), listen(&runtime));
        let (stuck, silent) =
            runtime.block_on(async { (connected(&listener).await, connected(&listener).await) });
        let (mut reads, mut writes) = runtime.block_on(async { stuck.0.into_split() });
        runtime.spawn(async move { while writes.write_all(&[7; 65_536]).await.is_ok() {} });
        let task = runtime.spawn(async move { _ = reads.read(&mut [0; 8]).await }).id();
        let (mut waits, mut accepted) = silent;
        let asks = async move {
            waits.write_all(b"what").await.unwrap();
            _ = waits.read(&mut [0; 8]).await;
        };
        let other = runtime.spawn(asks).id();
        // A client may be silent for as long as it likes.
        let serves = async move {
            accepted.read_exact(&mut [0; 4]).await.unwrap();
            _ = accepted.read(&mut [0; 8]).await;
        };
        let server = runtime.spawn(serves).id();
        // By then, they would have been told, too.
        until_said(&page, &[&format!("task {other}, "), "suspected silent peer"]);
        let text = body(&page, "/text");
        for task in [task, server] {
            assert!(!text.contains(&format!("! task {task}, ")), "{text}");
        }
        drop(stuck.1);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn two_ends_that_both_write_are_told_with_what_lies_unread() {
    guarded(|| {
        let runtime = workers(1);
        let (page, listener) = (page_of(runtime.handle()), listen(&runtime));
        let write = |mut stream: TcpStream| async move {
            while stream.write_all(&[7; 65_536]).await.is_ok() {}
            drop(stream);
        };
        let (one, other) = runtime.block_on(connected(&listener));
        let tasks = [one, other].map(|end| runtime.spawn(write(end)).id());
        // And one end that writes to a peer which has sent nothing.
        let (alone, silent) = runtime.block_on(connected(&listener));
        let alone = runtime.spawn(write(alone)).id();
        until_said(&page, &[", lies unread: suspected deadlock", "; 2 connections are like this"]);
        let text = body(&page, "/text");
        let is_told = |task| text.contains(&format!("! task {task}, spawned at "));
        assert!(tasks.into_iter().any(is_told) && !is_told(alone), "{text}");
        drop(silent);
    });
}

/// The one that waits has a sender itself, perhaps.
#[test]
fn a_task_that_waits_for_the_end_of_one_that_waits_for_messages_is_worth_a_look() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        let drain = runtime.spawn(async move { while receiver.recv().await.is_some() {} });
        let id = drain.id();
        let supervisor = runtime.spawn(async move {
            _ = drain.await;
            drop(sender);
        });
        let begin = format!("worth a look: task {}, spawned at ", supervisor.id());
        let end = format!(" for the end of task {id}, spawned at ");
        until(|| {
            let text = body(&page, "/text");
            let mut lines = text.lines().filter(|line| line.starts_with(&begin));
            lines.any(|line| line.contains(&end) && line.ends_with("a sender is still there"))
        });
    });
}

/// As a subscription, for which there is no message for as long as it likes.
#[test]
#[cfg(target_os = "linux")]
fn a_peer_that_has_answered_is_worth_a_look_and_no_finding() {
    guarded(|| {
        let runtime = workers(1);
        let (page, listener) = (page_of(runtime.handle()), listen(&runtime));
        let connect = || runtime.block_on(connected(&listener));
        let ((subscribed, mut server), (asks, silent)) = (connect(), connect());
        let [answered, unanswered] = [subscribed, asks].map(|mut connection| {
            let request = async move {
                connection.write_all(b"subscribe").await.unwrap();
                let mut answer = [0; 2];
                connection.read_exact(&mut answer).await.unwrap();
                _ = connection.read(&mut answer).await;
            };
            runtime.spawn(request).id()
        });
        runtime.block_on(async {
            server.read_exact(&mut [0; 9]).await.unwrap();
            server.write_all(b"ok").await.unwrap();
        });
        // By then, the other one would have been told, too.
        until_said(&page, &[&format!("task {unanswered}, "), "suspected silent peer"]);
        let address = listener.local_addr().unwrap();
        let sentence =
            format!(" and for nothing else, as for {address}, from which nothing has come ");
        until(|| body(&page, "/text").contains(&sentence));
        let text = body(&page, "/text");
        assert!(!text.contains(&format!("! task {answered}, ")), "{text}");
        drop((server, silent));
    });
}

/// As when all clients of a service connect again.
#[test]
#[cfg(target_os = "linux")]
fn clients_that_become_more_are_no_leak_but_other_tasks_are() {
    guarded(|| {
        let runtime = workers(1);
        let (page, listener) = (page_of(runtime.handle()), listen(&runtime));
        let never = Arc::new(Notify::new());
        // Those that stay connected explain nothing.
        let _stay: Vec<_> = (0..40).map(|_| runtime.block_on(connected(&listener))).collect();
        let [serves, leaks] =
            [line!() + 6, line!() + 10].map(|line| format!(" spawned at {}:{line}:", file!()));
        let mut clients = Vec::new();
        let mut text = String::new();
        until(|| {
            let (client, mut server) = runtime.block_on(connected(&listener));
            clients.push(client);
            runtime.spawn(async move { _ = server.read(&mut [0; 8]).await });
            // More than there may be for each client.
            for _ in 0..4 {
                let never = never.clone();
                runtime.spawn(async move { never.notified().await });
            }
            thread::sleep(Duration::from_millis(200));
            text = body(&page, "/text");
            let told = |line: &str| line.starts_with('!') && line.contains(&leaks);
            text.lines().any(told)
        });
        let is_told = |line: &str| line.starts_with('!') && line.contains(&serves);
        assert!(clients.len() >= 20 && !text.lines().any(is_told), "{text}");
    });
}
