use super::*;

const HOME: usize = 7;

type Row = (Pusher<(), ()>, Queue<(), ()>, Notice<()>);

/// The table at the head of the file, for a task with a home.
const TABLE: [Row; 13] = {
    use OutsideReason::{Abandoned, AbandonedYielded};
    use Pusher::{Dispatcher, Other, Worker};
    use Reason::*;
    [
        (Worker((), Spawned), Queue::Ready(()), Notice::Peer(())),
        (Worker((), Woken), Queue::Next(()), Notice::Peer(())),
        (Worker((), FirstOfBatch), Queue::Next(()), Notice::Nothing),
        (Worker((), InBatch), Queue::Ready(()), Notice::Nothing),
        (Worker((), Requeued), Queue::Ready(()), Notice::Again(())),
        (Worker((), Yielded), Queue::Yielded(()), Notice::Again(())),
        (Worker((), LeftToOthers), Queue::SharedYielded, Notice::Regular),
        (Worker((), BroughtIn), Queue::Ready(()), Notice::Nothing),
        (Dispatcher(()), Queue::Chain((), HOME), Notice::Nothing),
        (Other(OutsideReason::Spawned), Queue::Injector, Notice::Outside),
        (Other(OutsideReason::Woken), Queue::Channel(HOME), Notice::Home(HOME)),
        (Other(Abandoned), Queue::Injector, Notice::Nothing),
        (Other(AbandonedYielded), Queue::SharedYielded, Notice::Nothing),
    ]
};

#[test]
fn each_reason_has_its_queue_on_each_thread() {
    for (by, queue, notice) in TABLE {
        assert_eq!(place(by, || Some(HOME)), (queue, notice), "{by:?}");
    }
}

/// Without a home the queue that all workers share is told of at once, and the other rows stay as they are.
#[test]
fn a_task_without_a_home_goes_to_the_injector() {
    for (by, queue, notice) in TABLE {
        let expected = match queue {
            Queue::Channel(_) | Queue::Chain(..) => (Queue::Injector, Notice::Outside),
            _ => (queue, notice),
        };
        assert_eq!(place(by, || None), expected, "{by:?}");
    }
}
