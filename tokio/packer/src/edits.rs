//! What is changed in tokio's files. Each change names a place by its text, which must be there exactly once:
//! in another release it may have moved, and then a developer has to look.

use crate::parcel::Parcel;

/// A change in one file.
struct Edit {
    path: &'static str,
    /// Where the text begins that goes.
    from: &'static str,
    /// Where the text goes on that stays. `None`: only `from` goes.
    to: Option<&'static str>,
    /// What comes in its place.
    with: &'static str,
}

/// Stands for the end of a file, in place of the text that stays.
const END: &str = "";

const EDITS: &[Edit] = &[
    // A connection that has been made is registered for reading only, until a write finds no room.
    Edit {
        path: "src/net/tcp/stream.rs",
        from: "let stream = TcpStream::new(connected)?;",
        to: Some("    /// Creates new `TcpStream` from a `std::net::TcpStream`."),
        with: "Ok(TcpStream { io: PollEvented::with_room(connected, true)? })\n    }\n\n",
    },
    Edit {
        path: "src/net/unix/stream.rs",
        from: "let stream = UnixStream::new(stream)?;\n        stream\n",
        to: Some("    pub(crate) fn new(stream: mio::net::UnixStream)"),
        with: "Ok(UnixStream { io: PollEvented::with_room(stream, true)? })\n    }\n\n",
    },
    Edit {
        path: "src/net/unix/stream.rs",
        from: "let a = UnixStream::new(a)?;",
        to: Some("\n        Ok((a, b))"),
        with: "let a = UnixStream { io: PollEvented::with_room(a, false)? };
        let b = UnixStream { io: PollEvented::with_room(b, false)? };\n",
    },
    // So are sockets for datagrams, which have room from the beginning. They have no event to wait for.
    Edit {
        path: "src/net/udp.rs",
        from: "let io = PollEvented::new(socket)?;",
        to: None,
        with: "let io = PollEvented::with_room(socket, false)?;",
    },
    Edit {
        path: "src/net/unix/datagram/socket.rs",
        from: "from_std(datagram);\n        let io = PollEvented::new(socket)?;",
        to: None,
        with: "from_std(datagram);\n        let io = PollEvented::with_room(socket, false)?;",
    },
    Edit {
        path: "src/net/unix/datagram/socket.rs",
        from: "-> io::Result<UnixDatagram> {\n        let io = PollEvented::new(socket)?;",
        to: None,
        with: "-> io::Result<UnixDatagram> {\n        let io = PollEvented::with_room(socket, false)?;",
    },
    // A connection that is made at once, as a rule to a peer on this machine, has no event to wait for.
    // tokio's tests want the first poll of a Unix connection to be pending, so those wait.
    Edit {
        path: "src/net/tcp/stream.rs",
        from: "let stream = TcpStream::new(sys)?;",
        to: None,
        with: "if sys.peer_addr().is_ok() {
                crate::task::coop::charge().await;
                return Ok(TcpStream { io: PollEvented::with_room(sys, false)? });
            }
            let stream = TcpStream::new(sys)?;",
    },
    // For what a page says of tasks that fail to connect.
    Edit {
        path: "src/net/tcp/stream.rs",
        from: "pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {",
        to: None,
        with: "pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
            let result = TcpStream::connect_uncounted(addr).await;
            liten::io::connected(&result);
            result
        }

        async fn connect_uncounted<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {",
    },
    Edit {
        path: "src/net/tcp/socket.rs",
        from: "pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {",
        to: None,
        with: "pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        let result = self.connect_uncounted(addr).await;
        liten::io::connected(&result);
        result
    }

    async fn connect_uncounted(self, addr: SocketAddr) -> io::Result<TcpStream> {",
    },
    // A listener whose queue is full has no event that tells when there is room: the connection is tried
    // again.
    Edit {
        path: "src/net/unix/stream.rs",
        from: "let stream = mio::net::UnixStream::connect_addr(&socket_addr.0)?;",
        to: None,
        with: "let connect = || mio::net::UnixStream::connect_addr(&socket_addr.0);
        let stream = liten::io::connect_patiently(connect).await?;",
    },
    Edit {
        path: "src/net/unix/socket.rs",
        from: "if let Err(err) = self.inner.connect(&addr) {",
        to: None,
        with: "let connect = || self.inner.connect(&addr);
        if let Err(err) = liten::io::connect_patiently(connect).await {",
    },
    // The descriptor is told to the driver, which asks the system about it.
    Edit {
        path: "src/io/async_fd.rs",
        from: "match Registration::new_with_interest_and_handle(",
        to: Some("            Ok(registration) => Ok(AsyncFd {"),
        with: "match Registration::of_descriptor(fd, interest, scheduler::Handle::current()) {\n",
    },
    // What tells the crate `tracing` of tasks is ours: of this file, what channels and locks tell is left.
    Edit {
        path: "src/util/trace.rs",
        from: "    use std::marker::PhantomData;",
        to: Some("    cfg_trace! {\n        use core"),
        with: "",
    },
    Edit {
        path: "src/util/trace.rs",
        from: "        use std::mem;",
        to: Some("        pub(crate) fn async_op<"),
        with: "        use std::future::Future;\n\n",
    },
    Edit {
        path: "src/util/trace.rs",
        from: "    cfg_not_trace! {",
        to: Some("}\n\ncfg_time! {"),
        with: "",
    },
    // The standard input is liten's: a read that waits holds up no end of a runtime, and what it brings when
    // its handle is gone is there for the next one.
    Edit {
        path: "src/io/stdin.rs",
        from: "use crate::io::blocking::Blocking;\n",
        to: None,
        with: "",
    },
    Edit {
        path: "src/io/stdin.rs",
        from: "std: Blocking<std::io::Stdin>,",
        to: None,
        with: "std: liten::io::Stdin,",
    },
    Edit {
        path: "src/io/stdin.rs",
        from: "let std = io::stdin();",
        to: Some("        Stdin {\n            std,"),
        with: "let std = liten::io::stdin();\n",
    },
    Edit {
        path: "src/io/stdin.rs",
        from: "Pin::new(&mut self.std).poll_read(cx, buf)",
        to: None,
        with: "crate::runtime::context::assert_inside();
        let room = buf.initialize_unfilled();
        let read = self.std.poll_input(cx, room);
        read.map_ok(|count| buf.advance(count))",
    },
    // The standard streams wait where they are in non-blocking mode, and an error loses nothing.
    Edit {
        path: "src/io/blocking.rs",
        from: "    T: Read + Unpin + Send + 'static,",
        to: None,
        with: "    T: crate::blocking::Reads + Unpin + Send + 'static,",
    },
    Edit {
        path: "src/io/blocking.rs",
        from: "impl<T> AsyncWrite for Blocking<T>",
        to: Some("/// Repeats operations that are interrupted."),
        with: "mod writes;\n\n",
    },
    Edit {
        path: "src/io/blocking.rs",
        from: "pub(crate) unsafe fn read_from<T: Read>(",
        to: None,
        with: "pub(crate) unsafe fn read_from<T: crate::blocking::Reads>(",
    },
    Edit {
        path: "src/io/blocking.rs",
        from: "let res = uninterruptibly!(rd.read(buf));",
        to: None,
        with: "let res = rd.read_waiting(buf);",
    },
    Edit {
        path: "src/io/blocking.rs",
        from: "pub(crate) fn write_to<T: Write>(",
        to: None,
        with: "pub(crate) fn write_to<T: crate::blocking::Writes>(",
    },
    Edit {
        path: "src/io/blocking.rs",
        from: "let res = wr.write_all(&self.buf);",
        to: Some("        res\n    }\n}\n\ncfg_io_uring!"),
        with: "let mut written = 0;
        let res = wr.write_all_waiting(&self.buf, &mut written);
        // What an error has left is written by the next call.
        self.buf.drain(..written);\n",
    },
    Edit {
        path: "src/process/windows.rs",
        from: "#[derive(Debug)]\npub(crate) struct ChildStdio {",
        to: None,
        with: "impl crate::blocking::Writes for ArcFile {
    fn write_all_waiting(&mut self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        liten::io::wait::write_all(self, bytes, written)
    }

    fn flush_waiting(&mut self) -> io::Result<()> {
        liten::io::wait::flush(self)
    }
}

#[derive(Debug)]
pub(crate) struct ChildStdio {",
    },
    // Of task dumps the half that a program calls is tokio's: what it asks of the runtime is liten's.
    Edit {
        path: "src/runtime/task/trace/mod.rs",
        from: "use crate::loom::sync::Arc;",
        to: Some("use crate::task::Id;"),
        with: "",
    },
    Edit {
        path: "src/runtime/task/trace/mod.rs",
        from: "use super::{Notified, OwnedTasks, Schedule};",
        to: None,
        with: "",
    },
    Edit {
        path: "src/runtime/task/trace/mod.rs",
        from: "    f()\n}\n\nimpl Trace {",
        to: None,
        with: "    liten::task::coop::traced(self::trace_leaf, f)\n}\n\nimpl Trace {",
    },
    Edit {
        path: "src/runtime/task/trace/mod.rs",
        from: "context::with_scheduler(|scheduler| {",
        to: Some("\n    match ret {"),
        with: "crate::trace::defer(cx.waker());\n    });\n",
    },
    Edit {
        path: "src/runtime/task/trace/mod.rs",
        from: "/// Trace and poll all tasks of the `current_thread` runtime.",
        to: Some(END),
        with: "",
    },
    // The end of a child process is told by liten, in `unix/child.rs`.
    Edit {
        path: "src/process/unix/mod.rs",
        from: "pub(crate) mod orphan;",
        to: Some("use crate::io::interest::Interest;"),
        with: "mod child;\npub(crate) use child::{build_child, Child};\n\n",
    },
    Edit {
        path: "src/process/unix/mod.rs",
        from: "use crate::process::kill::Kill;",
        to: Some("use mio::event::Source;"),
        with: "use crate::process::kill::Kill;\n\n",
    },
    Edit {
        path: "src/process/unix/mod.rs",
        from: "impl Wait for StdChild",
        to: Some("impl Kill for StdChild"),
        with: "",
    },
    Edit {
        path: "src/process/unix/mod.rs",
        from: "cfg_not_has_const_mutex_new!",
        to: Some("#[derive(Debug)]\npub(crate) struct ChildStdin"),
        with: "",
    },
    // A child does not inherit the slices of a worker.
    Edit {
        path: "src/process/mod.rs",
        from: "let child = self.std.spawn()?;",
        to: None,
        with: "liten::process::before_spawn();
        let child = self.std.spawn()?;",
    },
    Edit {
        path: "src/process/mod.rs",
        from: "let child = with(&mut self.std)?;",
        to: None,
        with: "liten::process::before_spawn();
        let child = with(&mut self.std)?;",
    },
];

/// Makes all changes, or none of them counts.
pub(crate) fn apply(parcel: &mut Parcel) -> Result<(), String> {
    for edit in EDITS {
        let text = parcel.text(edit.path)?;
        let edited = edited(&text, edit)?;
        parcel.put(edit.path, edited.into_bytes());
    }
    Ok(())
}

/// Says which changes have no place in these files any more.
pub(crate) fn moved(parcel: &Parcel) -> Vec<String> {
    let errors = EDITS.iter().map(|edit| edited(&parcel.text(edit.path)?, edit));
    errors.filter_map(Result::err).collect()
}

fn edited(text: &str, edit: &Edit) -> Result<String, String> {
    let start = place(text, edit, edit.from)?;
    let end = match edit.to {
        Some(END) => text.len(),
        Some(to) => place(text, edit, to)?,
        None => start + edit.from.len(),
    };
    if end < start {
        return Err(format!(
            "{}: `{}` no longer comes before what should follow it: look at packer/src/edits.rs",
            edit.path, edit.from
        ));
    }
    Ok([&text[..start], edit.with, &text[end..]].concat())
}

fn place(text: &str, edit: &Edit, anchor: &str) -> Result<usize, String> {
    let mut places = text.match_indices(anchor).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (first, _) => Err(format!(
            "{}: `{anchor}` is there {}, and once was expected: tokio has changed this file, so look at \
             packer/src/edits.rs",
            edit.path,
            if first.is_some() { "more than once" } else { "not at all" }
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, edited};

    const EDIT: Edit = Edit { path: "src/a.rs", from: "two", to: Some("four"), with: "2 " };

    #[test]
    fn what_lies_between_two_anchors_is_replaced() {
        assert_eq!(edited("one two three four", &EDIT), Ok("one 2 four".to_owned()));
        let rest = Edit { to: Some(super::END), ..EDIT };
        assert_eq!(edited("one two three four", &rest), Ok("one 2 ".to_owned()));
        let short = Edit { to: None, ..EDIT };
        assert_eq!(edited("one two three", &short), Ok("one 2  three".to_owned()));
    }

    #[test]
    fn an_anchor_that_has_gone_moved_or_doubled_is_an_error_that_names_the_file() {
        for (text, why) in [
            ("one three four", "not at all"),
            ("one two two four", "more than once"),
            ("four one two", "no longer comes before"),
        ] {
            let error = edited(text, &EDIT).expect_err(why);
            assert!(error.contains("src/a.rs") && error.contains(why), "{error}");
        }
    }
}
