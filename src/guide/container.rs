//! In a container: a part of a machine.
//!
//! A container mostly has less of the processors than the machine: a set of them, or a *quota*, which is so
//! much time of them per period. `docker run --cpus 1.5`, and `limits: {cpu: 1500m}` in Kubernetes, are
//! quotas: all threads of the container together may run for 150 ms in each 100 ms. When they have, the
//! system stops all of them until the period ends. A server that is stopped answers nothing, for tens of
//! milliseconds.
//!
//! There is nothing to set. liten reads what limits the process, follows it, and sees to it that something
//! of the quota is left for what must be quick.
//!
//! # How many workers
//!
//! As many as there are processors to use: the smallest of the affinity (`taskset`), the cpuset, and the
//! quota of the process's group and of all groups above it, in both versions of Linux's control groups. A
//! quota of 1.5 processors makes two workers, and one of 0.5 makes one.
//!
//! While the runtime has work, it reads the limits again, at the time of writing once per second. When they
//! have changed, the number of workers follows, as with
//! [`set_worker_threads`](crate::runtime::Handle::set_worker_threads). It does not if the program has called
//! that, or has set [`worker_threads`](crate::runtime::Builder::worker_threads) or `LITEN_WORKER_THREADS`. An
//! idle runtime reads nothing, and wakes up for nothing.
//!
//! # What waits before the quota is used up
//!
//! With a quota, the runtime keeps account of what the process uses. Tasks that compute and
//! [yield](crate::task::yield_now) wait before the quota is gone: for some milliseconds at a time, spread
//! over the period, so that they get about 0.94 of the quota less what all others use. Tasks that were woken
//! or spawned do not wait. Where tasks that do not wait use up the quota, one that has yielded runs
//! about once per period all the same.
//!
//! This cannot help, and the system stops the process, where
//!
//! - tasks compute without yielding, or in polls that are a large part of the quota's period;
//! - threads that are not the runtime's use up the quota, or blocking work does;
//! - other processes in the same container do: the account is the process's own.
//!
//! # See it
//!
//! [`cpu_limits`](crate::runtime::RuntimeMetrics::cpu_limits) says what limits the process, and how often the
//! system has stopped it:
//!
//! ```
//! # liten::block_on(async {
//! println!("{}", liten::runtime::Handle::current().metrics().cpu_limits());
//! # });
//! ```
//!
//! Two commands show all of it, with any program that prints this line now and then:
//!
//! ```text
//! docker run --name service --cpus 1.5 IMAGE
//! docker update --cpus 0.5 service
//! ```
//!
//! The first line is `… processors, quota 1.50 of them (150ms per 100ms, …), 0 of … periods throttled`, and a
//! second after the other command it begins with a quota of 0.50. On a machine with version 1 of control
//! groups, where no container is needed, the row `mixed_quota_1.5_8ms` of `benches/versus` measures it.
//!
//! Not on Linux, or where the files of the groups cannot be read: the processors count, and no quota.
