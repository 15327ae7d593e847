#[liten::test]
async fn answers(port: u16) {
    let _ = port;
}

fn main() {}
