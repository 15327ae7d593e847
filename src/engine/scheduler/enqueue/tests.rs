use super::*;

const HOME: usize = 7;

type Row = (Pusher<(), ()>, Queue<(), ()>, Notice<()>);

/// The table at the head of the file, for a task with a home.
const TABLE: [Row; 12] = {
    use Pusher::{DriverThread, Spawner, Waker, Worker};
    use Reason::*;
    [
        (Worker((), Spawned), Queue::Ready(()), Notice::Peer(())),
        (Worker((), Woken), Queue::Next(()), Notice::Peer(())),
        (Worker((), FirstOfBatch), Queue::Next(()), Notice::Nothing),
        (Worker((), InBatch), Queue::Ready(()), Notice::Nothing),
        (Worker((), Requeued), Queue::Ready(()), Notice::Again(())),
        (Worker((), Yielded), Queue::Yielded(()), Notice::Again(())),
        (Worker((), Long), Queue::Yielded(()), Notice::Peer(())),
        (Worker((), LeftToOthers), Queue::SharedYielded, Notice::Regular),
        (Worker((), BroughtIn), Queue::Ready(()), Notice::Nothing),
        (DriverThread(()), Queue::Chain((), HOME), Notice::Nothing),
        (Spawner, Queue::Injector, Notice::Outside),
        (Waker, Queue::Channel(HOME), Notice::Home(HOME)),
    ]
};

#[test]
fn each_reason_has_its_queue_on_each_thread() {
    for (by, queue, notice) in TABLE {
        assert_eq!(place(by, || To::Home(HOME)), (queue, notice), "{by:?}");
    }
}

/// A task without a home, and a long one, go to queues that all workers share. A worker is told at once. The
/// other rows stay as they are.
#[test]
fn a_task_that_is_sent_to_no_home_goes_to_a_shared_queue() {
    let places = [
        (To::Any, (Queue::Injector, Notice::Outside)),
        (To::Regular, (Queue::SharedYielded, Notice::Regular)),
    ];
    for ((by, queue, notice), (to, shared)) in
        TABLE.into_iter().flat_map(|row| places.map(|it| (row, it)))
    {
        let is_sent = matches!(queue, Queue::Channel(_) | Queue::Chain(..));
        let expected = if is_sent { shared } else { (queue, notice) };
        assert_eq!(place(by, || to), expected, "{by:?}");
    }
}
