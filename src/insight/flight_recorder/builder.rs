//! What is kept, when, and where.

use super::FlightRecorder;
use super::folder::Folder;
use super::mailbox::Mailbox;
use super::observer::{Counts, Observer, OnSnapshot};
use super::signals::Kinds;
use super::snapshot::Snapshot;
use crate::engine::sync_shim::Arc;
use crate::impls::{impl_debug, impl_unwind_safe, setters};
use crate::insight::Recording;
use crate::runtime::{Handle, invalid};
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

const MIN_INTERVAL: Duration = Duration::from_secs(10);
/// 128 MiB of each worker. The rings are made under a lock that a worker needs to start.
const MOST_EVENTS: usize = 1 << 22;
const MAX_FILES: usize = 16;
const MAX_FILE_SIZE: u64 = 32 << 20;

/// Settings of a flight recorder, and starting it. From [`FlightRecorder::builder`].
#[derive(Clone)]
pub struct FlightRecorderBuilder {
    on_panic: bool,
    on_slow_poll: bool,
    signals: Kinds,
    min_interval: Duration,
    max_events: Option<usize>,
    dir: Option<PathBuf>,
    max_files: usize,
    max_file_size: u64,
    told: Option<OnSnapshot>,
}

impl FlightRecorder {
    /// Returns the settings of a new one: nothing is kept for any reason.
    pub fn builder() -> FlightRecorderBuilder {
        FlightRecorderBuilder {
            on_panic: false,
            on_slow_poll: false,
            signals: Kinds::default(),
            min_interval: MIN_INTERVAL,
            max_events: None,
            dir: None,
            max_files: MAX_FILES,
            max_file_size: MAX_FILE_SIZE,
            told: None,
        }
    }
}

impl FlightRecorderBuilder {
    setters! {
        |this|
        /// Keeps a snapshot when a task panics: see [`FlightRecorder`](FlightRecorder#panics-of-tasks).
        on_panic() => this.on_panic = true;

        /// Keeps a snapshot when a poll is slow, while it lasts: see
        /// [`slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold) of the runtime's builder,
        /// which says what that is.
        on_slow_poll() => this.on_slow_poll = true;

        /// Keeps a snapshot when the process receives that signal, such as `SIGUSR1`; each call adds one. On
        /// Unix, with the feature `signal`.
        ///
        /// From then on the signal does not end the process, also when the recorder has been dropped: see
        /// [`signal`](crate::signal::unix::signal()).
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::insight::FlightRecorder;
        /// use liten::signal::unix::SignalKind;
        ///
        /// # liten::block_on(async {
        /// # let dir = std::env::temp_dir().join(format!("liten-signal-{}", std::process::id()));
        /// // Then: kill -USR1 PID
        /// let recorder = FlightRecorder::builder()
        ///     .on_signal(SignalKind::user_defined1())
        ///     .to_dir(&dir)
        ///     .start(&liten::runtime::Handle::current())?;
        /// # drop(recorder);
        /// # std::fs::remove_dir_all(&dir)?;
        /// # std::io::Result::Ok(())
        /// # }).unwrap();
        /// ```
        #[cfg(all(unix, feature = "signal"))]
        on_signal(kind: crate::signal::unix::SignalKind) => this.signals.add(kind);

        /// Sets the least time between two snapshots for reasons of one kind. Default: 10 s. What comes
        /// earlier is [counted](FlightRecorder::skipped).
        ///
        /// Panics are one kind, slow polls another one, signals a third one, and what is asked for by
        /// [`FlightRecorder::request`] a fourth one. While a snapshot of one kind is being made, one more
        /// waits at most, also if this is zero.
        min_interval(interval: Duration) => this.min_interval = interval;

        /// Sets how many of its last events each worker keeps, which says how far back a snapshot goes. The
        /// next lower power of two counts, and 4,194,304 is the most. Default: 32,768 with up to four
        /// workers; more workers share 131,072.
        ///
        /// An event takes 32 bytes. So a minute of a worker with 10,000 events a second takes 2^20 of them
        /// and 32 MiB of memory, and in a file about 150 MB: see [`max_file_size`](Self::max_file_size).
        /// Workers that come later, such as spare ones, share four times as much. If a recording of the
        /// runtime is under way already, such as that of the page, this one shares what that keeps.
        max_events(count: usize) => this.max_events = Some(count);

        /// Keeps snapshots in that folder, which is made if it is not there.
        ///
        /// Each is a file as [`Trace::to_chrome_json`](crate::insight::Trace::to_chrome_json) makes it, with
        /// a name such as `liten-20261125T013015.123Z-4242-0-panic.json`: when, by UTC, by which process, a
        /// number, and why. A file has this name when it is complete. On Unix only its owner can read it.
        to_dir(dir: impl Into<PathBuf>) => this.dir = Some(dir.into());

        /// Sets how many files there are in the folder at most. Default: 16.
        ///
        /// Counted are all with such names, also those of other processes, so that a program that is started
        /// again and again does not fill the disk. When there would be one more, the oldest is removed of the
        /// kind of reasons that has the most.
        max_files(count: usize) => this.max_files = count;

        /// Sets how large a file is at most, in bytes. Default: 32 MiB. Of a trace that would be larger
        /// the older part is left out; [`Trace::lost`](crate::insight::Trace::lost) counts it in the file,
        /// too.
        max_file_size(bytes: u64) => this.max_file_size = bytes;

        /// Calls `f` with each snapshot, after it has been written if there is a folder. On the recorder's
        /// thread, where `f` may take its time, and block: what comes meanwhile waits, one of a kind at the
        /// most.
        ///
        /// A panic of `f` is reported by the panic hook and [counted](FlightRecorder::failed), and has no
        /// other consequence. If `f` drops the recorder, that does not wait.
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::insight::{EventKind, FlightRecorder};
        /// use liten::runtime::Runtime;
        /// use std::sync::mpsc;
        ///
        /// let runtime = Runtime::new()?;
        /// let (send, kept) = mpsc::channel();
        /// let recorder = FlightRecorder::builder()
        ///     .on_panic()
        ///     .to_fn(move |snapshot| {
        ///         let panics = snapshot.trace().events();
        ///         let panics = panics.filter(|event| matches!(event.kind(), EventKind::Panic(_)));
        ///         send.send((snapshot.reason().to_string(), panics.count())).unwrap();
        ///     })
        ///     .start(runtime.handle())?;
        /// # std::panic::set_hook(Box::new(|_| {}));
        /// drop(runtime.spawn(async { panic!("lost an engine") }));
        /// let (reason, panics) = kept.recv().unwrap();
        /// // Such as: task 1, spawned at src/main.rs:16:20, has panicked
        /// assert!(reason.ends_with("has panicked") && panics == 1, "{reason}");
        /// # Ok::<(), std::io::Error>(())
        /// ```
        to_fn(f: impl Fn(&Snapshot) + Send + Sync + 'static) => this.told = Some(Arc::new(f));
    }

    /// Starts to record that runtime.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is neither a folder nor a function, if a number is 0, if the runtime has no
    /// workers, or if there can be no handler for a signal. `Other` if the runtime has been shut down. The
    /// operating system's error if the folder, the thread or what it waits with cannot be made.
    pub fn start(&self, runtime: &Handle) -> io::Result<FlightRecorder> {
        if self.dir.is_none() && self.told.is_none() {
            return Err(invalid("a flight recorder needs `to_dir` or `to_fn`"));
        }
        if self.max_files == 0 || self.max_file_size == 0 {
            return Err(invalid("max_files and max_file_size must not be 0"));
        }
        let is_possible = |&count: &usize| (1..=MOST_EVENTS).contains(&count);
        if !self.max_events.as_ref().is_none_or(is_possible) {
            return Err(invalid("max_events must be between 1 and 4,194,304"));
        }
        if runtime.scheduler().is_none() {
            return Err(invalid("a runtime without workers cannot be recorded"));
        }
        let folder = self
            .dir
            .as_ref()
            .map(|dir| Folder::open(dir.clone(), self.max_files, self.max_file_size));
        let folder = folder.transpose()?;
        let ended = || io::Error::other("the runtime has been shut down");
        let max_events = self.max_events.and_then(NonZeroUsize::new);
        let recording = Arc::new(Recording::of(runtime, max_events).ok_or_else(ended)?);
        let mailbox = Arc::new(Mailbox::new(self.on_panic, self.on_slow_poll, self.min_interval));
        let counts = Arc::new(Counts::default());
        let observer = Observer {
            recording: recording.clone(),
            mailbox: mailbox.clone(),
            counts: counts.clone(),
            folder,
            told: self.told.clone(),
        };
        let thread = observer.start(&self.signals)?;
        let incidents = runtime.incidents().clone();
        incidents.add(mailbox.clone());
        Ok(FlightRecorder { recording, mailbox, incidents, counts, thread })
    }
}

// The function is called later, by another thread, and under a guard; a panic beside a builder leaves it as
// it was.
impl_unwind_safe!([] FlightRecorderBuilder);

impl_debug!([] FlightRecorderBuilder, this => "FlightRecorderBuilder" {
    on_panic: this.on_panic,
    on_slow_poll: this.on_slow_poll,
    signals: this.signals,
    min_interval: this.min_interval,
    max_events: this.max_events,
    dir: this.dir,
    max_files: this.max_files,
    max_file_size: this.max_file_size,
    ..
});
