//! A server of gRPC that is told to end while a client is connected.
//!
//! A client that connects ahead and says nothing keeps the server from ending (hyper #4170): the
//! connection notes that it shall end, and waits for the handshake first. No release mends it yet.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tonic::service::Routes;
use tonic::transport::Server;

/// Serves for one second, and as long as it takes to end.
///
/// # Errors
///
/// When the server cannot begin.
#[tokio::main]
pub async fn server() -> Result<(), tonic::transport::Error> {
    let address = "0.0.0.0:80".parse().expect("the address is well-formed");
    let end = sleep(Duration::from_secs(1));
    Server::builder().add_routes(Routes::default()).serve_with_shutdown(address, end).await
}

async fn connect() -> TcpStream {
    loop {
        match TcpStream::connect("server:80").await {
            Ok(socket) => return socket,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Connects, and waits for the server to hang up.
#[tokio::main]
pub async fn silent_client() {
    let mut socket = connect().await;
    let _ = socket.read_to_end(&mut Vec::new()).await;
}

/// The same, but it speaks HTTP/2.
#[tokio::main]
pub async fn greeting_client() {
    if let Ok((_requests, connection)) = h2::client::handshake(connect().await).await {
        let _ = connection.await;
    }
}
