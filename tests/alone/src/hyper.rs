//! hyper's server and client, without sockets.

use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use liten::hyper::{LitenIo, LitenTimer};
use std::convert::Infallible;

#[test]
fn a_server_answers_a_client() {
    liten::block_on(async {
        let (here, there) = liten::io::duplex(1024);
        let serving = liten::spawn(async move {
            let service = service_fn(|request: Request<_>| async move {
                assert_eq!(request.uri().path(), "/tea");
                let answer = Response::builder().status(StatusCode::IM_A_TEAPOT);
                Ok::<_, Infallible>(answer.body(String::new()).unwrap())
            });
            let mut builder = server::Builder::new();
            builder.timer(LitenTimer::new());
            builder.serve_connection(LitenIo::new(there), service).await
        });
        let (mut sender, connection) = client::handshake(LitenIo::new(here)).await.unwrap();
        let connection = liten::spawn(connection);
        let request = Request::get("/tea").header("host", "here").body(String::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::IM_A_TEAPOT);
        drop((sender, answer));
        connection.await.unwrap().unwrap();
        serving.await.unwrap().unwrap();
    });
}
