//! A client that lets go of all its handles with the last bytes of a request, and waits for the end of the
//! connection.
//!
//! A connection of h2 0.4.4 looks at the beginning of its poll whether there are streams left (hyper #3652).
//! When that very poll sends the end of the last one, nothing looks again, and the connection never ends.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use h2::server::SendResponse;
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// How many connections the client makes, one after the other.
const CONNECTIONS: usize = 10;

/// Answers each request with nothing, and reads it.
#[tokio::main]
pub async fn server() {
    let listener = TcpListener::bind("0.0.0.0:80").await.expect("bind");
    loop {
        let (socket, _) = listener.accept().await.expect("accept");
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(socket).await?;
            while let Some(request) = connection.accept().await {
                tokio::spawn(answer(request?));
            }
            Ok::<_, h2::Error>(())
        });
    }
}

/// The answer does not wait for the end of the request.
async fn answer(
    (request, mut respond): (Request<RecvStream>, SendResponse<Bytes>),
) -> Result<(), h2::Error> {
    respond.send_response(Response::new(()), true)?;
    let mut body = request.into_body();
    while let Some(data) = poll_fn(|cx| body.poll_data(cx)).await {
        data?;
    }
    Ok(())
}

/// Asks once on each connection.
///
/// # Panics
///
/// When there is no answer.
#[tokio::main]
pub async fn client() {
    for _ in 0..CONNECTIONS {
        let socket = loop {
            match TcpStream::connect("server:80").await {
                Ok(socket) => break socket,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        let (client, connection) = h2::client::handshake(socket).await.expect("handshake");
        let connection = tokio::spawn(connection);
        ask(client).await.expect("an answer");
        connection.await.expect("a task").expect("an end in order");
    }
}

/// Ends the request when the answer is there.
async fn ask(client: SendRequest<Bytes>) -> Result<(), h2::Error> {
    let mut client = client.ready().await?;
    let request = Request::post("http://server/").body(()).expect("a request");
    let (response, mut body) = client.send_request(request, false)?;
    response.await?;
    body.send_data(Bytes::from_static(&[1, 2, 3]), true)
}
