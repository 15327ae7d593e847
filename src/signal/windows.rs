//! Windows: the events of the console.
//!
//! The system calls the handler on a thread that it makes for each event, so the handler may take locks and
//! call wakers like any other code. Events reach the listeners of all runtimes directly, without a driver.
//!
//! windows-sys and not the crate `ctrlc`, which is safe but cannot tell the events apart; mio has
//! windows-sys in the tree already.

#![allow(unsafe_code)]

use crate::engine::wakers;
use futures_core::Stream;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::core::BOOL;

/// All listeners. A listener that was dropped is removed when the next one is added.
static LISTENERS: Mutex<Vec<Weak<Listener>>> = Mutex::new(Vec::new());

struct Listener {
    event: u32,
    fired: AtomicBool,
    waker: AtomicWaker,
}

impl Listener {
    fn new(event: u32) -> io::Result<Arc<Self>> {
        install()?;
        let listener =
            Arc::new(Self { event, fired: AtomicBool::new(false), waker: AtomicWaker::new() });
        let mut listeners = LISTENERS.lock();
        listeners.retain(|other| other.strong_count() > 0);
        listeners.push(Arc::downgrade(&listener));
        Ok(listener)
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.waker.register(cx.waker());
        // Ordering: Relaxed; the waker's own synchronisation makes either this see the handler's store, or
        // the handler find the waker.
        if self.fired.swap(false, Ordering::Relaxed) {
            Poll::Ready(Some(()))
        } else {
            Poll::Pending
        }
    }
}

/// Installs the handler, once in a process.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: the handler has the type that the system asks for and stays for the life of the process.
        match unsafe { SetConsoleCtrlHandler(Some(handle), 1) } {
            0 => Err(io::Error::last_os_error().raw_os_error().unwrap_or_default()),
            _ => Ok(()),
        }
    });
    installed.map_err(io::Error::from_raw_os_error)
}

extern "system" fn handle(event: u32) -> BOOL {
    let listeners: Vec<_> = LISTENERS.lock().iter().filter_map(Weak::upgrade).collect();
    let mut heard = false;
    for listener in listeners {
        let concerned = listener.event == event;
        heard |= concerned;
        // A panic must not leave this function: neither that of a waker nor, if the listener goes meanwhile,
        // that of its destructor.
        wakers::guard(move || {
            if concerned {
                // Ordering: Relaxed, before the wake: the waker orders it against the swap in `poll`.
                listener.fired.store(true, Ordering::Relaxed);
                listener.waker.wake();
            }
        });
    }
    // The system ends the process when a handler of these returns; so the program gets the seconds that the
    // system grants, to end by itself.
    if heard && matches!(event, CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT) {
        loop {
            std::thread::park();
        }
    }
    // 0: the next handler, by default the one that ends the process.
    BOOL::from(heard)
}

macro_rules! events {
    ($($function:ident, $type:ident, $event:ident: $what:literal;)*) => {$(
        #[doc = concat!("Listens for ", $what, "; made by [`", stringify!($function), "`].")]
        ///
        /// Each listener gets each event; events that come before the next `recv` are one. It is also a
        /// [`Stream`].
        #[must_use = "it does nothing unless it is asked for events"]
        pub struct $type(Arc<Listener>);

        #[doc = concat!("Returns a listener for ", $what, ".")]
        ///
        /// While there is one, the event does not end the process at once. Needs no runtime.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system if the handler cannot be installed.
        pub fn $function() -> io::Result<$type> {
            Listener::new($event).map($type)
        }

        impl $type {
            /// Waits for the next event. Never returns `None`.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: a future that is dropped before it is ready has taken no event.
            pub async fn recv(&mut self) -> Option<()> {
                std::future::poll_fn(|cx| self.poll_recv(cx)).await
            }

            /// Polls for the next event, in the sense of [`recv`](Self::recv).
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
                self.0.poll(cx)
            }
        }

        impl Stream for $type {
            type Item = ();

            fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
                self.poll_recv(cx)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

events! {
    ctrl_c, CtrlC, CTRL_C_EVENT: "ctrl-c";
    ctrl_break, CtrlBreak, CTRL_BREAK_EVENT: "ctrl-break";
    ctrl_close, CtrlClose, CTRL_CLOSE_EVENT: "the closing of the console's window";
    ctrl_shutdown, CtrlShutdown, CTRL_SHUTDOWN_EVENT: "the shutdown of the system";
    ctrl_logoff, CtrlLogoff, CTRL_LOGOFF_EVENT: "the end of the user's session";
}
