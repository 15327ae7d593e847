//! Uploads over one connection of HTTP/2, of which there are more than the server takes at once.
//!
//! h2 0.4.12 gives the window of the connection to streams that are not open yet (h2 #853, #860).
//! When they have all of it, the open streams cannot send, do not end, and no further stream is
//! opened.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

const BURSTS: usize = 30;
const UPLOADS: usize = 2;
const CHUNKS: usize = 2;
const CHUNK: usize = 8 * 1024;

/// Counts the bytes of each upload. It takes four uploads at once.
#[tokio::main]
pub async fn server() {
    let listener = TcpListener::bind("0.0.0.0:80").await.expect("bind");
    loop {
        let (socket, _) = listener.accept().await.expect("accept");
        tokio::spawn(async move {
            let mut connection =
                h2::server::Builder::new().max_concurrent_streams(4).handshake(socket).await?;
            while let Some(request) = connection.accept().await {
                let (request, respond) = request?;
                tokio::spawn(count(request.into_body(), respond));
            }
            Ok::<_, h2::Error>(())
        });
    }
}

async fn count(mut body: RecvStream, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let mut length = 0;
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        length += chunk.len();
        body.flow_control().release_capacity(chunk.len())?;
    }
    let response = Response::builder().header("length", length).body(()).expect("a response");
    respond.send_response(response, true)?;
    Ok(())
}

/// Makes one upload, and then several every millisecond.
///
/// # Panics
///
/// When an upload fails.
#[tokio::main]
pub async fn client() {
    let socket = loop {
        match TcpStream::connect("server:80").await {
            Ok(socket) => break socket,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    };
    let (client, connection) = h2::client::handshake(socket).await.expect("handshake");
    tokio::spawn(connection);
    // After the first one the client knows how many streams the server takes.
    upload(client.clone()).await.expect("the first upload");
    let mut uploads = Vec::new();
    for _ in 0..BURSTS {
        uploads.extend((0..UPLOADS).map(|_| tokio::spawn(upload(client.clone()))));
        sleep(Duration::from_millis(1)).await;
    }
    for task in uploads {
        task.await.expect("the task").expect("an upload");
    }
}

async fn upload(client: SendRequest<Bytes>) -> Result<(), h2::Error> {
    let mut client = client.ready().await?;
    let request = Request::post("http://server/").body(()).expect("a request");
    let (response, mut body) = client.send_request(request, false)?;
    for _ in 0..CHUNKS {
        send(&mut body, Bytes::from_static(&[7; CHUNK])).await?;
    }
    body.send_data(Bytes::new(), true)?;
    let response = response.await?;
    assert_eq!(response.headers()["length"], (CHUNKS * CHUNK).to_string());
    Ok(())
}

/// Sends as much as the window lets through, until the whole chunk is sent.
async fn send(body: &mut SendStream<Bytes>, mut chunk: Bytes) -> Result<(), h2::Error> {
    while !chunk.is_empty() {
        body.reserve_capacity(chunk.len());
        let capacity = poll_fn(|cx| body.poll_capacity(cx)).await.expect("the stream is open")?;
        let part = chunk.split_to(capacity.min(chunk.len()));
        body.send_data(part, false)?;
    }
    Ok(())
}
