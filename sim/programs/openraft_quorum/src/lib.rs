//! Five nodes of openraft that write to disks of varying speed.
//!
//! The leader of openraft 0.10.0-alpha.24 keeps the progress of its followers in an order that it
//! does not always restore (openraft #1802). It then takes an entry as committed that fewer than
//! three nodes have.

mod disk;
mod network;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use openraft::entry::RaftEntry;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::{Config, Raft};
use openraft_memstore::{
    ClientRequest, IntoMemClientRequest, MemStateMachine, TypeConfig, new_mem_store,
};
use tokio::time::sleep;

use disk::Disk;
use network::Peers;

pub const NODES: u64 = 5;

type Node = Raft<TypeConfig, Arc<MemStateMachine>>;

/// The last entry that each node has acknowledged. All nodes of this process note it here.
static ACKNOWLEDGED: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// What is wrong, if something is.
static BROKEN: OnceLock<String> = OnceLock::new();

/// One node. While it leads, it writes an entry every now and then.
///
/// # Panics
///
/// When a leader takes an entry as committed that no quorum has acknowledged.
#[tokio::main]
pub async fn node(id: u64) {
    let config = Config {
        heartbeat_interval: 50,
        election_timeout_min: 300,
        election_timeout_max: 600,
        ..Config::default()
    };
    let config = Arc::new(config.validate().expect("the configuration is valid"));
    let (log, state_machine) = new_mem_store();
    let raft: Node =
        Raft::new(id, config, Peers, Disk::new(log), state_machine).await.expect("start the node");
    tokio::spawn(network::serve(id, raft.clone()));
    if id == 1 {
        let members: BTreeMap<u64, ()> = (1..=NODES).map(|id| (id, ())).collect();
        raft.initialize(members).await.expect("initialize");
    }
    for serial in 0.. {
        sleep(Duration::from_millis(rand::random_range(1..5))).await;
        if let Some(text) = BROKEN.get() {
            panic!("{text}");
        }
        if raft.current_leader().await == Some(id) {
            let raft = raft.clone();
            tokio::spawn(async move {
                let _ = raft.client_write(ClientRequest::make_request(id, serial)).await;
            });
        }
    }
}

/// Gives node `id` the entries of a request, and notes how far it has them.
async fn append(
    id: u64,
    raft: &Node,
    request: AppendEntriesRequest<TypeConfig>,
) -> io::Result<AppendEntriesResponse<TypeConfig>> {
    check_committed(&request);
    let last = request.entries.last().map(RaftEntry::index);
    let last = last.or(request.prev_log_id.map(|previous| previous.index()));
    let response = raft.append_entries(request).await.map_err(io::Error::other)?;
    let last = match &response {
        AppendEntriesResponse::Success => last,
        AppendEntriesResponse::PartialSuccess(last) => last.map(|last| last.index()),
        _ => None,
    };
    if let Some(last) = last {
        let mut all = ACKNOWLEDGED.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = all.entry(id).or_default();
        *noted = last.max(*noted);
    }
    Ok(response)
}

/// Looks whether a quorum has what the leader takes as committed. The leader itself counts as one
/// that has it.
fn check_committed(request: &AppendEntriesRequest<TypeConfig>) {
    let Some(committed) = request.leader_commit else { return };
    let leader = request.vote.leader_id().node_id;
    let all = ACKNOWLEDGED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let have =
        all.iter().filter(|(id, last)| **id != leader && **last >= committed.index()).count();
    if have < NODES as usize / 2 {
        let text = format!(
            "no quorum has entry {}, which node {leader} committed: {all:?}",
            committed.index()
        );
        // The first one tells most. A panic would end this task only, so `node` panics with the
        // text.
        BROKEN.get_or_init(|| text);
    }
}
