#[liten::main]
async fn main(args: Vec<String>, verbose: bool) {
    drop((args, verbose));
}
