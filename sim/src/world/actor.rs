//! A thread of the run.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use libc::pthread_t;

use super::{Inside, World};
use crate::baton::Baton;
use crate::choices::entity;
use crate::objects::ObjectId;

/// The place of an actor in [`World::actors`](super::World::actors).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ActorId(pub(crate) usize);

pub(crate) struct Actor {
    pub(crate) host: usize,
    /// It is made of the host's name, the thread's name, and how many threads of the host had that
    /// name before, so that a further thread of another name changes no other thread's choices.
    pub(crate) entity: u64,
    /// By which choices about it are drawn: the thread itself, or the task that it has last touched.
    pub(crate) subject: u64,
    /// It is a worker of a runtime that announces its tasks.
    pub(crate) polls_tasks: bool,
    pub(crate) name: String,
    pub(crate) baton: Baton,
    pub(crate) state: State,
    /// Why the last wait ended.
    pub(crate) wake: Wake,
    /// Tells the present wait from earlier ones.
    pub(crate) waits_number: u64,
    pub(crate) native: Option<pthread_t>,
    pub(crate) result: *mut c_void,
    pub(crate) joiner: Option<ActorId>,
    /// The host of the next thread that it creates, where that is not its own.
    pub(crate) next_host: Option<usize>,
    /// Whether a crash may end the thread where it stands. It may not in a call that is also made
    /// under locks that all hosts share.
    pub(crate) may_end: bool,
    /// Its host has crashed, and it ends at its next call at which it may.
    pub(crate) is_doomed: bool,
    pub(crate) calls_after_crash: u32,
    /// Signals whose handlers it is to run.
    pub(crate) signals: Vec<c_int>,
    pub(crate) is_handling: bool,
}

// SAFETY: the pointer is what the thread returned. It is handed to the thread that joins it and
// never read here.
unsafe impl Send for Actor {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Running,
    Blocked(Waits),
    Ended,
    /// Its host has crashed.
    Crashed,
}

/// What a blocked actor waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Time alone.
    Sleep,
    /// It was held up by the run itself.
    Pause,
    /// It is to run when no other thread can.
    Late,
    Futex(usize),
    Join(ActorId),
    /// Any of these descriptors' objects.
    Objects(Vec<ObjectId>),
    /// The scenario waits for the clients.
    Clients,
}

impl Waits {
    /// Whether the run itself holds the actor up, by a time of its own.
    pub(crate) fn are_of_a_disturbance(&self) -> bool {
        matches!(self, Waits::Pause | Waits::Late)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    Ready,
    TimedOut,
}

thread_local! {
    static CURRENT: Cell<Option<ActorId>> = const { Cell::new(None) };
}

/// The actor of this thread, unless the thread is no actor or works for this package right now.
pub(crate) fn current() -> Option<ActorId> {
    if Inside::is() { None } else { CURRENT.get() }
}

pub(crate) fn set_current(actor: Option<ActorId>) {
    CURRENT.set(actor);
}

impl World {
    /// Adds an actor of `host`, which is ready at once.
    pub(crate) fn add_actor(&mut self, host: usize) -> ActorId {
        let id = ActorId(self.actors.len());
        let baton = Baton::new();
        self.actors.push(Actor {
            host,
            entity: 0,
            subject: 0,
            polls_tasks: false,
            name: String::new(),
            baton,
            state: State::Ready,
            wake: Wake::Ready,
            waits_number: 0,
            native: None,
            result: std::ptr::null_mut(),
            joiner: None,
            next_host: None,
            may_end: true,
            is_doomed: false,
            calls_after_crash: 0,
            signals: Vec::new(),
            is_handling: false,
        });
        self.name_actor(id, "thread");
        self.ready.push_back(id);
        id
    }

    pub(crate) fn name_actor(&mut self, id: ActorId, name: &str) {
        let host = &mut self.hosts[self.actors[id.0].host];
        let of_that_name = host.threads_named.entry(name.to_owned()).or_insert(0);
        *of_that_name += 1;
        let text = format!("{}/{name}/{of_that_name}", host.name);
        let actor = &mut self.actors[id.0];
        actor.entity = entity(&text);
        actor.subject = actor.entity;
        actor.name = text.clone();
        self.names.insert(entity(&text), text);
    }
}
