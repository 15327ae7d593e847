//! What a component cannot have. Elsewhere this is a program; for wasm the compiler refuses it, and says why.

#[liten::main(worker_threads = 2)]
async fn main() {
    println!("on {:?}", std::thread::current().id());
}
