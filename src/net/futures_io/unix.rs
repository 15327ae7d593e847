//! Unix streams and pipes.

use super::used;
use crate::engine::driver::readiness::Direction;
use crate::io::{AsyncRead, AsyncWrite, forward_read, forward_write};
use crate::net::UnixStream;
use crate::net::unix::pipe;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};

// A read ends early, with more to come, where file descriptors were passed along or the sender's
// credentials change.
byte_source!(UnixStream, short_read_drains: false);
byte_sink!(
    UnixStream,
    /// Shuts the writing side down, so that the peer reads the end.
    end: |stream| stream.shutdown_std(Shutdown::Write)
);

// A pipe in packet mode (`O_DIRECT`) returns a packet per read, with more to come.
byte_source!(pipe::Receiver, short_read_drains: false);
byte_sink!(
    pipe::Sender,
    /// Does nothing: the reader sees the end when the sender, and every copy of its descriptor, is dropped.
    end: |_sender| Ok(())
);
