//! A peer that vanishes without a word: no end, no reset, no answer to anything. On loopback that is a peer
//! whose socket drops whatever comes in before the protocol sees it; it takes no privileges.
//!
//! Not `TCP_REPAIR`, which needs privileges and vanishes less: the kernel goes on answering for it with a
//! reset.

use crate::support::guard::{guarded, until};
use crate::support::loopback::{bounded, poll_once, tcp_pair};
use crate::support::probe::Count;
use crate::support::process::{alone, descriptors, have_clocks};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpStream;
use liten::runtime::Runtime;
use socket2::{SockFilter, SockRef, TcpKeepalive};
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The shortest that Linux has.
const SECOND: Duration = Duration::from_secs(1);

/// From now on the peer hears nothing and therefore says nothing. It must be kept: when it is closed, it
/// says so.
fn vanish(peer: &TcpStream) {
    // "Return 0": of each packet that comes, keep nothing.
    const RETURN: u16 = 6;
    SockRef::from(peer).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)]).unwrap();
}

fn probe(stream: &TcpStream) {
    let probes = TcpKeepalive::new().with_time(SECOND).with_interval(SECOND).with_retries(1);
    SockRef::from(stream).set_tcp_keepalive(&probes).unwrap();
}

/// How long what was sent may stay without an answer.
fn limit(stream: &TcpStream) {
    SockRef::from(stream).set_tcp_user_timeout(Some(SECOND)).unwrap();
}

#[track_caller]
fn assert_timed_out(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
}

/// Runs `test` in a process of its own, and looks whether it leaves a descriptor or a task behind.
fn leaves_nothing<F: Future<Output = ()>>(name: &str, test: impl Fn() -> F) {
    guarded(|| {
        alone(name, || {
            let runtime = Runtime::new().unwrap();
            runtime.block_on(have_clocks(1));
            // The first round may open what the process then keeps.
            runtime.block_on(bounded(async { drop(tcp_pair().await) }));
            let before = descriptors();
            runtime.block_on(bounded(test()));
            // The runtime may be reading the limits of the process at the moment.
            until(|| descriptors() <= before);
            assert_eq!(runtime.metrics().num_cold_tasks(), 0, "a task is left");
        });
    });
}

#[test]
fn keep_alive_ends_all_waits_for_a_vanished_peer() {
    leaves_nothing("net::peer_vanishes::keep_alive_ends_all_waits_for_a_vanished_peer", || async {
        let (ours, peer) = tcp_pair().await;
        probe(&ours);
        let ours = Arc::new(ours);
        // Two that read, one that waits for readiness; the one that comes to the error first takes it, the
        // others find the end.
        let told = Count::default();
        let (a, b, c) = (Arc::clone(&ours), Arc::clone(&ours), Arc::clone(&ours));
        let read = |stream: Arc<TcpStream>, told: Count| async move {
            match (&*stream).read(&mut [0; 8]).await {
                Ok(length) => assert_eq!(length, 0),
                Err(error) => {
                    assert_timed_out(&error);
                    told.add();
                }
            }
        };
        let readers = [liten::spawn(read(a, told.clone())), liten::spawn(read(b, told.clone()))];
        let ready = liten::spawn(async move { c.readable().await });
        vanish(&peer);
        for reader in readers {
            reader.await.unwrap();
        }
        ready.await.unwrap().unwrap();
        assert_eq!(told.get(), 1, "the error is told once");
        assert!((&*ours).write(b"x").await.is_err(), "the connection is gone");
        assert_eq!((&*ours).read(&mut [0; 8]).await.unwrap(), 0);
        drop(peer);
    });
}

#[test]
fn a_write_to_a_vanished_peer_is_an_error_for_reader_and_writer() {
    let name = "net::peer_vanishes::a_write_to_a_vanished_peer_is_an_error_for_reader_and_writer";
    leaves_nothing(name, || async {
        let (mut ours, peer) = tcp_pair().await;
        limit(&ours);
        vanish(&peer);
        // The operating system takes it, and no program takes it from there.
        ours.write_all(b"are you there?").await.unwrap();
        assert_timed_out(&ours.read(&mut [0; 8]).await.unwrap_err());
        assert_eq!(ours.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        drop(peer);
    });
}

#[test]
fn a_write_that_waits_for_room_ends_when_the_peer_vanishes() {
    let name = "net::peer_vanishes::a_write_that_waits_for_room_ends_when_the_peer_vanishes";
    leaves_nothing(name, || async {
        let (mut ours, peer) = tcp_pair().await;
        SockRef::from(&ours).set_send_buffer_size(16_384).unwrap();
        limit(&ours);
        vanish(&peer);
        let block = vec![7; 1 << 20];
        {
            let mut writing = pin!(ours.write_all(&block));
            assert!(poll_once(&mut writing).await.is_none(), "there was room for everything");
            assert_timed_out(&writing.await.unwrap_err());
        }
        // Closing a connection that is gone neither fails nor waits.
        ours.close().await.unwrap();
        drop(peer);
    });
}

/// Half of a split stream waits to read, the other half writes.
#[test]
fn both_halves_of_a_stream_are_told_of_a_vanished_peer() {
    let name = "net::peer_vanishes::both_halves_of_a_stream_are_told_of_a_vanished_peer";
    leaves_nothing(name, || async {
        let (ours, peer) = tcp_pair().await;
        limit(&ours);
        let (mut read, mut write) = ours.into_split();
        let reader = liten::spawn(async move { read.read(&mut [0; 8]).await });
        vanish(&peer);
        let writer = liten::spawn(async move {
            loop {
                if let Err(error) = write.write_all(&[7; 1 << 16]).await {
                    return error;
                }
            }
        });
        // The operating system tells the error once; the other half finds the end, or a broken pipe.
        let read = reader.await.unwrap();
        let written = writer.await.unwrap();
        match read {
            Err(error) => {
                assert_timed_out(&error);
                assert!(matches!(written.kind(), ErrorKind::BrokenPipe | ErrorKind::TimedOut));
            }
            Ok(length) => {
                assert_eq!(length, 0);
                assert_timed_out(&written);
            }
        }
        drop(peer);
    });
}
