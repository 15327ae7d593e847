//! The standard streams of a component, over `wasi:cli`.

#[path = "futures_io.rs"]
mod futures_io;

use crate::component::stream::{Input, Output};
use crate::io::AsyncRead;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use wasip2::cli;

/// The standard input of the component; see [`stdin`].
#[derive(Debug)]
pub struct Stdin(Input);

/// The standard output of the component; see [`stdout`].
#[derive(Debug)]
pub struct Stdout(Output);

/// The standard error of the component; see [`stderr`].
#[derive(Debug)]
pub struct Stderr(Output);

/// Returns the standard input of the component.
///
/// All handles read from one place: each byte goes to one of them.
///
/// # Cancel safety
///
/// Reading some bytes is cancel safe, see [`io`](crate::io).
///
/// # Errors
///
/// Reading returns the errors of the host.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::wasi::block_on(|_| async {
/// use liten::io::{AsyncBufReadExt, BufReader, stdin};
///
/// let mut name = String::new();
/// BufReader::new(stdin()).read_line(&mut name).await?;
/// println!("hello {}", name.trim());
/// # Ok(())
/// # })
/// # }
/// ```
pub fn stdin() -> Stdin {
    Stdin(Input::new(cli::stdin::get_stdin(), "read from standard input"))
}

/// Returns the standard output of the component.
///
/// A write is taken by the host, which writes it in its own time.
/// **[Flush](crate::io::AsyncWriteExt::flush) before it is dropped**, at the latest at the end of `main`:
/// what the host has not written by then may be lost. `println!` goes to the same place by another way, in no
/// certain order.
///
/// # Cancel safety
///
/// Cancel safe: a write has been taken or not; a flush that is given up does not stop it.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::wasi::block_on(|_| async {
/// use liten::io::{AsyncWriteExt, stdout};
///
/// let mut out = stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub fn stdout() -> Stdout {
    Stdout(Output::new(cli::stdout::get_stdout(), "write to standard output"))
}

/// Returns the standard error of the component, which is written to as [`stdout`] is.
pub fn stderr() -> Stderr {
    Stderr(Output::new(cli::stderr::get_stderr(), "write to standard error"))
}

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_read(cx, buf)
    }
}
