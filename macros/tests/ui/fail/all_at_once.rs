//! Every mistake is reported, and the body is still checked by the compiler without more errors
//! about the attribute.

#[liten::main(start_paused = 1, flavor = "fast", worker_threads = 0, name = 1, name = 2)]
async fn main(args: Vec<String>) {
    helper(args.len());
}

fn helper(_: usize) {}
