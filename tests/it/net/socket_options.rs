//! Options of TCP and UDP sockets that one seldom needs.

use crate::support::loopback::{run, tcp_pair};
use liten::io::AsyncReadExt;
use liten::net::{TcpSocket, UdpSocket};
use std::io::ErrorKind;
use std::time::Duration;

#[test]
fn treatment_and_a_hasty_end_can_be_asked_for_over_tcp() {
    run(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_tos_v4(0x10).unwrap();
        assert_eq!(socket.tos_v4().unwrap(), 0x10);
        socket.set_zero_linger().unwrap();
        assert_eq!(socket.linger().unwrap(), Some(Duration::ZERO));
        let (client, mut server) = tcp_pair().await;
        client.set_zero_linger().unwrap();
        assert_eq!(client.linger().unwrap(), Some(Duration::ZERO));
        drop(client);
        let error = server.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "it was to be a reset");
    });
}

#[cfg(unix)]
#[test]
fn a_traffic_class_is_kept_and_is_for_ipv6_only() {
    // A machine without IPv6 has nothing to test here.
    if let Ok(socket) = TcpSocket::new_v6() {
        socket.set_tclass_v6(0x20).unwrap();
        assert_eq!(socket.tclass_v6().unwrap(), 0x20);
    }
    assert!(TcpSocket::new_v4().unwrap().set_tclass_v6(0x20).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_socket_is_bound_to_a_device_and_acknowledges_quickly() {
    run(async {
        let socket = TcpSocket::new_v4().unwrap();
        assert_eq!(socket.device().unwrap(), None);
        let nowhere = socket.bind_device(Some(b"no-such-device")).unwrap_err();
        // Linux before 5.7 looks at the privileges first.
        let privileged = nowhere.kind() != ErrorKind::PermissionDenied;
        assert_eq!(socket.bind_device(Some(b"lo")).is_ok(), privileged);
        let bound = privileged.then(|| b"lo".to_vec());
        assert_eq!(socket.device().unwrap(), bound);

        let listener = liten::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
        for on in [false, true] {
            client.set_quickack(on).unwrap();
            assert_eq!(client.quickack().unwrap(), on);
        }
    });
}

#[test]
fn treatment_and_a_device_can_be_asked_for_over_udp() {
    run(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.set_tos_v4(0x10).unwrap();
        assert_eq!(socket.tos_v4().unwrap(), 0x10);
        #[cfg(unix)]
        if let Ok(socket) = UdpSocket::bind((std::net::Ipv6Addr::LOCALHOST, 0)).await {
            socket.set_tclass_v6(0x20).unwrap();
            assert_eq!(socket.tclass_v6().unwrap(), 0x20);
        }
        #[cfg(target_os = "linux")]
        {
            assert_eq!(socket.device().unwrap(), None);
            let nowhere = socket.bind_device(Some(b"no-such-device")).unwrap_err();
            // Linux before 5.7 looks at the privileges first.
            let privileged = nowhere.kind() != ErrorKind::PermissionDenied;
            assert_eq!(socket.bind_device(Some(b"lo")).is_ok(), privileged);
            assert_eq!(socket.device().unwrap(), privileged.then(|| b"lo".to_vec()));
        }
    });
}
