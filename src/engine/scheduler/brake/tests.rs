use super::*;

const PERIOD: Duration = Duration::from_millis(100);

/// An account that is looked at, and the time.
struct Played {
    brake: Brake,
    now: Instant,
    time: Duration,
    used: Duration,
}

impl Played {
    fn new(percent: u64) -> Self {
        let (now, used) = (Instant::now(), Duration::from_secs(5));
        let mut played =
            Self { brake: Brake::default(), now, time: PERIOD * percent as u32 / 100, used };
        assert_eq!(played.look(0, 0), ALL);
        played
    }

    /// A look after so many microseconds, in which so many have been used.
    fn look(&mut self, passed: u64, used: u64) -> usize {
        self.now += Duration::from_micros(passed);
        self.used += Duration::from_micros(used);
        let budget = CpuBudget { time: self.time, period: PERIOD, used: self.used };
        self.brake.look(Some(budget), self.now, true)
    }
}

#[test]
fn without_a_quota_nothing_is_kept_from_anyone() {
    let mut brake = Brake::default();
    assert_eq!(brake.look(None, Instant::now(), true), ALL);
    assert_eq!(brake.longest_pause(), None);
    let mut played = Played::new(100);
    assert!(played.look(1000, 50_000) == 0 && played.brake.longest_pause().is_some());
    assert_eq!(played.brake.look(None, played.now, true), ALL, "the quota has been taken away");
    assert_eq!(played.brake.longest_pause(), None);
}

#[test]
fn as_many_compute_as_the_balance_allows() {
    // Percent of a processor, then microseconds passed and used, and how many may compute.
    let rows: &[(u64, u64, u64, usize)] = &[
        (150, 1000, 1000, ALL),
        (150, 1000, 2000, 1),
        (150, 10_000, 20_000, 1),
        (150, 10_000, 30_000, 0),
        (100, 1000, 1000, 0),
        (100, 1000, 900, ALL),
        (250, 1000, 3000, 2),
        (1, 1000, 100, 0),
        (1, 100_000, 900, ALL),
        // A look that is late: what was granted meanwhile counts, too.
        (200, 1_000_000, 1_000_000, ALL),
        (200, 1_000_000, 2_500_000, 0),
    ];
    for &(percent, passed, used, expected) in rows {
        let mut played = Played::new(percent);
        assert_eq!(played.look(passed, used), expected, "{percent} %, {used} of {passed}");
    }
}

#[test]
fn looks_are_rarer_where_little_is_granted() {
    for (percent, pause) in [(400, 1), (50, 1), (10, 5), (1, 50)] {
        let played = Played::new(percent);
        assert_eq!(played.brake.longest_pause(), Some(Duration::from_millis(pause)), "{percent}");
    }
}

#[test]
fn a_debt_is_paid_back() {
    let mut played = Played::new(100);
    assert_eq!(played.look(8000, 8000), 0);
    assert_eq!(played.look(100, 0), 0);
    assert_eq!(played.look(500, 0), ALL);
}

#[test]
fn what_is_saved_up_is_little() {
    let mut played = Played::new(100);
    assert_eq!(played.look(90_000, 0), ALL);
    assert_eq!(played.look(8000, 11_500), 0);
}

#[test]
fn in_each_period_all_may_compute_once() {
    // What is ready uses up all that there is.
    let mut played = Played::new(50);
    let allowed: Vec<_> = (0..1000).map(|_| played.look(1000, 1500) != 0).collect();
    let longest = allowed.split(|&allowed| allowed).map(<[bool]>::len).max();
    assert!(longest <= Some(100), "{longest:?}");
}

#[test]
fn a_debt_that_was_forgiven_stays_so_until_the_owed_poll_is_made() {
    let mut played = Played::new(50);
    while !played.brake.owes_poll() {
        played.look(1000, 1500);
    }
    let mut look = |is_paid| {
        played.now += Duration::from_millis(10);
        played.used += Duration::from_millis(20);
        let budget = CpuBudget { time: played.time, period: PERIOD, used: played.used };
        played.brake.look(Some(budget), played.now, is_paid)
    };
    assert_eq!([look(false), look(false), look(false)], [ALL; 3]);
    assert_eq!(look(true), 0);
}

#[test]
fn an_account_begins_anew_with_another_quota() {
    let mut played = Played::new(50);
    assert_eq!(played.look(1000, 40_000), 0);
    played.time = PERIOD;
    assert_eq!(played.look(1000, 1000), ALL);
}

#[test]
fn clocks_that_jump_are_no_harm() {
    let mut played = Played::new(100);
    played.now += Duration::from_secs(1_000_000);
    played.look(0, 1_000_000_000);
    assert_eq!(played.look(200_000, 0), ALL);
    played.now -= Duration::from_secs(1000);
    played.used = Duration::ZERO;
    assert_eq!(played.look(0, 0), ALL);
    let mut brake = Brake::default();
    let budget = CpuBudget { time: Duration::MAX, period: Duration::MAX, used: Duration::MAX };
    assert_eq!(brake.look(Some(budget), played.now, true), ALL);
    assert_eq!(brake.look(Some(budget), played.now + PERIOD, true), ALL);
    let budget = CpuBudget { time: PERIOD, period: Duration::from_nanos(1), used: Duration::MAX };
    assert_eq!(brake.look(Some(budget), played.now, true), ALL);
}

/// What workers use in a play: always one task to run for each, polls of `poll` microseconds, and ready tasks
/// that take `light` percent of a processor beside them. Returns the most that is used in a stretch as long
/// as a period, and the whole, both as parts of the quota.
fn play(percent: u64, workers: usize, poll: u64, light: u64) -> (f64, f64) {
    const STEP: u64 = 100;
    const STEPS: usize = 20_000;
    let mut played = Played::new(percent);
    let mut busy = vec![0; workers];
    let (mut used, mut since, mut allowed) = (Vec::new(), 0, ALL);
    for step in 0..STEPS {
        let mut now = STEP * light / 100;
        for (worker, busy) in busy.iter_mut().enumerate() {
            if *busy == 0 && worker < allowed {
                *busy = poll;
            }
            let part = STEP.min(*busy);
            *busy -= part;
            now += part;
        }
        used.push(now);
        since += now;
        if step % 5 == 4 {
            allowed = played.look(5 * STEP, since);
            since = 0;
        }
    }
    let quota = PERIOD.as_micros() as f64 * percent as f64 / 100.0;
    let stretch = PERIOD.as_micros() as usize / STEP as usize;
    let most = used.windows(stretch).map(|used| used.iter().sum::<u64>()).max().unwrap_or(0);
    let periods = (STEPS / stretch) as f64;
    (most as f64 / quota, used.iter().sum::<u64>() as f64 / quota / periods)
}

#[test]
fn no_stretch_of_a_period_uses_more_than_the_quota() {
    // Percent of a processor, workers, length of polls; light tasks take 10 percent of a processor.
    let rows = [
        (50, 1, 1000),
        (100, 1, 200),
        (100, 1, 1000),
        (100, 1, 8000),
        (150, 2, 1000),
        (150, 2, 8000),
        (250, 3, 8000),
        (350, 4, 1000),
    ];
    for (percent, workers, poll) in rows {
        let (most, whole) = play(percent, workers, poll, 10);
        assert!(whole > 0.92, "{percent} %, {workers} workers, {poll} µs: {whole} of the quota");
        assert!(most < 1.0, "{percent} %, {workers} workers, {poll} µs: {most} of the quota");
    }
}
