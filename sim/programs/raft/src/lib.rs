//! The leader election of Raft. A node that sends but does not hear deposes every leader, for ever: etcd
//! #8499.
//!
//! It hears no leader, so it stands for election in one new term after another. The others hear of each new
//! term and depose their leader. There is never more than one leader in a term, and no leader is of use.

mod network;
mod node;

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

pub use crate::node::{Elections, NODES, run};

/// How long a leader must lead before a client takes it for stable.
const STABLE: Duration = Duration::from_secs(2);

/// Returns when one node has led for a while.
///
/// # Panics
///
/// When there is no such node within this time, or two nodes lead in one term.
#[tokio::main]
pub async fn client(within: Duration) {
    let stable = timeout(within, stable_leader()).await;
    assert!(stable.is_ok(), "no leader was stable within {within:?}");
}

/// Looks at the leaders for a while, and does not mind when there is none.
///
/// # Panics
///
/// When two nodes lead in one term.
#[tokio::main]
pub async fn watcher(time: Duration) {
    let _ = timeout(time, stable_leader()).await;
}

async fn stable_leader() {
    let mut seen = Vec::new();
    let mut since = Instant::now();
    loop {
        for name in NODES {
            let Ok(Some(term)) = network::leads(name).await else { continue };
            let another = seen.iter().find(|(known, leader)| *known == term && *leader != name);
            assert!(another.is_none(), "two nodes lead in term {term}: {name} and {another:?}");
            if seen.last() != Some(&(term, name)) {
                seen.push((term, name));
                since = Instant::now();
            } else if since.elapsed() >= STABLE {
                return;
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}
