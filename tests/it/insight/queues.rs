//! What lies in channels and sets of tasks, by the place where they are made.

use super::culprits::page_of;
use super::requests::{body, json};
use crate::support::guard::{guarded, until, workers};
use liten::insight::Server;
use liten::sync::{broadcast, mpsc};
use liten::task::JoinSet;
use std::future::pending;

/// A place in this file.
fn at(line: u32) -> String {
    format!("{}:{line}:", file!())
}

/// The row of what is made at that line.
fn row(page: &Server, line: u32) -> serde_json::Value {
    let all = json(page);
    let mut rows = all["runtimes"][0]["queues"].as_array().unwrap().iter();
    let is_it = |row: &&serde_json::Value| row["made_at"].as_str().unwrap().starts_with(&at(line));
    rows.rfind(is_it).cloned().unwrap_or_default()
}

#[test]
fn what_lies_in_channels_and_sets_is_shown_by_their_places() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (channel, sets, held) = runtime.block_on(async {
            let channel = line!() + 1;
            let (sender, receiver) = mpsc::unbounded_channel();
            (0..10_000).for_each(|number| sender.send(number).unwrap());
            let line = line!() + 1;
            let mut set = JoinSet::new();
            (0..30).for_each(|_| drop(set.spawn(pending::<()>())));
            (channel, line, (sender, receiver, set))
        });
        // Right to a chunk.
        let seen = row(&page, channel);
        let length = seen["length"].as_u64().unwrap();
        assert!((9_000..=10_000).contains(&length), "{seen}");
        assert_eq!(seen["kind"], "mpsc_unbounded");
        let seen = row(&page, sets);
        assert_eq!((&seen["kind"], &seen["length"]), (&"join_set".into(), &30.into()), "{seen}");
        let text = body(&page, "/text");
        assert!(text.contains(&format!("1 JoinSet made at {}", at(sets))), "{text}");
        assert!(text.contains(": 30 tasks, ended ones included"), "{text}");
        let (sender, mut receiver, set) = held;
        // What the receiver has taken counts until it is received.
        for _ in 0..5_000 {
            receiver.try_recv().unwrap();
        }
        until(|| {
            let length = row(&page, channel)["length"].as_u64().unwrap();
            (4_500..=5_500).contains(&length)
        });
        drop((sender, receiver, set));
        until(|| row(&page, channel).is_null() && row(&page, sets).is_null());
    });
}

#[test]
fn a_channel_is_full_if_a_task_waits_for_room() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (made, mut receiver) = runtime.block_on(async {
            let made = line!() + 1;
            let (sender, receiver) = mpsc::channel(20);
            drop(liten::spawn(async move { while sender.send(()).await.is_ok() {} }));
            (made, receiver)
        });
        until(|| row(&page, made)["length"] == 20);
        let seen = row(&page, made);
        assert_eq!((&seen["kind"], &seen["capacity"]), (&"mpsc".into(), &20.into()), "{seen}");
        assert_eq!(seen["what"], "1 mpsc channel with room for 20");
        // So short that its length is not known.
        receiver.close();
        while receiver.try_recv().is_ok() {}
        until(|| row(&page, made)["holds"] == "how full they are is not known");
    });
}

#[test]
fn values_that_receivers_have_lost_are_counted() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (made, _kept) = runtime.block_on(async {
            let made = line!() + 1;
            let (sender, mut receiver) = broadcast::channel(16);
            (0..1_000).for_each(|number| drop(sender.send(number)));
            receiver.recv().await.unwrap_err();
            (made, receiver)
        });
        assert_eq!(row(&page, made)["lost"], 984);
        let metrics = body(&page, "/metrics");
        let name = "liten_broadcast_lost_values{";
        let sample =
            metrics.lines().find(|line| line.starts_with(name) && line.contains(&at(made)));
        assert!(sample.is_some_and(|sample| sample.ends_with(" 984")), "{sample:?}");
    });
}

#[test]
fn a_task_that_waits_for_a_channel_names_the_place_where_it_was_made() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (made, _sender) = runtime.block_on(async {
            let made = line!() + 1;
            let (sender, mut receiver) = mpsc::channel::<u32>(1);
            drop(liten::spawn(async move { receiver.recv().await }));
            (made, sender)
        });
        until(|| {
            let text = body(&page, "/text");
            text.lines().any(|line| {
                line.contains("a message of an mpsc channel (#")
                    && line.contains(&format!(") made at {}", at(made)))
            })
        });
    });
}

#[test]
fn the_bytes_of_futures_are_summed_by_place() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let line = line!() + 3;
        for _ in 0..7 {
            let bytes = [1_u8; 1_000];
            drop(runtime.spawn(async move {
                pending::<()>().await;
                std::hint::black_box(&bytes);
            }));
        }
        until(|| json(&page)["runtimes"][0]["tasks"]["waiting"] == 7);
        let all = json(&page);
        let place = &all["runtimes"][0]["places"][0];
        assert!(place["spawned_at"].as_str().unwrap().starts_with(&at(line)), "{place}");
        let (each, bytes) = (place["future_size"].as_u64(), place["bytes"].as_u64());
        assert!(each >= Some(1_000) && bytes == each.map(|each| 7 * each), "{place}");
        let name = "liten_future_bytes_spawned_at{";
        let metrics = body(&page, "/metrics");
        let sample = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(sample.ends_with(&format!(" {}", bytes.unwrap())), "{sample}");
    });
}
