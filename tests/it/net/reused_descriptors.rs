//! Sockets that go while something is under way for them: a task that shared them works on, and one that gets
//! their descriptor, their port or their place in the driver's table gets nothing of theirs.

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::udp_pair;
use crate::support::probe::Count;
use liten::net::UdpSocket;
use liten::task::JoinHandle;
use std::collections::HashSet;
use std::sync::Arc;

/// A clone of its descriptor keeps the old socket alive in the system, and goes on getting datagrams.
#[cfg(unix)]
#[test]
fn a_late_event_never_reaches_a_new_socket() {
    use crate::support::loopback::{run, until_reported};
    use crate::support::probe::Calls;
    use std::os::fd::AsRawFd;
    use std::pin::pin;
    use std::task::Context;
    // Alone, so that no other test takes the descriptor that has become free.
    let body = || {
        run(async {
            let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let (mut tries, mut rounds) = (0, 0);
            while rounds < 200 {
                let old = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                let (address, number) = (old.local_addr().unwrap(), old.as_raw_fd());
                let clone = socket2::SockRef::from(&old).try_clone().unwrap();
                sender.send_to(b"late", address).await.unwrap();
                drop(old);
                let new = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                tries += 1;
                assert!(tries < 4_000, "the descriptor was used again in {rounds} of them");
                if new.as_raw_fd() != number {
                    // The runtime has read a file meanwhile.
                    continue;
                }
                rounds += 1;
                sender.send_to(b"later", address).await.unwrap();
                // What is reported once with the registration is no event of the old one.
                until_reported().await;
                while new.try_recv(&mut [0; 8]).is_ok() {}
                let (calls, waker) = Calls::new();
                let mut buf = [0; 8];
                let mut receiving = pin!(new.recv(&mut buf));
                assert!(receiving.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                sender.send_to(b"latest", address).await.unwrap();
                until_reported().await;
                assert_eq!(calls.get(), 0, "woken for a socket that is gone");
                drop(clone);
            }
        })
    };
    guarded(|| {
        crate::support::process::alone(
            "net::reused_descriptors::a_late_event_never_reaches_a_new_socket",
            body,
        )
    });
}

/// A reader of a shared socket: notes each number that it receives, at once.
fn reader(
    runtime: &liten::runtime::Runtime,
    socket: &Arc<UdpSocket>,
    note: impl Fn(u32) + Send + 'static,
) -> JoinHandle<()> {
    let socket = Arc::clone(socket);
    runtime.spawn(async move {
        let mut buf = [0; 4];
        while socket.recv(&mut buf).await.is_ok() {
            note(u32::from_le_bytes(buf));
        }
    })
}

/// Each takes part in the socket by an `Arc`; those that go, with a wake in their hands or without, take
/// no datagram with them, and the last one closes it.
#[test]
fn readers_of_a_shared_socket_that_are_aborted_take_nothing_with_them() {
    const READERS: usize = 8;
    guarded(|| {
        let runtime = workers(2);
        for _ in 0..50 {
            let (first, second) = runtime.block_on(udp_pair());
            let address = second.local_addr().unwrap();
            let second = Arc::new(second);
            let got = Arc::new(std::sync::Mutex::new(HashSet::new()));
            let noted = Count::default();
            let readers: Vec<_> = (0..READERS)
                .map(|_| {
                    let (got, noted) = (Arc::clone(&got), noted.clone());
                    reader(&runtime, &second, move |number| {
                        assert!(got.lock().unwrap().insert(number), "{number} came twice");
                        noted.add();
                    })
                })
                .collect();
            // The socket now belongs to its readers.
            drop(second);
            // The one that waits longest is the one that goes.
            for (sent, victim) in readers[..READERS - 1].iter().enumerate() {
                first.try_send(&(sent as u32).to_le_bytes()).unwrap();
                victim.abort();
                until(|| noted.get() == sent + 1);
            }
            assert!(std::net::UdpSocket::bind(address).is_err(), "one of them is still there");
            readers[READERS - 1].abort();
            for reader in readers {
                assert!(runtime.block_on(reader).unwrap_err().is_cancelled());
            }
            // Closed with the last of them; a process that another test starts has a copy until its exec.
            until(|| std::net::UdpSocket::bind(address).is_ok());
        }
    });
}
