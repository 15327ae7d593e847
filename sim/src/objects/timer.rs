//! `timerfd`.

use std::ffi::c_int;

use libc::EAGAIN;

use super::{IN, Kind, ObjectId};
use crate::network::{Errno, Nanos};
use crate::timeline;
use crate::world::{Due, World};

pub(crate) struct Timer {
    clock: c_int,
    /// What the own clock of its host counts then.
    next: Option<Nanos>,
    /// Between two expirations; 0 for a timer that expires once.
    interval: Nanos,
    expirations: u64,
    /// Tells the present setting from earlier ones.
    setting: u64,
}

impl Timer {
    /// A timer by the system's clock of this number, not set.
    pub(crate) fn new(clock: c_int) -> Self {
        Self { clock, next: None, interval: 0, expirations: 0, setting: 0 }
    }

    pub(crate) fn clock(&self) -> c_int {
        self.clock
    }

    pub(crate) fn read(&mut self) -> Result<u64, Errno> {
        match std::mem::take(&mut self.expirations) {
            0 => Err(EAGAIN),
            expirations => Ok(expirations),
        }
    }

    pub(crate) fn readiness(&self) -> u32 {
        if self.expirations > 0 { IN } else { 0 }
    }

    /// The time left until it expires, and its interval. Zero and zero for one that is not set.
    pub(crate) fn left(&self, now: Nanos) -> (Nanos, Nanos) {
        let left = self.next.map_or(0, |next| next.saturating_sub(now).max(1));
        (left, self.interval)
    }
}

impl World {
    /// Sets a timer to `next`, or stops it.
    pub(crate) fn set_timer(&mut self, id: ObjectId, next: Option<Nanos>, interval: Nanos) {
        let Ok(Kind::Timer(timer)) = self.kind_mut(id) else { return };
        timer.next = next;
        timer.interval = interval;
        timer.expirations = 0;
        timer.setting += 1;
        let setting = timer.setting;
        self.start_timer(id, next, setting);
    }

    /// `next` is what the own clock of the timer's host counts when it is due.
    fn start_timer(&mut self, id: ObjectId, next: Option<Nanos>, setting: u64) {
        if let (Some(clock), Some(next)) = (self.clock_of(id), next) {
            self.add_timer(clock.when(next), Due::Timer(id, setting));
        }
    }

    pub(crate) fn timer_expires(&mut self, id: ObjectId, setting: u64) {
        let Some(now) = self.clock_of(id).map(|clock| clock.shows(self.now)) else { return };
        let Ok(Kind::Timer(timer)) = self.kind_mut(id) else { return };
        if timer.setting != setting {
            return;
        }
        if timeline::is_on()
            && let Some(object) = self.objects.get(id)
        {
            let host = &self.hosts[object.host].name;
            timeline::note(self.now, || format!("{host}: a timer expires"));
        }
        let Ok(Kind::Timer(timer)) = self.kind_mut(id) else { return };
        let mut again = None;
        match (timer.next, timer.interval) {
            (Some(next), interval) if interval > 0 => {
                // A late look counts every expiration that was due.
                let missed = now.saturating_sub(next) / interval;
                timer.expirations += 1 + missed;
                again = Some(next + (1 + missed) * interval);
            }
            _ => timer.expirations += 1,
        }
        timer.next = again;
        self.start_timer(id, again, setting);
        self.touch(id, IN);
    }
}
