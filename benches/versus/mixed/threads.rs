//! What the threads of this process do while a lane is measured: looked at from outside, a few
//! times per second.

pub(crate) use system::Watch;

/// All NaN where the system does not tell.
pub(crate) struct Threads {
    /// Context switches, of the threads' own will and against it. Threads that have ended are in it
    /// up to the last look before their end.
    pub(crate) switches: f64,
    /// The largest number that a look has found running or ready to run.
    pub(crate) running: f64,
    /// How many of the runtime's threads there were at the end.
    pub(crate) threads: f64,
}

#[cfg(target_os = "linux")]
mod system {
    use super::Threads;
    use std::collections::HashMap;
    use std::fs;
    use std::sync::mpsc;
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    /// A look takes some hundred microseconds.
    const PAUSE: Duration = Duration::from_millis(50);

    /// A thread that looks on.
    pub(crate) struct Watch {
        stop: mpsc::Sender<()>,
        thread: JoinHandle<Threads>,
    }

    impl Watch {
        /// The runtime's threads have names that begin with `prefix`.
        pub(crate) fn start(prefix: Option<&'static str>) -> Self {
            let (stop, stopped) = mpsc::channel();
            let before = Look::take();
            let thread = thread::spawn(move || {
                let mut seen = before.switches.clone();
                let mut running = 0;
                loop {
                    let over = stopped.recv_timeout(PAUSE).is_ok();
                    let look = Look::take();
                    seen.extend(look.switches);
                    running = running.max(look.running);
                    if over {
                        let own = |prefix: &str| {
                            look.names.iter().filter(|name| name.starts_with(prefix)).count()
                        };
                        return Threads {
                            switches: since(&before.switches, &seen) as f64,
                            running: running as f64,
                            threads: prefix.map_or(f64::NAN, |prefix| own(prefix) as f64),
                        };
                    }
                }
            });
            Self { stop, thread }
        }

        pub(crate) fn stop(self) -> Threads {
            self.stop.send(()).expect("the thread waits for it");
            self.thread.join().expect("it does not panic")
        }
    }

    fn since(before: &HashMap<i32, u64>, after: &HashMap<i32, u64>) -> u64 {
        let of = |(id, count): (&i32, &u64)| count - before.get(id).unwrap_or(&0);
        after.iter().map(of).sum()
    }

    /// What the system says of all threads but the one that asks.
    #[derive(Default)]
    struct Look {
        switches: HashMap<i32, u64>,
        running: usize,
        names: Vec<String>,
    }

    impl Look {
        fn take() -> Self {
            let mut look = Self::default();
            let own = fs::read_link("/proc/thread-self").unwrap_or_default();
            let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
            for thread in threads {
                let asking = own.file_name() == Some(&*thread.file_name());
                let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
                // A thread may end between the listing and the reading.
                let status = fs::read_to_string(thread.path().join("status"));
                if let (Some(id), Ok(status)) = (id.filter(|_| !asking), status) {
                    look.add(id, &status);
                }
            }
            look
        }

        fn add(&mut self, id: i32, status: &str) {
            let mut switches = 0;
            for (key, value) in status.lines().filter_map(|line| line.split_once(':')) {
                let value = value.trim();
                match key {
                    "Name" => self.names.push(value.to_owned()),
                    "State" => self.running += usize::from(value.starts_with('R')),
                    "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                        switches += value.parse().unwrap_or(0);
                    }
                    _ => {}
                }
            }
            self.switches.insert(id, switches);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Threads;

    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn start(_: Option<&'static str>) -> Self {
            Self
        }

        pub(crate) fn stop(self) -> Threads {
            Threads { switches: f64::NAN, running: f64::NAN, threads: f64::NAN }
        }
    }
}
