//! `eventfd`.

use libc::{EAGAIN, EINVAL};

use super::{IN, OUT};
use crate::network::Errno;

pub(crate) struct Event {
    count: u64,
    takes_one: bool,
}

impl Event {
    /// `takes_one` is `EFD_SEMAPHORE`: a read takes one off the count and not all of it.
    pub(crate) fn new(count: u64, takes_one: bool) -> Self {
        Self { count, takes_one }
    }

    pub(crate) fn read(&mut self) -> Result<u64, Errno> {
        match self.count {
            0 => Err(EAGAIN),
            _ if self.takes_one => {
                self.count -= 1;
                Ok(1)
            }
            count => {
                self.count = 0;
                Ok(count)
            }
        }
    }

    pub(crate) fn write(&mut self, more: u64) -> Result<(), Errno> {
        if more == u64::MAX {
            return Err(EINVAL);
        }
        // The system's greatest count is one below the greatest number.
        match self.count.checked_add(more) {
            Some(count) if count != u64::MAX => {
                self.count = count;
                Ok(())
            }
            _ => Err(EAGAIN),
        }
    }

    pub(crate) fn readiness(&self) -> u32 {
        let readable = if self.count > 0 { IN } else { 0 };
        let writable = if self.count < u64::MAX - 1 { OUT } else { 0 };
        readable | writable
    }
}
