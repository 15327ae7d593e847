use super::*;
use crate::engine::task::registry::ListEntry;
use crate::insight::finding::moving_permits::MovingPermits;
use crate::insight::finding::tests::{entry, healthy, mutex, primitive, worker};
use crate::insight::worker_info::WorkerState;
use crate::short::Place;
use std::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

fn ids<const N: usize>() -> [TaskId; N] {
    std::array::from_fn(|_| TaskId::next())
}

/// A task that has waited for so many seconds.
#[track_caller]
fn waiting(id: TaskId, seconds: u32, waits: &[Wait]) -> TaskInfo {
    let task = RunningTask::new(id, Location::caller());
    let mut info = TaskInfo::listed(ListEntry { task, ..entry() }, false, true);
    let now = Instant::now();
    info.set_cold_since(Some(now.checked_sub(SECOND * seconds).unwrap()), now);
    info.waits_mut().extend_from_slice(waits);
    info
}

fn permit(permits: u64, forgotten: u64) -> Wait {
    let kind = PrimitiveKind::Semaphore;
    Wait::Primitive {
        kind,
        number: 7,
        made_at: None,
        awaited_at: None,
        holder: None,
        permits: Some(permits),
        forgotten,
    }
}

fn timer(seconds: u32) -> Wait {
    Wait::Timer { remaining: SECOND * seconds }
}

fn said_of(dump: &Dump, busy: &[(TaskId, u64)]) -> Vec<String> {
    let found = long_waits(dump, &busy.iter().copied().collect(), &Moving::default());
    found.iter().map(Finding::to_string).collect()
}

fn said(tasks: Vec<TaskInfo>) -> Vec<String> {
    said_of(&Dump { tasks, ..healthy() }, &[])
}

#[track_caller]
fn one(said: Vec<String>) -> String {
    assert_eq!(said.len(), 1, "{said:?}");
    said.into_iter().next().unwrap()
}

#[test]
fn those_that_wait_for_a_lock_are_told_with_what_its_holder_waits_for() {
    let [holder, first, second] = ids();
    let lock = mutex(0xab, Some(holder));
    let tasks = |seconds| {
        let waits = |id| waiting(id, seconds, std::slice::from_ref(&lock));
        vec![waits(first), waiting(holder, 14, &[timer(3583)]), waits(second)]
    };
    let sentence = one(said(tasks(12)));
    let begin = format!(
        "2 tasks wait for a Mutex (#000000ab) held by task {holder}, the longest for 12.0 s at least; \
         task {holder}, spawned at "
    );
    assert!(sentence.starts_with(&begin), "{sentence}");
    let rest = ", waits for a timer in 3583.0 s, for 14.0 s at least; waiting: 2 spawned at ";
    assert!(sentence.contains(rest), "{sentence}");
    assert_eq!(said(tasks(9)), [""; 0], "not yet");
}

#[test]
fn the_place_of_a_wait_is_told_if_it_is_that_of_all() {
    let [holder, first, second] = ids();
    let [at, other] = [Location::caller(), here()];
    let lock = |at| {
        let mut lock = mutex(0xab, Some(holder));
        if let Wait::Primitive { awaited_at, .. } = &mut lock {
            *awaited_at = Some(at);
        }
        lock
    };
    let told = |[first_at, second_at]: [_; 2]| {
        let held = waiting(holder, 14, &[timer(3583)]);
        one(said(vec![
            waiting(first, 12, &[lock(first_at)]),
            held,
            waiting(second, 12, &[lock(second_at)]),
        ]))
    };
    let sentence = told([at, at]);
    let place = format!("(#000000ab, awaited at {})", Place(at));
    assert!(sentence.contains(&place), "{sentence}");
    let sentence = told([at, other]);
    assert!(sentence.starts_with("2 tasks wait for a Mutex (#000000ab) held by "), "{sentence}");
}

#[track_caller]
fn here() -> &'static Location<'static> {
    Location::caller()
}

#[test]
fn a_chain_of_full_channels_is_told_from_its_end() {
    let [source, first, second, end] = ids();
    let room = |number, receiver| primitive(PrimitiveKind::Sender, number, Some(receiver));
    let notify = primitive(PrimitiveKind::Notify, 9, None);
    let chain = |last: &[Wait], seconds| {
        vec![
            waiting(source, 11, &[room(1, first)]),
            waiting(first, 11, &[room(2, second)]),
            waiting(second, 12, &[room(3, end)]),
            waiting(end, seconds, last),
        ]
    };
    let sentence = one(said(chain(std::slice::from_ref(&notify), 12)));
    let begin = format!(
        "3 tasks wait, the longest for 12.0 s at least, in the end for task {end}, spawned at "
    );
    assert!(sentence.starts_with(&begin), "{sentence}");
    assert!(sentence.contains(", which waits for a Notify (#00000009), for 12.0 s"), "{sentence}");
    let order = [source, first, second].map(|id| sentence.find(&format!("; task {id}, ")).unwrap());
    assert!(order.is_sorted(), "{sentence}");
    assert_eq!(said(chain(&[timer(20)], 12)), [""; 0], "the end may have a period");
    assert_eq!(said(chain(&[notify], 3)), [""; 0], "the end goes on");
    let busy = Dump { tasks: chain(&[], 3), ..healthy() };
    let sentence = one(said_of(&busy, &[(end, 30_000)]));
    assert!(sentence.contains("which is polled some 30000 times a second"), "{sentence}");
}

#[test]
fn a_task_that_reads_twice_is_told_with_those_between() {
    let [reader, writer] = ids();
    let read = primitive(PrimitiveKind::RwLock, 5, Some(reader));
    let write = primitive(PrimitiveKind::RwLockWrite, 5, Some(reader));
    let sentence = one(said(vec![waiting(writer, 20, &[write]), waiting(reader, 21, &[read])]));
    assert!(sentence.starts_with("2 tasks wait for "), "{sentence}");
    let circle = ", reads it and waits to read it again, behind those that wait to change it";
    assert!(sentence.contains(&format!("; task {reader}, ")), "{sentence}");
    assert!(sentence.contains(circle), "{sentence}");
}

#[test]
fn of_a_lock_whose_readers_are_not_known_the_usual_circle_is_suspected() {
    let [reader, writer] = ids();
    let wait = |kind| [primitive(kind, 5, None)];
    let both = vec![
        waiting(writer, 20, &wait(PrimitiveKind::RwLockWrite)),
        waiting(reader, 21, &wait(PrimitiveKind::RwLock)),
    ];
    let sentence = one(said(both));
    let known =
        "; which task keeps them waiting is not known, perhaps one of them, which reads it and ";
    assert!(sentence.contains(known), "{sentence}");
    let readers = vec![waiting(reader, 21, &wait(PrimitiveKind::RwLock))];
    assert!(one(said(readers)).contains("is not known; waiting: 1 "));
}

#[test]
fn a_semaphore_is_told_with_its_permits_unless_it_is_a_signal() {
    let [first, second] = ids();
    let tasks = |wait: Wait| {
        let waits = |(id, seconds)| waiting(id, seconds, std::slice::from_ref(&wait));
        [(first, 15), (second, 3)].map(waits).to_vec()
    };
    let sentence = one(said(tasks(permit(8, 2))));
    let begin = "2 tasks wait for a Semaphore (#00000007) whose 8 permits are out, 2 of them forgotten and \
                 not added again, the longest for 15.0 s at least; waiting: 2 spawned at ";
    assert!(sentence.starts_with(begin), "{sentence}");
    assert_eq!(said(tasks(permit(0, 0))), [""; 0]);
}

#[test]
fn a_holder_that_does_not_wait_is_told_with_what_it_does() {
    let [holder, waits] = ids();
    let tasks = || vec![waiting(waits, 11, &[mutex(1, Some(holder))])];
    let sentence = one(said(tasks()));
    assert!(sentence.contains(&format!("task {holder} is not among the tasks")), "{sentence}");
    let mut dump = Dump { tasks: tasks(), ..healthy() };
    let polled = RunningTask::new(holder, Location::caller());
    dump.tasks.push(TaskInfo::noted(polled, true));
    dump.workers[0] = worker(0, WorkerState::Working, SECOND * 5);
    dump.workers[0].task = Some(polled);
    let sentence = one(said_of(&dump, &[]));
    assert!(sentence.contains(", has been in one poll for 5.0 s; waiting: 1 "), "{sentence}");
}

#[test]
fn what_only_waits_for_an_end_or_a_message_is_no_illness() {
    let [first, second, third] = ids();
    let message = primitive(PrimitiveKind::Receiver, 1, None);
    let tasks = vec![
        waiting(first, 99, &[Wait::Task { id: second }]),
        waiting(second, 99, &[message]),
        waiting(third, 99, &[primitive(PrimitiveKind::Notify, 2, None)]),
    ];
    assert_eq!(said(tasks), [""; 0]);
}

#[test]
fn a_long_circle_is_followed_once() {
    let count = 10_000;
    let ids: Vec<_> = (0..count).map(|_| TaskId::next()).collect();
    let next = |index: usize| mutex(index as u32, Some(ids[(index + 1) % count]));
    let tasks = (0..count).map(|index| waiting(ids[index], 11, &[next(index)])).collect();
    let sentence = one(said(tasks));
    assert!(sentence.starts_with("10000 tasks wait, the longest for 11.0 s"), "{sentence}");
    assert!(sentence.contains("which waits for one of those that wait for it"), "{sentence}");
    assert!(sentence.len() < 2_000, "{sentence}");
}

#[test]
fn a_queue_of_tasks_that_share_a_receiver_is_no_illness() {
    let [receives, first, second] = ids();
    let lock = mutex(0xab, Some(receives));
    let message = primitive(PrimitiveKind::Receiver, 3, None);
    let tasks = |of_place: fn(TaskId, u32, &[Wait]) -> TaskInfo| {
        vec![
            of_place(receives, 30, std::slice::from_ref(&message)),
            worker_of_queue(first, 30, std::slice::from_ref(&lock)),
            worker_of_queue(second, 30, std::slice::from_ref(&lock)),
        ]
    };
    assert_eq!(said(tasks(worker_of_queue)), [""; 0]);
    let other = |id, seconds, waits: &[Wait]| waiting(id, seconds, waits);
    assert_eq!(said(tasks(other)).len(), 1, "another task keeps it");
}

fn worker_of_queue(id: TaskId, seconds: u32, waits: &[Wait]) -> TaskInfo {
    waiting(id, seconds, waits)
}

#[test]
fn tasks_that_wait_for_permits_that_come_back_are_not_told() {
    let tasks: [TaskId; 3] = ids();
    let look = |permits: &mut MovingPermits, begin: Instant, second: u32, from: usize| {
        let tasks = tasks[from..].iter().map(|&id| waiting(id, 30, &[permit(3, 0)])).collect();
        let dump = Dump { tasks, ..healthy() };
        let moving = permits.look(begin + SECOND * second, &dump);
        long_waits(&dump, &HashMap::new(), &moving).len()
    };
    let (mut permits, begin) = (MovingPermits::default(), Instant::now());
    assert_eq!(look(&mut permits, begin, 0, 0), 0, "it is not known yet");
    assert_eq!(look(&mut permits, begin, 9, 1), 0, "one has got its permit");
    assert_eq!(look(&mut permits, begin, 26, 1), 0, "for twice as long as that took");
    assert_eq!(look(&mut permits, begin, 27, 1), 1);
    assert_eq!(look(&mut permits, begin, 28, 2), 0, "another one has got its permit");
}

/// As one that sends again and again to a receiver that is slow.
#[test]
fn tasks_that_wait_for_room_anew_are_not_told() {
    let tasks: [TaskId; 2] = ids();
    let room = primitive(PrimitiveKind::Sender, 7, None);
    let look = |rooms: &mut MovingPermits, second: u32, waited: [u32; 2]| {
        let waiting = |(&id, seconds)| waiting(id, seconds, std::slice::from_ref(&room));
        let dump = Dump { tasks: tasks.iter().zip(waited).map(waiting).collect(), ..healthy() };
        let moving = rooms.look(begin() + SECOND * second, &dump);
        long_waits(&dump, &HashMap::new(), &moving).len()
    };
    let mut rooms = MovingPermits::default();
    assert_eq!(look(&mut rooms, 0, [30, 30]), 0, "it is not known yet");
    assert_eq!(look(&mut rooms, 9, [39, 0]), 0, "one has sent");
    assert_eq!(look(&mut rooms, 20, [50, 11]), 0);
    assert_eq!(look(&mut rooms, 27, [57, 18]), 1);
}

/// As one whose `select!` always finds another branch ready first.
#[test]
fn a_receiver_that_takes_from_another_channel_alone_is_told() {
    let [first, second, other, receiver] = ids();
    let room = |number| primitive(PrimitiveKind::Sender, number, Some(receiver));
    let look = |rooms: &mut MovingPermits, at: u32, senders: &[TaskId]| {
        let waits = |&id| waiting(id, 11 + at, &[room(7)]);
        let mut tasks: Vec<_> = senders.iter().map(waits).collect();
        tasks.push(waiting(receiver, 0, &[timer(1)]));
        // It sends again and again.
        tasks.extend((at < 30).then(|| waiting(other, 0, &[room(8)])));
        let dump = Dump { tasks, ..healthy() };
        let moving = rooms.look(begin() + SECOND * at, &dump);
        let found = long_waits(&dump, &HashMap::new(), &moving);
        found.iter().map(Finding::to_string).collect::<Vec<_>>()
    };
    let mut rooms = MovingPermits::default();
    assert_eq!(look(&mut rooms, 0, &[first, second]), [""; 0], "it is not known yet");
    assert_eq!(look(&mut rooms, 19, &[first, second]), [""; 0]);
    let said = one(look(&mut rooms, 20, &[first, second]));
    assert!(
        said.contains("; it takes from another channel, and from this one nothing for 20 s"),
        "{said}"
    );
    assert_eq!(look(&mut rooms, 31, &[first, second]), [""; 0], "it may work on one message");
    assert_eq!(look(&mut rooms, 32, &[second]), [""; 0], "it has taken something");
}

/// Of two holders at two looks, neither is to blame, and those that have seen one and the other wait for the
/// same lock.
#[test]
fn a_lock_that_passes_from_task_to_task_is_told_once_and_as_such() {
    let [first, second, third, holder, other] = ids();
    let look =
        |permits: &mut MovingPermits, second_of_look: u32, waiting_ones: &[(TaskId, TaskId)]| {
            let waits = |&(id, holder): &(_, _)| waiting(id, 30, &[mutex(7, Some(holder))]);
            let mut tasks: Vec<_> = waiting_ones.iter().map(waits).collect();
            tasks.extend([holder, other].map(|id| waiting(id, 0, &[timer(3)])));
            let dump = Dump { tasks, ..healthy() };
            let moving = permits.look(begin() + SECOND * second_of_look, &dump);
            let found = long_waits(&dump, &HashMap::new(), &moving);
            found.iter().map(Finding::to_string).collect::<Vec<_>>()
        };
    let mut permits = MovingPermits::default();
    let all = [(first, holder), (second, holder), (third, holder)];
    let said = one(look(&mut permits, 0, &all));
    assert!(!said.contains("passes from task to task"), "{said}");
    let said = one(look(&mut permits, 1, &[(second, other), (third, holder)]));
    assert!(said.contains("; the lock passes from task to task, "), "{said}");
    assert!(said.contains("; at this moment task "), "{said}");
    let said = one(look(&mut permits, 11, &[(second, other), (third, other)]));
    assert!(!said.contains("passes from task to task"), "{said}");
}

fn begin() -> Instant {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *BEGIN.get_or_init(Instant::now)
}

#[test]
fn those_that_perhaps_have_the_permits_are_told_by_where_they_wait() {
    let (outer, inner) = (here(), here());
    let at = |place| {
        let mut wait = permit(2, 0);
        if let Wait::Primitive { awaited_at, .. } = &mut wait {
            *awaited_at = Some(place);
        }
        wait
    };
    let tasks = |inside: usize| {
        let all: [TaskId; 6] = ids();
        let (inside, outside) = all.split_at(inside);
        let inside = inside.iter().map(|&id| waiting(id, 30, &[at(inner)]));
        inside.chain(outside.iter().map(|&id| waiting(id, 30, &[at(outer)]))).collect()
    };
    let said = one(self::said(tasks(2)));
    let counts =
        format!("; of them 4 awaited at {}, 2 awaited at {}; those 2 ", Place(outer), Place(inner));
    assert!(said.contains(&counts) && said.contains("suspected deadlock"), "{said}");
    assert!(!one(self::said(tasks(1))).contains("suspected deadlock"));
    assert!(!one(self::said(tasks(0))).contains("of them "));
}

#[test]
fn a_lock_that_some_want_to_read_and_some_to_write_is_no_lock_to_write() {
    let [holder, reader, writer] = ids();
    let waits = |id, kind| waiting(id, 30, &[primitive(kind, 7, Some(holder))]);
    let holds = waiting(holder, 30, &[timer(100)]);
    let readers = waits(reader, PrimitiveKind::RwLock);
    let said = one(said(vec![holds, waits(writer, PrimitiveKind::RwLockWrite), readers]));
    assert!(said.starts_with("2 tasks wait for a RwLock (#"), "{said}");
}
