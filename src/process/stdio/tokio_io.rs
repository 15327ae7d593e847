//! The I/O traits of tokio.

use super::{ChildStderr, ChildStdin, ChildStdout};
use crate::io::trait_families::{fill, implement_read, implement_write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

implement_write!(AsyncWrite, vectored: true, [] ChildStdin []);
implement_read!(AsyncRead, &mut ReadBuf<'_>, [] ChildStdout [], |this, cx, buf| fill(this, cx, buf));
implement_read!(AsyncRead, &mut ReadBuf<'_>, [] ChildStderr [], |this, cx, buf| fill(this, cx, buf));
