//! Unix sockets whose other side has no room.

use crate::current_thread;
use std::env;
use std::process;
use std::time::Duration;
use tokio::net::{UnixSocket, UnixStream};
use tokio::time::{sleep, timeout};

/// More than a listener with a queue of one takes.
const CLIENTS: usize = 8;

pub(crate) fn keep_all() {
    a_connection_waits_for_room_at_its_listener();
}

/// Does not hold on tokio, where most of them fail, because the system has no room for them at once.
fn a_connection_waits_for_room_at_its_listener() {
    let path = env::temp_dir().join(format!("promises-full-{}", process::id()));
    current_thread().block_on(async {
        let socket = UnixSocket::new_stream().expect("a socket");
        socket.bind(&path).expect("a path");
        let listener = socket.listen(1).expect("a listener");
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let path = path.clone();
                tokio::spawn(async move {
                    match client % 2 {
                        0 => UnixStream::connect(path).await.map(drop),
                        _ => UnixSocket::new_stream()?.connect(path).await.map(drop),
                    }
                })
            })
            .collect();
        // All of them have tried by then.
        sleep(Duration::from_millis(20)).await;
        for _ in 0..CLIENTS {
            let accepted = timeout(Duration::from_secs(20), listener.accept()).await;
            drop(accepted.expect("a client tries again").expect("a connection"));
        }
        for client in clients {
            client.await.expect("no panic").expect("it was accepted");
        }
    });
    std::fs::remove_file(path).expect("it is there");
}
