//! Signals to hosts: which handlers a host has, and which thread runs them.
//!
//! A handler runs on the first thread of the host that there is, as the kernel prefers the main
//! thread. A blocked thread is woken for it. Its wait goes on afterwards, as with `SA_RESTART`.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use libc::{SA_RESETHAND, SA_SIGINFO, SIG_DFL, SIG_IGN, sigaction, siginfo_t};

use super::actor::{ActorId, State, Waits, Wake};
use super::{Guard, World, lock, turn};
use crate::objects::unix::UnixState;
use crate::objects::{Kind, ObjectId};
use crate::real;

/// What a signal does to a host.
enum Effect {
    Nothing,
    /// The host ends as a killed process does.
    End,
    Stop,
    Handler,
}

/// Signals with their names, for reports.
const NAMES: [(c_int, &str); 12] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGCHLD, "SIGCHLD"),
    (libc::SIGCONT, "SIGCONT"),
    (libc::SIGSTOP, "SIGSTOP"),
    (libc::SIGTSTP, "SIGTSTP"),
];

pub(crate) fn name_of(signal: c_int) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

impl World {
    /// What `host` does about a signal, if it has said so.
    ///
    /// The registry by which libraries share a signal is a static, which asks the system only once
    /// for all hosts. So a host that has said nothing has what another one has said.
    pub(crate) fn action_of(&self, host: usize, signal: c_int) -> Option<sigaction> {
        let own = self.actions.get(&(host, signal));
        let others = || self.actions.iter().find(|((_, number), _)| *number == signal);
        own.or_else(|| others().map(|(_, action)| action)).copied()
    }

    fn effect_of(&self, host: usize, signal: c_int) -> Effect {
        let handler = self.action_of(host, signal).map_or(SIG_DFL, |action| action.sa_sigaction);
        match (signal, handler) {
            (libc::SIGKILL, _) => Effect::End,
            (libc::SIGSTOP, _) => Effect::Stop,
            (_, SIG_IGN) => Effect::Nothing,
            (libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, SIG_DFL) => Effect::Stop,
            (libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT, SIG_DFL) => {
                Effect::Nothing
            }
            (_, SIG_DFL) => Effect::End,
            _ => Effect::Handler,
        }
    }

    /// Whether a signal ends `host`.
    pub(crate) fn ends_by(&self, host: usize, signal: c_int) -> bool {
        matches!(self.effect_of(host, signal), Effect::End)
    }

    /// Delivers a signal to a host that runs.
    pub(crate) fn deliver(&mut self, host: usize, signal: c_int) {
        if signal == libc::SIGCONT {
            self.hosts[host].is_paused = false;
        }
        match self.effect_of(host, signal) {
            Effect::Nothing => {}
            Effect::End => self.crash(host),
            Effect::Stop => self.hosts[host].is_paused = true,
            Effect::Handler => self.interrupt(host, signal),
        }
    }

    fn interrupt(&mut self, host: usize, signal: c_int) {
        let is_there = |id: &usize| {
            let actor = &self.actors[*id];
            actor.host == host && actor.is_alive() && !actor.is_doomed
        };
        let Some(id) = (0..self.actors.len()).find(is_there).map(ActorId) else { return };
        let actor = &mut self.actors[id.0];
        // One that waits already is not doubled.
        if !actor.signals.contains(&signal) {
            actor.signals.push(signal);
        }
        match actor.state {
            // What the run does to the thread has an end of its own.
            State::Blocked(ref waits) if waits.are_of_a_disturbance() => {}
            State::Blocked(Waits::Futex(address)) => {
                self.leave_futex(address, id);
                self.make_ready(id, Wake::Ready);
            }
            _ => self.make_ready(id, Wake::Ready),
        }
    }

    fn next_signal(&mut self, me: ActorId) -> Option<(c_int, sigaction)> {
        let actor = &mut self.actors[me.0];
        let is_busy = actor.is_handling || actor.is_doomed || actor.signals.is_empty();
        if is_busy {
            return None;
        }
        let (host, signal) = (actor.host, actor.signals.remove(0));
        let action = self.action_of(host, signal)?;
        if action.sa_flags & SA_RESETHAND != 0 {
            self.actions.retain(|(_, number), _| *number != signal);
        }
        self.actors[me.0].is_handling = true;
        Some((signal, action))
    }

    /// Whether the running thread is in a handler, and writes to a pipe of another host.
    ///
    /// The handler of a shared registry does what all hosts have asked for. For each of them it
    /// writes to a pipe, whose reader tells for whom that is.
    pub(crate) fn handles_for_another(&self, id: ObjectId) -> bool {
        let actor = &self.actors[self.running.0];
        if !actor.is_handling {
            return false;
        }
        let reader = match self.objects.get(id).map(|object| &object.kind) {
            Some(Kind::Event(_)) => Some(id),
            Some(Kind::PipeWriter(pipe)) => self.objects.pipes[pipe.0].readers.first().copied(),
            Some(Kind::Unix(socket)) => match socket.state {
                UnixState::Connected { send, .. } => {
                    self.objects.pipes[send.0].readers.first().copied()
                }
                _ => None,
            },
            _ => None,
        };
        let reader = reader.and_then(|reader| self.objects.get(reader));
        reader.is_some_and(|reader| !reader.is_of(actor.host))
    }
}

/// Delivers a signal that the calling thread sends to its own host.
pub(crate) fn raise(mut world: Guard, me: ActorId, signal: c_int) {
    let host = world.actors[me.0].host;
    match world.effect_of(host, signal) {
        Effect::Nothing => {}
        Effect::End => {
            // It is no way for a client to come to its end, and none for the run's first process.
            if host == 0 || world.hosts[host].is_client {
                world.end_failed(format!("the program ended itself by {}", name_of(signal)));
            }
            drop(world);
            turn::exit_host(0);
        }
        Effect::Stop => {
            world.hosts[host].is_paused = true;
            turn::yield_turn(world, me);
        }
        Effect::Handler => {
            world.actors[me.0].signals.push(signal);
            run_handlers(world, me);
        }
    }
}

/// Runs the handlers of the signals that have come to the calling thread.
pub(crate) fn run_handlers(mut world: Guard, me: ActorId) -> Guard {
    while let Some((signal, action)) = world.next_signal(me) {
        drop(world);
        // SAFETY: the program has given this function for the signal.
        real::keeping_errno(|| unsafe { call(&action, signal) });
        world = lock();
        world.actors[me.0].is_handling = false;
    }
    world
}

/// # Safety
///
/// The action has a handler, and its flags say of which form.
unsafe fn call(action: &sigaction, signal: c_int) {
    let handler = action.sa_sigaction as *const ();
    if action.sa_flags & SA_SIGINFO == 0 {
        // SAFETY: as above.
        let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
        return handler(signal);
    }
    // SAFETY: as above. Both places are ours, and all zeros are a valid value for each.
    unsafe {
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
            std::mem::transmute(handler);
        let mut info: siginfo_t = MaybeUninit::zeroed().assume_init();
        info.si_signo = signal;
        let mut context: libc::ucontext_t = MaybeUninit::zeroed().assume_init();
        handler(signal, &raw mut info, (&raw mut context).cast());
    }
}
