//! A client that reads the body of an answer and waits for the trailers, both in one task.
//!
//! h2 0.4.15 does not note which task waits for the trailers while data is still unread (h2 #931). If the
//! trailers have come with the data, nothing wakes the task again.

use std::cell::RefCell;
use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use tokio::join;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;
use tokio::time::sleep;

/// Answers each request with a few bytes and their sum.
#[tokio::main]
pub async fn server() {
    let listener = TcpListener::bind("0.0.0.0:80").await.expect("bind");
    loop {
        let (socket, _) = listener.accept().await.expect("accept");
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(socket).await?;
            while let Some(request) = connection.accept().await {
                tokio::spawn(answer(request?.1));
            }
            Ok::<_, h2::Error>(())
        });
    }
}

async fn answer(mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let mut body = respond.send_response(Response::new(()), false)?;
    body.send_data(Bytes::from_static(&[1, 2, 3]), false)?;
    yield_now().await;
    let mut trailers = HeaderMap::new();
    trailers.insert("sum", 6.into());
    body.send_trailers(trailers)
}

/// Asks once.
///
/// # Panics
///
/// When the answer is not what its trailers say.
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
    let mut client = client.ready().await.expect("ready");
    let request = Request::get("http://server/").body(()).expect("a request");
    let (response, _) = client.send_request(request, true).expect("send the request");
    let body = RefCell::new(response.await.expect("a response").into_body());
    let trailers = poll_fn(|cx| body.borrow_mut().poll_trailers(cx));
    let data = async {
        let mut sum = 0;
        while let Some(data) = poll_fn(|cx| body.borrow_mut().poll_data(cx)).await {
            sum += data.expect("data").iter().map(|byte| u32::from(*byte)).sum::<u32>();
        }
        sum
    };
    let (trailers, sum) = join!(trailers, data);
    let trailers = trailers.expect("the end of the answer").expect("trailers");
    assert_eq!(trailers["sum"], sum.to_string());
}
