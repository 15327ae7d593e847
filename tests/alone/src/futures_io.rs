//! The traits of futures-io without a socket to have them.

use liten::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, duplex};

#[test]
fn both_ends_of_a_duplex_read_and_write() {
    liten::block_on(async {
        // Smaller than what goes through it.
        let (mut here, there) = duplex(4);
        let echo = liten::spawn(async move {
            let mut there = BufReader::new(there);
            let mut line = String::new();
            there.read_line(&mut line).await.unwrap();
            there.write_all(line.as_bytes()).await.unwrap();
            there.close().await.unwrap();
        });
        here.write_all(b"there and back\n").await.unwrap();
        let mut text = String::new();
        here.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "there and back\n");
        echo.await.unwrap();
    });
}
