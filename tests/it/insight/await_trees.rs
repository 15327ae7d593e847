//! Await trees: where tasks wait, without a word about it in their code.

use crate::guard::{guarded, until, workers};
use liten::insight::{AwaitNode, AwaitTree, AwaitTreeError};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::sync::{Mutex, oneshot};
use liten::task::{JoinSet, TaskId, yield_now};
use liten::time::sleep;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

/// Far more than any poll takes.
const PATIENCE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn tree(runtime: &Runtime, task: TaskId) -> AwaitTree {
    runtime.handle().await_tree(task, PATIENCE).unwrap()
}

/// Of a future that has come to where it waits.
fn tree_of(future: impl Future<Output = ()> + Send + 'static) -> AwaitTree {
    let runtime = workers(2);
    let task = runtime.spawn(future);
    until(|| runtime.metrics().num_cold_tasks() >= 1);
    tree(&runtime, task.id())
}

/// The nodes whose names contain `name`.
fn named<'a>(nodes: &'a [AwaitNode], name: &str, found: &mut Vec<&'a AwaitNode>) {
    for node in nodes {
        if node.function().contains(name) {
            found.push(node);
        }
        named(node.children(), name, found);
    }
}

#[test]
fn spike() {
    guarded(|| {
        println!("{}", tree_of(nest::first()));
        println!("{}", tree_of(nest::chan()));
        println!("{}", tree_of(nest::toki()));
        println!("{}", tree_of(nest::set()));
        println!("{}", tree_of(nest::lock()));
    });
}

mod nest {
    use super::*;
    pub(super) async fn first() { second().await }
    async fn second() { liten::join!(third(), chan(), toki()); }
    async fn third() { fourth().await }
    async fn fourth() { liten::select! { () = fifth() => {}, () = pending() => {}, () = set() => {} } }
    async fn fifth() { sixth().await }
    async fn sixth() { sleep(HOUR).await }
    pub(super) async fn chan() { let (_s, r) = smol::channel::bounded::<()>(1); r.recv().await.unwrap(); }
    pub(super) async fn toki() { let n = tokio::sync::Semaphore::new(0); _ = n.acquire().await.unwrap(); }
    pub(super) async fn set() { let mut set = JoinSet::new(); set.spawn(pending::<()>()); set.join_next().await; }
    pub(super) async fn lock() { let m = Mutex::new(()); let _g = m.lock().await; m.lock().await; }
}
