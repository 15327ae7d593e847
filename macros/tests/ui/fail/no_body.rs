trait Service {
    #[liten::main]
    async fn run(&self) -> u8;
}

fn main() {}
