//! Every option, in every way it may be written.

#[liten::main]
async fn nothing() {}

#[liten::main()]
async fn empty() {}

#[liten::main(flavor = "multi_thread")]
async fn flavor() {}

#[liten::main(worker_threads = 2)]
async fn worker_threads() {}

#[liten::main(
    worker_threads = 0x2_usize,
    flavor = r"multi_thread",
    name = "ui-test",
    crate = ::liten,
)]
async fn all() {}

#[liten::main(flavor = "current_thread", name = "")]
async fn current_thread() {}

#[liten::main(start_paused = false)]
async fn going() {}

#[liten::main(flavor = "current_thread", start_paused = true)]
async fn paused() {
    liten::time::sleep(liten::time::Duration::MAX).await;
}

macro_rules! through_macro {
    ($function:ident, $flavor:literal, $count:expr, $path:path, $output:ty) => {
        #[liten::main(flavor = $flavor, worker_threads = $count, crate = $path)]
        async fn $function() -> $output {
            7
        }
    };
}

through_macro!(generated, "multi_thread", 1, ::liten, u8);

fn main() {
    nothing();
    empty();
    flavor();
    worker_threads();
    all();
    current_thread();
    going();
    paused();
    assert_eq!(generated(), 7);
}
