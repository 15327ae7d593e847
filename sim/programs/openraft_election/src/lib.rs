//! Three nodes of openraft, of which one is lost. The other two must elect a leader.
//!
//! A node of openraft 0.10.0-alpha.23 does not learn a higher term from the answer to its question
//! whether it would be elected (openraft #1796). One of two nodes has the higher term and the other
//! one the longer log: neither is elected ever again.

#[path = "../../openraft_quorum/src/network.rs"]
mod network;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::{Config, Raft};
use openraft_memstore::{
    ClientRequest, IntoMemClientRequest, MemStateMachine, TypeConfig, new_mem_store,
};
use tokio::time::sleep;

use network::Peers;

type Node = Raft<TypeConfig, Arc<MemStateMachine>>;

/// How many entries were written. All nodes of this process count here.
pub static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// One node. While it leads, it writes an entry every now and then.
///
/// # Panics
///
/// When the node does not start.
#[tokio::main]
pub async fn node(id: u64) {
    let config = Config {
        heartbeat_interval: 100,
        election_timeout_min: 400,
        election_timeout_max: 800,
        enable_pre_vote: Some(true),
        ..Config::default()
    };
    let config = Arc::new(config.validate().expect("the configuration is valid"));
    let (log, state_machine) = new_mem_store();
    let raft: Node =
        Raft::new(id, config, Peers, log, state_machine).await.expect("start the node");
    tokio::spawn(network::serve(id, raft.clone()));
    if id == 1 {
        let members: BTreeMap<u64, ()> = (1..=3).map(|id| (id, ())).collect();
        raft.initialize(members).await.expect("initialize");
    }
    for serial in 0.. {
        sleep(Duration::from_millis(100)).await;
        if raft.current_leader().await == Some(id) {
            let raft = raft.clone();
            tokio::spawn(async move {
                if raft.client_write(ClientRequest::make_request(id, serial)).await.is_ok() {
                    WRITTEN.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    }
}

async fn append(
    _: u64,
    raft: &Node,
    request: AppendEntriesRequest<TypeConfig>,
) -> io::Result<AppendEntriesResponse<TypeConfig>> {
    raft.append_entries(request).await.map_err(io::Error::other)
}
