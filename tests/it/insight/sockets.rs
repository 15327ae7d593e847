//! The table of the sockets of a runtime, over HTTP and as text.

use super::requests::{body, json};
use crate::support::guard::{guarded, until, workers};
use liten::insight::Builder;
use liten::io::AsyncReadExt;
use liten::net::{TcpListener, TcpStream, UdpSocket};
use liten::runtime::Runtime;
use std::io::Write;
use std::os::fd::AsRawFd;

fn accepted(runtime: &Runtime) -> (TcpListener, TcpStream, TcpStream) {
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let theirs = listener.accept().await.unwrap().0;
        (listener, ours, theirs)
    })
}

#[test]
fn each_socket_has_a_row_with_its_ends_and_the_task_that_waits() {
    guarded(|| {
        let runtime = workers(1);
        let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let (listener, mut ours, theirs) = accepted(&runtime);
        let datagrams = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let [own, peer] = [ours.local_addr(), ours.peer_addr()].map(|end| end.unwrap().to_string());
        let ours_fd = ours.as_raw_fd();
        let reader = runtime.spawn(async move { _ = ours.read(&mut [0; 8]).await });
        // Null: the picture is from before.
        let socket = |descriptor: i32| {
            let all = json(&page);
            let sockets = all["runtimes"][0]["sockets"].as_array().unwrap().clone();
            let mut sockets = sockets.into_iter();
            sockets.find(|socket| socket["descriptor"] == descriptor).unwrap_or_default()
        };
        until(|| socket(ours_fd)["tasks"][0]["id"].as_u64() == Some(u64::from(reader.id())));
        let seen = socket(ours_fd);
        assert_eq!(seen["tasks"][0]["event"], "readable");
        assert_eq!((&seen["kind"], &seen["state"]), (&"tcp".into(), &"established".into()));
        assert_eq!((&seen["local"], &seen["peer"]), (&own.clone().into(), &peer.clone().into()));
        assert_eq!((&seen["received"], &seen["unsent"]), (&0.into(), &0.into()));
        // The time for which nothing has happened grows from look to look.
        until(|| socket(ours_fd)["quiet_ms"].as_u64().is_some_and(|time| time > 500));
        // What lies in the other end's buffer is shown; nothing waits for it.
        let mut writer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        until(|| socket(listener.as_raw_fd())["received"] == 1);
        let (waiting, _) = runtime.block_on(listener.accept()).unwrap();
        writer.write_all(b"unread").unwrap();
        until(|| socket(waiting.as_raw_fd())["received"] == 6);
        assert_eq!(socket(waiting.as_raw_fd())["tasks"], serde_json::json!([]));
        let listens = socket(listener.as_raw_fd());
        assert_eq!((&listens["state"], &listens["peer"]), (&"listens".into(), &().into()));
        let udp = socket(datagrams.as_raw_fd());
        assert_eq!((&udp["kind"], &udp["state"]), (&"udp".into(), &"unconnected".into()));
        let text = body(&page, "/text");
        let row =
            format!("  fd {ours_fd}, tcp {own} → {peer}, established, 0 bytes to read, 0 to send");
        assert!(text.contains(&row) && text.contains(", no event for "), "{text}");
        assert_eq!(json(&page)["runtimes"][0]["sockets_trouble"], serde_json::Value::Null);
        drop(theirs);
        runtime.block_on(reader).unwrap();
        let gone = || json(&page)["runtimes"][0]["sockets"].to_string();
        until(|| !gone().contains(&format!("\"descriptor\":{ours_fd},")));
    });
}

#[test]
fn of_very_many_sockets_some_have_a_row_and_the_rest_is_counted() {
    guarded(|| {
        let runtime = workers(1);
        let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let bind = || runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let sockets: Vec<_> = (0..300).map(|_| bind()).collect();
        let all = json(&page);
        let seen = &all["runtimes"][0];
        assert_eq!(seen["sources"], 300);
        assert_eq!(seen["sockets"].as_array().unwrap().len(), 200);
        assert_eq!(seen["sockets_left_out"], 100);
        assert!(body(&page, "/text").contains("and 250 sources more"));
        assert_eq!(runtime.handle().dump().sockets().len(), 300);
        drop(sockets);
        until(|| json(&page)["runtimes"][0]["sockets"] == serde_json::json!([]));
    });
}
