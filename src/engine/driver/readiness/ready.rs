//! The two sides of a source and what the system says about them, as small sets of bits.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// One of the two sides of a source; each has its own waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The direction of incoming data.
    Read,
    /// The direction of outgoing data.
    Write,
}

impl Direction {
    /// The bits of which one is enough to try the system call.
    pub(crate) fn mask(self) -> Ready {
        match self {
            Self::Read => Ready::READABLE | Ready::READ_CLOSED,
            Self::Write => Ready::WRITABLE | Ready::WRITE_CLOSED,
        }
    }

    /// The bits that data, or room for it, stands behind; used up by taking the data.
    pub(crate) fn data(self) -> Ready {
        match self {
            Self::Read => Ready::READABLE,
            Self::Write => Ready::WRITABLE,
        }
    }

    /// The bit of what may have cut a transfer short although there is more.
    pub(super) fn mark(self) -> Ready {
        match self {
            Self::Read => Ready::MARK,
            Self::Write => Ready::EMPTY,
        }
    }

    /// All that is known of this side.
    pub(in crate::engine::driver) fn all(self) -> Ready {
        self.data() | self.closed() | self.mark()
    }

    /// The bits that say that this side has come to its end.
    pub(in crate::engine::driver) fn closed(self) -> Ready {
        match self {
            Self::Read => Ready::READ_CLOSED | Ready::PRIORITY_CLOSED,
            Self::Write => Ready::WRITE_CLOSED,
        }
    }
}

/// The operations that a source is ready for, as far as the system has reported.
///
/// It is a hint, not a promise: another task may have taken the data meanwhile, and then the
/// operation returns [`WouldBlock`](std::io::ErrorKind::WouldBlock) all the same.
///
/// # Examples
///
/// ```
/// use liten::io::Ready;
///
/// let ready = Ready::READABLE | Ready::READ_CLOSED;
/// assert!(ready.is_readable() && ready.is_read_closed());
/// assert!(!ready.is_writable());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ready(u8);

impl Ready {
    /// Nothing is known to be ready.
    pub const EMPTY: Self = Self(0);
    /// There is something to read, to accept, or an error to fetch.
    pub const READABLE: Self = Self(1);
    /// There is room to write, a connect has finished, or an error is to be fetched.
    pub const WRITABLE: Self = Self(1 << 1);
    /// Nothing more will come after what is left to read. A socket that is not connected yet is reported so,
    /// too, until it is.
    pub const READ_CLOSED: Self = Self(1 << 2);
    /// Nothing can be written any more. After an error, such as that of a datagram which was refused, it is
    /// set although one can write, until a write finds no room.
    pub const WRITE_CLOSED: Self = Self(1 << 3);
    /// The system reported an error; the next operation or `take_error` returns it. Tasks that wait
    /// with `Interest::ERROR` are told.
    pub const ERROR: Self = Self(1 << 4);
    /// Urgent data, where the system tells it apart. Tasks that wait with `Interest::PRIORITY` are
    /// told.
    pub const PRIORITY: Self = Self(1 << 5);

    /// The place where urgent data lies in the stream: a read stops there. It comes with `PRIORITY` and goes
    /// when a read finds nothing, whether or not the urgent data has been fetched. No task is told of it.
    pub(super) const MARK: Self = Self(1 << 6);

    /// `READ_CLOSED` for the tasks that wait for urgent data: none will come. It is a bit of its own, so that
    /// one that has been told, and finds no urgent data, can wait on, while readers still see the end.
    pub(crate) const PRIORITY_CLOSED: Self = Self(1 << 7);

    /// All bits that a state word holds.
    pub(super) const ALL_BITS: Self = Self(0xff);

    /// Everything that a source can be ready for.
    pub const ALL: Self = Self(0x3f);

    /// Returns true if nothing is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a read would find data, the end of the stream, or an error.
    pub const fn is_readable(self) -> bool {
        self.intersects(Self(Self::READABLE.0 | Self::READ_CLOSED.0))
    }

    /// Returns true if a write would find room, a closed side, or an error.
    pub const fn is_writable(self) -> bool {
        self.intersects(Self(Self::WRITABLE.0 | Self::WRITE_CLOSED.0))
    }

    /// Returns true if the peer has finished sending, or this side has stopped reading.
    pub const fn is_read_closed(self) -> bool {
        self.intersects(Self::READ_CLOSED)
    }

    /// Returns true if the system says that writing has ended.
    pub const fn is_write_closed(self) -> bool {
        self.intersects(Self::WRITE_CLOSED)
    }

    /// Returns true if the system reported an error.
    pub const fn is_error(self) -> bool {
        self.intersects(Self::ERROR)
    }

    /// Returns true if urgent data was reported.
    pub const fn is_priority(self) -> bool {
        self.intersects(Self::PRIORITY)
    }

    /// Returns whether this has any of the bits of `other`.
    #[doc(hidden)]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(in crate::engine::driver) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// As `|`, in constants.
    pub(in crate::engine::driver) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::engine::driver) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Adds what follows from what the system reports: the mark that urgent data leaves in the stream, and
    /// that there is no urgent data after the end.
    pub(super) fn with_what_follows(mut self) -> Self {
        if self.intersects(Self::PRIORITY) {
            self |= Self::MARK;
        }
        if self.intersects(Self::READ_CLOSED) {
            self |= Self::PRIORITY_CLOSED;
        }
        self
    }

    /// The same in bits that users know.
    pub(super) fn shown(self) -> Self {
        let shown = self.intersection(Self::ALL);
        if self.intersects(Self::PRIORITY_CLOSED) { shown | Self::READ_CLOSED } else { shown }
    }

    /// The bits as they lie in the state word.
    pub(in crate::engine::driver) fn bits(self) -> u64 {
        u64::from(self.0)
    }

    /// Takes the ready bits out of a state word.
    pub(super) fn from_state(state: u64) -> Self {
        Self((state & Self::ALL_BITS.bits()) as u8)
    }
}

impl From<mio::Interest> for Ready {
    /// The bits of which one is enough for this interest, as far as it is about directions.
    fn from(interest: mio::Interest) -> Self {
        let mut mask = Self::EMPTY;
        if interest.is_readable() {
            mask |= Direction::Read.mask();
        }
        if interest.is_writable() {
            mask |= Direction::Write.mask();
        }
        mask
    }
}

impl From<&mio::event::Event> for Ready {
    /// An error counts as both readable and writable: only an operation can fetch it, and epoll
    /// reports an ICMP error on a datagram socket without the readable bit, so a pending receive
    /// would never see it.
    fn from(event: &mio::event::Event) -> Self {
        // Not a loop over an array: this runs for each event, and each round of such a loop is seven calls
        // in a debug build.
        let part = |reported: bool, bits: Self| if reported { bits.0 } else { 0 };
        Self(
            part(event.is_readable(), Self::READABLE)
                | part(event.is_writable(), Self::WRITABLE)
                | part(event.is_read_closed(), Self::READ_CLOSED)
                | part(event.is_write_closed(), Self::WRITE_CLOSED)
                | part(event.is_error(), Self::ERROR | Self::READABLE | Self::WRITABLE)
                | part(event.is_priority(), Self::PRIORITY),
        )
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::READABLE, "READABLE"),
            (Self::WRITABLE, "WRITABLE"),
            (Self::READ_CLOSED, "READ_CLOSED"),
            (Self::WRITE_CLOSED, "WRITE_CLOSED"),
            (Self::ERROR, "ERROR"),
            (Self::PRIORITY, "PRIORITY"),
        ];
        let mut separator = "";
        for (bit, name) in names {
            if self.intersects(bit) {
                write!(f, "{separator}{name}")?;
                separator = " | ";
            }
        }
        if self.is_empty() {
            f.write_str("EMPTY")?;
        }
        Ok(())
    }
}
