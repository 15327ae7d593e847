//! What one wants to do with a source.

use crate::engine::driver::readiness::{Direction, Ready};
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// What one wants to do with a source: [`READABLE`](Self::READABLE), [`WRITABLE`](Self::WRITABLE), the two
/// that have no direction ([`ERROR`](Self::ERROR) and, on Linux and Android, `PRIORITY`), or several of them.
///
/// # Examples
///
/// ```
/// use liten::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert!(!Interest::READABLE.is_writable());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// Interest in reading: data, an incoming connection, the end of the stream.
    pub const READABLE: Self = Self(0b01);
    /// Interest in writing: room in the buffer, an established connection.
    pub const WRITABLE: Self = Self(0b10);
    /// Interest in urgent data, or whatever else the system reports as such (`EPOLLPRI`). Linux and Android
    /// only.
    ///
    /// A `TcpStream` is registered for it; any other source has to be made with
    /// [`Async::with_interest`](super::Async::with_interest). An operation for it is, for instance, a receive
    /// with `MSG_OOB`. Linux answers that with `EINVAL` if there is nothing urgent: make `WouldBlock` of it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(0b100);
    /// Interest in errors, which the system reports whatever a source is registered for.
    ///
    /// An operation for it is, for instance, a receive with `MSG_ERRQUEUE`, or `take_error`. Errors also wake
    /// tasks that want to read or write, because reading and writing return them.
    pub const ERROR: Self = Self(0b1000);

    /// Returns what is wanted in this or in `other`.
    #[must_use]
    pub const fn add(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns what is wanted in this and not in `other`; `None` if that is nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::io::Interest;
    ///
    /// const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);
    /// assert_eq!(BOTH.remove(Interest::READABLE), Some(Interest::WRITABLE));
    /// assert_eq!(BOTH.remove(BOTH), None);
    /// ```
    #[must_use]
    pub const fn remove(self, other: Self) -> Option<Self> {
        match self.0 & !other.0 {
            0 => None,
            left => Some(Self(left)),
        }
    }

    /// Returns whether reading is wanted.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.0 & Self::READABLE.0 != 0
    }

    /// Returns whether writing is wanted.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.0 & Self::WRITABLE.0 != 0
    }

    /// Returns whether urgent data is wanted. Linux and Android only.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[must_use]
    pub const fn is_priority(self) -> bool {
        self.0 & Self::PRIORITY.0 != 0
    }

    /// Returns whether errors are wanted.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 & Self::ERROR.0 != 0
    }

    pub(super) fn to_mio(self) -> mio::Interest {
        let mut all: Option<mio::Interest> = None;
        let mut add = |part| all = Some(all.map_or(part, |known| known.add(part)));
        if self.is_readable() {
            add(mio::Interest::READABLE);
        }
        if self.is_writable() {
            add(mio::Interest::WRITABLE);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.is_priority() {
            add(mio::Interest::PRIORITY);
        }
        // Errors are reported in any case, and a registration for them alone cannot be said.
        all.unwrap_or(mio::Interest::READABLE)
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl From<Interest> for Ready {
    /// What ends a wait for this interest: any of these.
    fn from(interest: Interest) -> Self {
        let mut ready = Self::EMPTY;
        if interest.is_readable() {
            ready |= Direction::Read.mask();
        }
        if interest.is_writable() {
            ready |= Direction::Write.mask();
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if interest.is_priority() {
            // Nothing urgent will come after the end either.
            ready |= Self::PRIORITY | Self::PRIORITY_CLOSED;
        }
        if interest.is_error() {
            ready |= Self::ERROR;
        }
        ready
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["READABLE", "WRITABLE", "PRIORITY", "ERROR"];
        let mut separator = "";
        for (index, name) in names.iter().enumerate() {
            if self.0 & (1 << index) != 0 {
                write!(f, "{separator}{name}")?;
                separator = " | ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Interest, Ready};

    #[test]
    fn both_directions_survive_the_way_to_mio() {
        let both = Interest::READABLE | Interest::WRITABLE;
        assert_eq!(both.to_mio(), mio::Interest::READABLE | mio::Interest::WRITABLE);
        assert_eq!(Interest::READABLE.to_mio(), mio::Interest::READABLE);
        assert_eq!(Interest::WRITABLE.to_mio(), mio::Interest::WRITABLE);
        assert_eq!(format!("{both:?}"), "READABLE | WRITABLE");
        assert_eq!(Ready::from(both), Ready::from(both.to_mio()));
    }

    #[test]
    fn errors_need_no_registration() {
        assert_eq!(Interest::ERROR.to_mio(), mio::Interest::READABLE);
        assert_eq!((Interest::ERROR | Interest::WRITABLE).to_mio(), mio::Interest::WRITABLE);
        assert_eq!(Ready::from(Interest::ERROR), Ready::ERROR);
        assert!(Interest::ERROR.is_error() && !Interest::READABLE.is_error());
        assert_eq!(format!("{:?}", Interest::READABLE | Interest::ERROR), "READABLE | ERROR");
    }
}
