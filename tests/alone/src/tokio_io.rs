//! tokio's extension methods on a stream of liten's.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn both_ends_of_a_duplex_read_and_write() {
    liten::block_on(async {
        let (mut here, mut there) = liten::io::duplex(4);
        let echo = liten::spawn(async move {
            let mut buffer = [0; 4];
            there.read_exact(&mut buffer).await.unwrap();
            there.write_all(&buffer).await.unwrap();
            there.shutdown().await.unwrap();
        });
        here.write_all(b"ping").await.unwrap();
        let mut text = String::new();
        here.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "ping");
        echo.await.unwrap();
    });
}
