//! Requests between nodes, as JSON with its length ahead, over one connection for each pair.

use std::future::Future;
use std::io;

use openraft::OptionalSend;
use openraft::alias::{SnapshotOf, VoteOf};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{RPCOption, RaftNetworkFactory, RaftNetworkV2};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft_memstore::TypeConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{Node, append};

#[derive(Serialize, Deserialize)]
enum Request {
    Append(AppendEntriesRequest<TypeConfig>),
    Vote(VoteRequest<TypeConfig>),
    PreVote(VoteRequest<TypeConfig>),
}

async fn send(stream: &mut TcpStream, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    stream.write_u32(u32::try_from(bytes.len()).map_err(io::Error::other)?).await?;
    stream.write_all(&bytes).await
}

async fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<T> {
    let length = stream.read_u32().await?;
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Answers the requests of the other nodes.
pub async fn serve(id: u64, raft: Node) {
    let listener = TcpListener::bind("0.0.0.0:80").await.expect("bind");
    while let Ok((mut stream, _)) = listener.accept().await {
        let raft = raft.clone();
        tokio::spawn(async move {
            // The end of the connection ends the task.
            while answer(id, &raft, &mut stream).await.is_ok() {}
        });
    }
}

async fn answer(id: u64, raft: &Node, stream: &mut TcpStream) -> io::Result<()> {
    match receive(stream).await? {
        Request::Append(request) => {
            let response = append(id, raft, request).await?;
            send(stream, &response).await
        }
        Request::Vote(request) => {
            let response = raft.vote(request).await.map_err(io::Error::other)?;
            send(stream, &response).await
        }
        Request::PreVote(request) => {
            let response = raft.pre_vote(request).await.map_err(io::Error::other)?;
            send(stream, &response).await
        }
    }
}

/// The way to the other nodes.
pub struct Peers;

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _: &()) -> Peer {
        Peer { address: format!("node{target}:80"), stream: None }
    }
}

pub struct Peer {
    address: String,
    stream: Option<TcpStream>,
}

impl Peer {
    /// A request that is given up takes its connection with it, so that no later one gets its
    /// answer.
    async fn ask<T: DeserializeOwned>(
        &mut self,
        request: Request,
    ) -> Result<T, RPCError<TypeConfig>> {
        let exchange = async {
            let mut stream = match self.stream.take() {
                Some(stream) => stream,
                None => TcpStream::connect(&self.address).await?,
            };
            send(&mut stream, &request).await?;
            let response = receive(&mut stream).await?;
            self.stream = Some(stream);
            Ok(response)
        };
        exchange.await.map_err(|error: io::Error| Unreachable::new(&error).into())
    }
}

impl RaftNetworkV2<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<TypeConfig>, RPCError<TypeConfig>> {
        self.ask(Request::Append(request)).await
    }

    async fn vote(
        &mut self,
        request: VoteRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        self.ask(Request::Vote(request)).await
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        self.ask(Request::PreVote(request)).await
    }

    /// The log is short, so that no node needs a snapshot.
    async fn full_snapshot(
        &mut self,
        _: VoteOf<TypeConfig>,
        _: SnapshotOf<TypeConfig>,
        _: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<TypeConfig>, StreamingError<TypeConfig>> {
        Err(Unreachable::from_string("snapshots are not sent").into())
    }
}
