//! Looks at the runtimes again and again while requests come, and a little longer, because one look does not
//! show what becomes of something.
//!
//! A program pays nothing for that but the time of the page's thread: a glance at each worker in 20 ms, which
//! is some loads, and the stacks of those in slow polls eight times a second at most; and a picture per
//! second, as each request takes one. Scrapers of `/metrics` come all the time and ask for numbers only, so
//! they do not count.
//!
//! When no request has come for [`LINGER`], the thread only goes on *patrol*: one look in [`PATROL`] that
//! stops no thread, and some at listeners before the first. Without it, the first answer could not tell for
//! how long anything has lasted, and a person on call often asks once. Such a look takes some 100 ns for each
//! task, a system call for each source of events, and the system's tables of sockets. It takes no more than
//! one part in [`PATROL_SHARE`] of a processor. Some seconds of glances at the workers follow it if they
//! begin very many polls, or if polls were slow.
//!
//! Polls that last long on other threads than workers show by glances alone. So the first request after a
//! pause waits until some have been made: see [`Watch::begin`].

use super::observed::Observed;
use super::picture::{Album, MAX_AGE, MOST_RUNTIMES, Picture};
use crate::engine::sync_shim::clock;
use crate::insight::finding::storms::CLOSE_LOOKS;
use crate::insight::history::History;
use crate::insight::memory::memory_by_place;
use crate::observe::thread_activity::time_of_this_thread;
use crate::runtime::{Handle, Id};
use crate::task::spawn_local;
use crate::time::{Duration, sleep};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Long enough for a person who asks by `curl`, reads the answer, and asks again.
const LINGER: Duration = Duration::from_secs(30);

const GLANCES: Duration = Duration::from_millis(20);
const PICTURES: Duration = Duration::from_secs(1);

/// What goes through all tasks takes no more than one part in this many of the time.
const SHARE: u32 = 20;

/// The pause between two looks of the patrol.
const PATROL: Duration = Duration::from_secs(5);
/// So many looks, one in each second, are made before them: to see which tasks accept connections, before
/// they may be kept from it. They do not count for what grows, as a program that starts does.
const FIRST_LOOKS: usize = 4;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const PATROL_SHARE: u32 = 100;

/// How long the first request waits for glances: more than the usual threshold of a slow poll, and at most,
/// if a poll is under way at that time. A person does not mind, and a client that allows a second gets its
/// answer.
const FIRST_GLANCES: Duration = Duration::from_millis(200);
const MOST_FIRST_GLANCES: Duration = Duration::from_millis(320);

/// What is done at a glance at one runtime. Returns whether all tasks should be gone through after it.
type Glance = fn(&mut History, Instant, &Handle) -> bool;

pub(super) struct Watch {
    observed: Arc<Observed>,
    album: RefCell<Album>,
    histories: RefCell<HashMap<Id, History>>,
    asked: Cell<Instant>,
    /// [`LINGER`], but for tests.
    linger: Duration,
    is_under_way: Cell<bool>,
    /// When it was put under way.
    begun: Cell<Instant>,
}

impl Watch {
    pub(super) fn new(observed: Arc<Observed>) -> Self {
        Self {
            observed,
            album: RefCell::default(),
            histories: RefCell::default(),
            asked: Cell::new(clock::now()),
            linger: LINGER,
            is_under_way: Cell::new(false),
            begun: Cell::new(clock::now()),
        }
    }

    pub(super) fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Puts the watch under way for a request. If it was not, waits until there are some glances to tell
    /// of. Other requests that come meanwhile do not wait: they would take all the connections that there
    /// may be.
    pub(super) async fn begin(self: &Rc<Self>) {
        if self.is_under_way.get() {
            return;
        }
        self.go_on();
        let age = || clock::now().saturating_duration_since(self.begun.get());
        while age() < FIRST_GLANCES || (age() < MOST_FIRST_GLANCES && self.sees_young_poll()) {
            sleep(GLANCES).await;
        }
        // One that was taken meanwhile does not show the last glances.
        self.album.borrow_mut().forget();
    }

    /// A picture for a request, which keeps the watch under way.
    pub(super) fn picture(self: &Rc<Self>) -> Rc<Picture> {
        self.go_on();
        self.look()
    }

    fn go_on(self: &Rc<Self>) {
        self.asked.set(clock::now());
        if !self.is_under_way.replace(true) {
            self.begun.set(clock::now());
            drop(spawn_local(self.clone().run()));
        }
    }

    fn sees_young_poll(&self) -> bool {
        let histories = self.histories.borrow();
        let is_young = |handle: &Handle| {
            let history = histories.get(&handle.id());
            history.is_some_and(|history| history.is_in_young_poll(clock::now(), handle))
        };
        self.observed.living().0.iter().any(is_young)
    }

    /// A picture for a request that only wants numbers.
    pub(super) fn look(self: &Rc<Self>) -> Rc<Picture> {
        let histories = &mut self.histories.borrow_mut();
        let picture = self.album.borrow_mut().picture(&self.observed, histories);
        if self.album.borrow_mut().begins_to_keep() {
            drop(spawn_local(self.clone().throw_away()));
        }
        picture
    }

    /// A picture of very many tasks takes much memory, and the next request may never come.
    async fn throw_away(self: Rc<Self>) {
        while self.album.borrow_mut().throw_away() {
            sleep(MAX_AGE).await;
        }
    }

    async fn run(self: Rc<Self>) {
        let (mut next_picture, mut next_walk) = (clock::now() + PICTURES, clock::now());
        while clock::now().saturating_duration_since(self.asked.get()) < self.linger {
            self.next_glance(&mut next_walk, History::glance).await;
            let begun = clock::now();
            if begun >= next_picture {
                drop(self.look());
                next_picture = resume(begun).max(begun + PICTURES);
            }
        }
        self.histories.borrow_mut().values_mut().for_each(History::rest);
        self.is_under_way.set(false);
    }

    /// Looks now and then, for ever, while no request makes it look more often.
    pub(super) async fn patrol(self: Rc<Self>) {
        for _ in 0..FIRST_LOOKS {
            self.look_at_listeners();
            sleep(FIRST_PAUSE).await;
        }
        loop {
            let (begun, at) = (time_of_this_thread(), clock::now());
            if !self.is_under_way.get() && self.look_in_passing() {
                self.look_closely().await;
            }
            // Not by the clock, if the system says more: a thread that waits for a processor takes nothing
            // from the program.
            let used =
                time_of_this_thread().zip(begun).map(|(now, begun)| now.saturating_sub(begun));
            let used = used.unwrap_or_else(|| clock::now().saturating_duration_since(at));
            sleep(PATROL.max(used * PATROL_SHARE)).await;
        }
    }

    /// Looks for as long as a storm takes to be told, unless a request puts the watch under way.
    async fn look_closely(&self) {
        let (end, mut next_walk) = (clock::now() + CLOSE_LOOKS, clock::now());
        while clock::now() < end && !self.is_under_way.get() {
            self.next_glance(&mut next_walk, History::look_closely).await;
        }
    }

    /// Glances after a pause, and not through all tasks before `next_walk`.
    async fn next_glance(&self, next_walk: &mut Instant, glance: Glance) {
        sleep(GLANCES).await;
        let begun = clock::now();
        if self.glance(begun >= *next_walk, glance) {
            *next_walk = resume(begun);
        }
    }

    fn look_at_listeners(&self) {
        let mut histories = self.histories.borrow_mut();
        for handle in self.observed.living().0.iter().take(MOST_RUNTIMES) {
            let history = histories.entry(handle.id()).or_insert_with(|| History::of(handle));
            history.look_at_listeners(clock::now(), handle);
        }
    }

    /// Returns whether close looks should follow.
    fn look_in_passing(&self) -> bool {
        let (living, _) = self.observed.living();
        let shown = &living[..living.len().min(MOST_RUNTIMES)];
        let memory = memory_by_place();
        let mut is_busy = false;
        let mut histories = self.histories.borrow_mut();
        histories.retain(|id, _| shown.iter().any(|handle| handle.id() == *id));
        for (index, handle) in shown.iter().enumerate() {
            let history = histories.entry(handle.id()).or_insert_with(|| History::of(handle));
            // It is that of the process: see `Picture::take`.
            let memory = (index == 0).then_some(&memory[..]);
            is_busy |= history.patrol(clock::now(), handle, memory);
        }
        is_busy
    }

    /// Glances at all runtimes by `glance`; returns whether that went through all tasks, which it may do if
    /// `may_walk`.
    fn glance(&self, may_walk: bool, glance: Glance) -> bool {
        let (living, _) = self.observed.living();
        let mut has_walked = false;
        let mut histories = self.histories.borrow_mut();
        // Those that the pictures show.
        for handle in living.into_iter().take(MOST_RUNTIMES) {
            let history = histories.entry(handle.id()).or_insert_with(|| History::of(&handle));
            if glance(history, clock::now(), &handle) && may_walk {
                history.ask(&handle);
                has_walked = true;
            }
        }
        has_walked
    }
}

/// When to do again what has taken the time since `begun`.
fn resume(begun: Instant) -> Instant {
    let now = clock::now();
    now + now.saturating_duration_since(begun) * SHARE
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::runtime::{Builder, LocalRuntime};

    /// The tasks that look have a reference each, and nothing else looks without a request.
    fn lookers(watch: &Rc<Watch>) -> usize {
        Rc::strong_count(watch) - 1
    }

    async fn until_none_looks(watch: &Rc<Watch>) {
        while lookers(watch) != 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// A person that asks once sees what has lasted since the page is there.
    #[test]
    fn the_first_request_sees_for_how_long_a_task_has_waited() {
        let seen = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let observed = Arc::new(Observed::new());
        observed.add(seen.handle());
        let page = LocalRuntime::new().unwrap();
        page.block_on(async {
            let watch = Rc::new(Watch::new(observed));
            let task = seen.spawn(std::future::pending::<()>()).id();
            let waited = || {
                let mut histories = watch.histories.borrow_mut();
                let picture = Album::default().picture(&watch.observed, &mut histories);
                let mut tasks = picture.runtimes[0].dump.tasks().iter();
                tasks.find(|it| it.id() == task).and_then(|task| task.cold_for())
            };
            while seen.metrics().worker_poll_count(0) == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            let patrol = spawn_local(watch.clone().patrol());
            while watch.histories.borrow().is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
            patrol.abort();
            // It may have gone cold after the first look.
            watch.look_in_passing();
            let pause = Duration::from_millis(20);
            sleep(pause).await;
            assert!(waited().is_some_and(|time| time >= pause));
        });
    }

    #[test]
    fn a_page_without_requests_makes_no_looks() {
        let seen = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let observed = Arc::new(Observed::new());
        observed.add(seen.handle());
        let page = LocalRuntime::new().unwrap();
        page.block_on(async {
            let linger = Duration::from_millis(200);
            let watch = Rc::new(Watch { linger, ..Watch::new(observed) });
            assert_eq!(lookers(&watch), 0, "no request has come");
            drop(watch.look());
            assert!(
                !watch.is_under_way.get() && lookers(&watch) == 1,
                "it throws the picture away"
            );
            until_none_looks(&watch).await;
            for _ in 0..2 {
                drop((watch.picture(), watch.picture()));
                assert!(watch.is_under_way.get() && lookers(&watch) == 2, "each once");
                until_none_looks(&watch).await;
                assert!(clock::now() >= watch.asked.get() + linger);
                assert!(!watch.is_under_way.get());
                assert!(!watch.album.borrow_mut().throw_away(), "no picture is kept");
            }
        });
    }
}
