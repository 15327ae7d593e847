use super::*;
use crate::limits::fake_system::FakeSystem;
use std::time::Instant;

// Elsewhere there is nothing to follow.
#[cfg(target_os = "linux")]
#[test]
fn the_number_of_workers_follows_the_limits_until_it_is_fixed() {
    let runtime = Builder::new_multi_thread().worker_threads(3).build().unwrap();
    let scheduler = runtime.handle().scheduler().unwrap();
    let system = FakeSystem::unified();
    let mut reader = system.reader();
    let reading = reader.read().unwrap();
    let first = FirstLimits::of(reader, reading);
    assert_eq!((first.cpus, first.workers()), (8, 8));
    let watch = LimitsWatch::new(Some(first), 6).unwrap();
    let mut now = Instant::now();
    // A look does nothing while another thread starts one, such as the driver thread.
    let mut look_until = |workers| {
        loop {
            now += Duration::from_secs(2);
            let budget = watch.look(scheduler, now);
            if scheduler.worker_count() == workers {
                return budget;
            }
        }
    };
    // No more than there may be.
    assert!(look_until(6).is_none());
    system.write("sys/fs/cgroup/a/cpu.max", "150000 100000");
    let budget = look_until(2).unwrap();
    assert_eq!((budget.time.as_millis(), budget.period.as_millis()), (150, 100));
    system.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "3\n");
    look_until(1);
    system.remove("sys/fs/cgroup/a");
    assert!(look_until(6).is_none());
    watch.fix();
    system.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
    assert!(look_until(6).is_some(), "the quota is known all the same");
}

#[test]
fn there_may_be_as_many_workers_as_processors_when_a_quota_is_raised() {
    let builder = Builder::new_multi_thread();
    assert_eq!(builder.max_workers(2, 64).unwrap(), 64);
    assert_eq!(builder.max_workers(2, 2).unwrap(), 32);
    assert_eq!(builder.max_workers(MAX_WORKERS, 10 * MAX_WORKERS).unwrap(), MAX_WORKERS);
}
