//! What a message through an echo server costs, over TCP and UDP on loopback.

#[path = "contest/echo.rs"]
mod echo;
#[path = "contest/row.rs"]
mod row;
#[path = "contest/runtimes.rs"]
mod runtimes;
#[path = "contest/sockets.rs"]
mod sockets;
#[path = "contest/stage.rs"]
mod stage;

fn main() {
    let mut criterion = stage::criterion();
    let workers = num_cpus::get();
    stage::run(&mut criterion, "net", workers, echo::rows(), echo::rows(), echo::rows());
    criterion.final_summary();
}
