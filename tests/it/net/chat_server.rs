//! A chat server, as users build it: one task per client, a room that is a task of its own and takes what is
//! said from a bounded channel, a broadcast to all clients, and a watch that ends everything.

use crate::support::guard::{guarded, workers};
use liten::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use liten::net::{TcpListener, TcpStream};
use liten::select;
use liten::sync::broadcast::error::RecvError;
use liten::sync::{broadcast, mpsc, watch};
use liten::task::JoinSet;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

const CLIENTS: usize = 8;
const LINES: usize = 50;

/// What a task of the server needs of the rest.
#[derive(Clone)]
struct Room {
    said: mpsc::Sender<String>,
    heard: broadcast::Sender<Arc<str>>,
    over: watch::Receiver<bool>,
}

/// Serves until `over`, and returns how many lines were said when all clients have been sent home.
async fn serve(listener: TcpListener, over: watch::Receiver<bool>, capacity: usize) -> usize {
    let (said, mut hear) = mpsc::channel(4);
    let (heard, _) = broadcast::channel(capacity);
    let tell = heard.clone();
    // Gives the lines their order. Ends when the last client has let go of its sender.
    let lines = liten::spawn(async move {
        let mut lines = 0;
        while let Some(line) = hear.recv().await {
            lines += 1;
            // Fails when no receiver is left.
            let _ = tell.send(Arc::from(line));
        }
        lines
    });
    let mut room = Room { said, heard, over };
    let mut clients = JoinSet::new();
    loop {
        let stream = select! {
            accepted = listener.accept() => accepted.unwrap().0,
            _ = room.over.changed() => break,
        };
        clients.spawn(attend(stream, room.clone()));
    }
    drop(room);
    clients.join_all().await;
    lines.await.unwrap()
}

/// One client: what it says goes to the room while what the room says goes to it.
async fn attend(stream: TcpStream, mut room: Room) {
    let mut listener = room.heard.subscribe();
    let mut writer = &stream;
    writer.write_all(b"welcome\n").await.unwrap();
    let mut reader = pin!(async {
        let mut reader = BufReader::new(&stream);
        let mut line = String::new();
        while reader.read_line(&mut line).await.unwrap() > 0 {
            room.said.send(std::mem::take(&mut line)).await.unwrap();
        }
    });
    let mut silent = false;
    loop {
        let line = select! {
            // The client has said all it wants to say, and still listens.
            () = &mut reader, if !silent => {
                silent = true;
                continue;
            }
            line = listener.recv() => match line {
                Ok(line) => line,
                Err(RecvError::Lagged(missed)) => Arc::from(format!("{missed} missed\n")),
                Err(RecvError::Closed) => break,
            },
            _ = room.over.changed() => break,
        };
        writer.write_all(line.as_bytes()).await.unwrap();
    }
    writer.write_all(b"bye\n").await.unwrap();
}

/// A client that has been welcomed.
async fn enter(address: SocketAddr) -> BufReader<TcpStream> {
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    assert_eq!(line(&mut stream).await, "welcome\n");
    stream
}

async fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    line
}

#[test]
fn all_clients_hear_all_lines_in_one_order() {
    guarded(|| {
        workers(2).block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (end, over) = watch::channel(false);
            let server = liten::spawn(serve(listener, over, CLIENTS * LINES));
            let mut clients = Vec::new();
            for name in 0..CLIENTS {
                clients.push((name, enter(address).await));
            }
            let talk = |(name, mut stream): (usize, BufReader<TcpStream>)| {
                liten::spawn(async move {
                    let mut heard = Vec::new();
                    for number in 0..LINES {
                        let text = format!("{name} says {number}\n");
                        stream.get_mut().write_all(text.as_bytes()).await.unwrap();
                    }
                    while heard.len() < CLIENTS * LINES {
                        heard.push(line(&mut stream).await);
                    }
                    (heard, stream)
                })
            };
            let talks: Vec<_> = clients.into_iter().map(talk).collect();
            let mut all = Vec::new();
            for talk in talks {
                all.push(talk.await.unwrap());
            }
            let first = all[0].0.clone();
            assert!(all.iter().all(|(heard, _)| *heard == first), "one order for all");
            for name in 0..CLIENTS {
                let its = first.iter().filter(|line| line.starts_with(&format!("{name} says ")));
                let said = (0..LINES).map(|number| format!("{name} says {number}\n"));
                assert!(its.eq(said.collect::<Vec<_>>().iter()), "each in the order it was said");
            }
            end.send(true).unwrap();
            for (_, mut stream) in all {
                assert_eq!(line(&mut stream).await, "bye\n");
                assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
            }
            assert_eq!(server.await.unwrap(), CLIENTS * LINES);
        });
    });
}

/// A client that does not take what it is sent costs the others nothing, and is told how much it has missed.
#[test]
fn a_client_that_does_not_listen_holds_up_no_other() {
    guarded(|| {
        workers(2).block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (end, over) = watch::channel(false);
            let server = liten::spawn(serve(listener, over, 4));
            let (mut deaf, mut talker) = (enter(address).await, enter(address).await);
            // More than the buffers of a connection hold.
            let long = "x".repeat(64 * 1024) + "\n";
            let said = 500;
            for _ in 0..said {
                talker.get_mut().write_all(long.as_bytes()).await.unwrap();
                assert_eq!(line(&mut talker).await, long);
            }
            let (mut heard, mut missed) = (0, 0);
            while heard + missed < said {
                let line = line(&mut deaf).await;
                match line.strip_suffix(" missed\n") {
                    Some(count) => missed += count.parse::<usize>().unwrap(),
                    None => heard += 1,
                }
            }
            assert!(missed > 0, "the buffers hold less than was said");
            assert_eq!(heard + missed, said);
            end.send(true).unwrap();
            assert_eq!(line(&mut deaf).await, "bye\n");
            assert_eq!(server.await.unwrap(), said);
        });
    });
}
