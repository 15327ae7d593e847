//! A recording from the start to the stop.

use super::tap::Tap;
use super::trace::Trace;
use super::track::NextRecords;
use crate::impls::impl_debug;
use crate::runtime::Handle;
use std::num::NonZeroUsize;

/// A recording of a runtime that is under way. From [`Handle::record`].
///
/// Dropping it ends the recording.
pub struct Recording {
    tap: Tap,
    next: NextRecords,
}

impl Handle {
    /// Records what the workers do, until [`Recording::stop`] or the drop of what is returned.
    ///
    /// The recording has each poll with its task and duration, each wake and each spawn with the thread and
    /// the poll that it came from, and when workers slept or fetched events. A worker begins at its next
    /// poll. Tasks that no worker polls, such as those of [`LocalRuntime`](crate::runtime::LocalRuntime) and
    /// blocking ones, are recorded only as far as workers wake or spawn them.
    ///
    /// Each worker keeps the last 32,768 events, 32 bytes each; with more than four workers fewer. Those
    /// before are lost, and [`Trace::lost`] counts them. While nothing is recorded, this costs a wake, a
    /// spawn and a poll a look at one byte. Under way, it costs a poll two readings of the clock.
    ///
    /// All that is kept takes 9 MiB of memory at most, at the time of writing, and 8 KiB more for each
    /// worker beyond 512 at the start, however long it goes on. Workers that come later share a part of that:
    /// many of them keep fewer events, or none, and those are counted as lost. A worker gives its part back
    /// with its first poll after the end.
    ///
    /// Several recordings of a runtime share what is kept, and each has what came after its start. The first
    /// of them says how much that is: a [`FlightRecorder`](super::FlightRecorder) may keep more. Returns
    /// `None` if the runtime has no workers, or if it has been shut down.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let recording = liten::runtime::Handle::current().record().unwrap();
    /// liten::spawn(async { liten::task::yield_now().await }).await.unwrap();
    /// let trace = recording.stop();
    /// std::fs::write(std::env::temp_dir().join("trace.json"), trace.to_chrome_json()).unwrap();
    /// // Then open the file in https://ui.perfetto.dev or chrome://tracing.
    /// # });
    /// ```
    pub fn record(&self) -> Option<Recording> {
        Recording::of(self, None)
    }
}

impl Recording {
    /// See [`Tap::of`].
    pub(super) fn of(handle: &Handle, events: Option<NonZeroUsize>) -> Option<Self> {
        let tap = Tap::of(handle, events)?;
        Some(Self { next: tap.start(), tap })
    }

    /// Returns what has been recorded since the last call, or since the begin, and goes on.
    ///
    /// One thread after the other is looked at, so the trace of a later call may have events that came before
    /// the last ones of this.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let mut recording = liten::runtime::Handle::current().record().unwrap();
    /// let (mut events, mut lost) = (0, 0);
    /// for _ in 0..10 {
    ///     liten::time::sleep(std::time::Duration::from_millis(1)).await;
    ///     let trace = recording.read();
    ///     events += trace.events().count();
    ///     lost += trace.lost();
    /// }
    /// println!("{events} events, {lost} lost");
    /// # });
    /// ```
    pub fn read(&mut self) -> Trace {
        Trace::of(&self.tap, &mut self.next)
    }

    /// Ends the recording, and returns what it has and has not been [read](Self::read).
    pub fn stop(mut self) -> Trace {
        self.read()
    }

    /// Returns what has been recorded until now and has not been [read](Self::read), and goes on.
    ///
    /// The next call, [`read`](Self::read) and [`stop`](Self::stop) return it, too.
    ///
    /// So a program can keep a recording, and write down what came before something that is rare: a slow
    /// poll, a panic, a signal. The time to read it is the caller's; the workers go on meanwhile.
    ///
    /// # Examples
    ///
    /// What happened before each poll that was slow:
    ///
    /// ```
    /// use liten::insight::Recording;
    /// use std::sync::{Arc, Mutex, mpsc};
    ///
    /// let kept: Arc<Mutex<Option<Recording>>> = Arc::default();
    /// let (send, traces) = mpsc::channel();
    /// let before = kept.clone();
    /// let runtime = liten::runtime::Builder::new_multi_thread()
    ///     .on_slow_poll(move |_| {
    ///         if let Some(recording) = &*before.lock().unwrap() {
    ///             // To another thread, which writes it to a file: this one fetches events.
    ///             send.send(recording.snapshot()).unwrap();
    ///         }
    ///     })
    ///     .build()?;
    /// *kept.lock().unwrap() = runtime.handle().record();
    /// drop(runtime.spawn(async { std::thread::sleep(std::time::Duration::from_millis(300)) }));
    /// let trace = traces.recv().unwrap();
    /// assert!(trace.to_chrome_json().contains("under way"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn snapshot(&self) -> Trace {
        Trace::of(&self.tap, &mut self.next.clone())
    }
}

impl_debug!([] Recording, "Recording");
