//! Each test of a sweep is its own child too: it plays a world that knows the seed and the mask
//! alone.

use std::env;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use super::child::{Launcher, Traces};
use super::minimise::{Verdict, minimise};
use super::report::{ChildReport, Outcome};
use super::*;
use crate::choices::{Key, Kind, mix};

/// What the parent gave this process, when it is a child.
struct World {
    seed: u64,
    mask: Mask,
    report: PathBuf,
}

impl World {
    /// Plays `world` and ends the process when this is a child. Otherwise it does nothing.
    fn play(world: impl FnOnce(&World) -> ChildReport) {
        let Some(report) = env::var_os("LITEN_SIM_REPORT") else { return };
        let seed = env::var("LITEN_SIM_SEED").unwrap().parse().unwrap();
        let mask = Mask::read_from(Path::new(&env::var("LITEN_SIM_WITHOUT").unwrap())).unwrap();
        let here = World { seed, mask, report: report.into() };
        let told = world(&here);
        told.write_to(&here.report).unwrap();
        process::exit(0);
    }

    /// A passing run of 5,000 decisions in which the disturbances of `keys` happen that the mask
    /// lets happen.
    fn run(&self, keys: &[Key]) -> ChildReport {
        let mut report = ChildReport::new(Outcome::Passed);
        report.happened = keys.iter().copied().filter(|key| !self.mask.masks(*key)).collect();
        report.hash = report.happened.iter().fold(mix(self.seed), |hash, key| mix(hash ^ key.n));
        report.decisions = 5_000;
        report.choices = 1_000;
        report.time = 12_483_000_000;
        report.prefixes = (1..5).map(|i| (i * 1_024, mix(report.hash ^ i))).collect();
        report
    }
}

fn failed(mut report: ChildReport, message: &str) -> ChildReport {
    report.outcome = Outcome::Failed;
    report.message = message.to_string();
    report.host = "b".to_string();
    report
}

/// 200 disturbances of three kinds.
fn keys() -> Vec<Key> {
    let kinds = [Kind::Pause, Kind::Overtake, Kind::Loss];
    (0..200).map(|n| Key { kind: kinds[n as usize % 3], entity: 0xabc, n }).collect()
}

fn sweep_of(test: &str, seeds: u64) -> Sweep {
    let name = format!("runner::tests::{test}");
    let arguments = test_arguments(&name);
    // Only a child that never ends comes near the limit.
    Sweep {
        name,
        seeds,
        first: 0,
        jobs: 2,
        seconds: 300,
        minimise_seconds: 300,
        arguments,
        program: None,
        environment: Vec::new(),
    }
}

fn run(sweep: &Sweep) -> Result<Summary, String> {
    sweep_with(sweep, &Settings::default())
}

#[track_caller]
fn assert_has(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "`{part}` is not in this report:\n{report}");
    }
}

/// What stands after `LITEN_SIM_ONLY=` in a report.
fn only(report: &str) -> String {
    let (_, rest) = report.split_once("LITEN_SIM_ONLY=").unwrap_or_else(|| panic!("{report}"));
    rest.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_failure_is_minimised_to_the_two_disturbances_that_it_needs() {
    let needed = [keys()[17], keys()[150]];
    World::play(|world| {
        let mut report = world.run(&keys());
        if !needed.iter().all(|key| report.happened.contains(key)) {
            return report;
        }
        report.told.push((needed[1], "host b, thread liten-worker-1, 9.103 s".to_string()));
        report.faults.push((9_100_000_000, "partition a→b".to_string()));
        report.drawn = "3 workers".to_string();
        failed(report, "panicked at src/log.rs:88: term went back\nleft: 1")
    });
    let sweep = sweep_of("a_failure_is_minimised_to_the_two_disturbances_that_it_needs", 1_000);
    let report = run(&sweep).unwrap_err();
    assert_has(
        &report,
        &[
            "failed with seed 0 (the 1st of 1000 seeds)\n",
            "  host b, 12.483000 s virtual, decision 5000 of the smallest run: panicked at src/log.rs:88: term went back\n",
            "    left: 1\n",
            "  drawn: 3 workers\n",
            "  faults: partition a→b at 9.100000 s\n",
            "in 3 of 3 runs\n",
            "): 2 of 200 disturbances\n",
            &format!("    {}   without this the run passes\n", needed[0]),
            &format!("    {}: host b, thread liten-worker-1, 9.103 s   without", needed[1].kind),
            "LITEN_SIM_SEED=0 cargo test -- --exact runner::tests::a_failure_is_minimised",
        ],
    );
    assert_eq!(Mask::from_setting(&only(&report)), Ok(Mask::only(needed)));

    let settings = Settings { replays: Some(7), ..Settings::default() };
    let replayed = sweep_with(&sweep, &settings).unwrap_err();
    assert_has(&replayed, &["failed with seed 0", "in 7 of 7 runs\n"]);
    assert!(!replayed.contains("smallest"), "{replayed}");

    let settings = Settings { only: Some(only(&report)), ..Settings::default() };
    let again = sweep_with(&sweep, &settings).unwrap_err();
    assert_has(
        &again,
        &["failed with seed 0", "with these 2 disturbances:", "again:    LITEN_SIM_ONLY="],
    );
}

#[test]
fn another_failure_does_not_count_as_the_same_one() {
    let (first, second) = (keys()[20], keys()[100]);
    World::play(|world| {
        let report = world.run(&keys());
        let happened = [first, second].map(|key| report.happened.contains(&key));
        match happened {
            [true, true] => failed(report, "two leaders"),
            [false, true] => failed(report, "no leader"),
            _ => report,
        }
    });
    let report = run(&sweep_of("another_failure_does_not_count_as_the_same_one", 1)).unwrap_err();
    let line_of = |key: Key, twin: &str| format!("    {key}   without this the run {twin}\n");
    let lines = [line_of(first, "fails in another way"), line_of(second, "passes")];
    assert_has(&report, &["two leaders", "2 of 200 disturbances", &lines.concat()]);
}

#[test]
fn a_panic_at_the_same_place_is_the_same_failure_whatever_it_says() {
    let (first, second) = (keys()[20], keys()[100]);
    World::play(|world| {
        let report = world.run(&keys());
        let happened = [first, second].map(|key| report.happened.contains(&key));
        match happened {
            [true, true] => failed(report, "panicked at src/log.rs:88: the value of 3"),
            [false, true] => failed(report, "panicked at src/log.rs:88: the value of 1"),
            _ => report,
        }
    });
    let test = "a_panic_at_the_same_place_is_the_same_failure_whatever_it_says";
    let report = run(&sweep_of(test, 1)).unwrap_err();
    assert_has(
        &report,
        &[
            "of the smallest run: panicked at src/log.rs:88: the value of 1\n",
            "  with all disturbances the same place said: panicked at src/log.rs:88: the value of 3\n",
            "1 of 200 disturbances\n",
        ],
    );
    assert_eq!(Mask::from_setting(&only(&report)), Ok(Mask::only([second])));
}

#[test]
fn a_failure_of_the_calm_run_needs_no_disturbance() {
    World::play(|world| failed(world.run(&keys()), "always"));
    let report = run(&sweep_of("a_failure_of_the_calm_run_needs_no_disturbance", 3)).unwrap_err();
    assert_has(&report, &["fails without any disturbance (1 run, ", ": 200 were left out"]);
    assert_eq!(Mask::from_setting(&only(&report)), Ok(Mask::only([])));
}

#[test]
fn an_abort_is_a_crash_with_its_output() {
    World::play(|_| {
        eprintln!("the last words");
        process::abort()
    });
    let report = run(&sweep_of("an_abort_is_a_crash_with_its_output", 3)).unwrap_err();
    assert_has(
        &report,
        &["  crashed: signal 6\n", "the same end in 3 of 3 runs", "the last words\n"],
    );
}

#[test]
fn a_crash_after_a_part_of_the_report_is_minimised() {
    let needed = keys()[60];
    World::play(|world| {
        let report = world.run(&keys());
        if !report.happened.contains(&needed) {
            return report;
        }
        let text = report.text();
        fs::write(&world.report, text.strip_suffix("end\n").unwrap()).unwrap();
        process::abort()
    });
    let report = run(&sweep_of("a_crash_after_a_part_of_the_report_is_minimised", 1)).unwrap_err();
    assert_has(
        &report,
        &[
            "decision 5000 of the smallest run: crashed: signal 6",
            "1 of 200 disturbances",
            &needed.to_string(),
        ],
    );
}

#[test]
fn a_child_without_a_report_is_a_crash() {
    World::play(|_| process::exit(0));
    let report = run(&sweep_of("a_child_without_a_report_is_a_crash", 1)).unwrap_err();
    assert_has(
        &report,
        &["crashed: exit code 0 without a report", "may not have reached the test"],
    );
}

#[test]
fn a_child_that_never_ends_is_killed_with_those_that_it_started() {
    // Not in the folder for temporary files, of which each child has its own.
    let folder = env::current_exe().unwrap().with_file_name("");
    let path = |parent: u32| folder.join(format!("liten-sim-sleeper-{parent}"));
    World::play(|_| {
        let stream = UnixStream::connect(path(parent_id())).unwrap();
        let stdin = OwnedFd::from(stream);
        process::Command::new("sleep").arg("1000000").stdin(stdin).status().unwrap();
        unreachable!("the sleeper ended")
    });
    let mut sweep = sweep_of("a_child_that_never_ends_is_killed_with_those_that_it_started", 1);
    (sweep.seconds, sweep.minimise_seconds) = (1, 0);
    let listener = UnixListener::bind(path(process::id())).unwrap();
    let report = run(&sweep).unwrap_err();
    fs::remove_file(path(process::id())).unwrap();
    assert_has(
        &report,
        &["  hung: no end after 1 s of real time\n", "the same end in 3 of 3 runs"],
    );
    // A machine under load may not bring the child to its connection within the limit.
    listener.set_nonblocking(true).unwrap();
    for stream in listener.incoming().map_while(Result::ok) {
        stream.set_nonblocking(false).unwrap();
        // The read ends when no process has the other end any more. While a sleeper lives, it does
        // not end.
        assert_eq!((&stream).read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn a_child_that_differs_from_run_to_run_is_named() {
    World::play(|world| {
        let mut report = failed(world.run(&keys()), "now and then");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        report.hash ^= now.as_nanos() as u64;
        report.prefixes[2].1 ^= report.hash;
        report.leaks.push("a wake from a thread that the world does not know".to_string());
        report
    });
    let report = run(&sweep_of("a_child_that_differs_from_run_to_run_is_named", 1)).unwrap_err();
    assert_has(
        &report,
        &[
            "not reproducible: 1 of 3 runs did the same; they part between decisions 2048 and 3072\n",
            "leak: a wake from a thread that the world does not know\n",
        ],
    );
    assert!(!report.contains("smallest"), "{report}");
}

#[test]
fn a_passing_sweep_fails_when_two_runs_of_a_seed_differ() {
    World::play(|world| {
        let mut report = world.run(&keys());
        if world.seed == 16 {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            report.hash ^= now.as_nanos() as u64;
        }
        report
    });
    let mut sweep = sweep_of("a_passing_sweep_fails_when_two_runs_of_a_seed_differ", 100);
    sweep.first = 3;
    let report = run(&Sweep { seeds: 13, ..sweep.clone() });
    assert!(report.is_ok(), "seed 16 is not among the first 13, {report:?}");
    let checked = Settings { check: true, ..Settings::default() };
    let report = sweep_with(&sweep, &checked).unwrap_err();
    assert_has(
        &report,
        &["is not reproducible with seed 16 (the 14th of 100 seeds)", "not reproducible: "],
    );
}

#[test]
fn any_amount_of_output_is_taken() {
    World::play(|world| {
        let line = [b'x'; 1_023];
        let mut out = io::stdout().lock();
        for _ in 0..10 * 1_024 {
            out.write_all(&line).unwrap();
            out.write_all(b"\n").unwrap();
        }
        out.write_all(b"the end \xff\n").unwrap();
        out.flush().unwrap();
        failed(world.run(&[]), "too loud")
    });
    let report = run(&sweep_of("any_amount_of_output_is_taken", 1)).unwrap_err();
    assert_has(&report, &["too loud", "    the end \u{fffd}\n"]);
    assert!(report.lines().count() < 60, "only the tail is shown");
}

#[test]
fn the_failing_seed_among_passing_ones_is_found() {
    World::play(|world| match world.seed {
        29 => failed(world.run(&keys()), "only this one"),
        _ => world.run(&keys()),
    });
    let sweep = sweep_of("the_failing_seed_among_passing_ones_is_found", 100);
    let report = run(&sweep).unwrap_err();
    assert_has(&report, &["failed with seed 29 (the 30th of 100 seeds)", "only this one"]);
    let one = Settings { seed: Some(29), ..Settings::default() };
    assert_has(&sweep_with(&sweep, &one).unwrap_err(), &["failed with seed 29\n"]);
    let other = Settings { seed: Some(28), ..Settings::default() };
    assert_eq!(sweep_with(&sweep, &other).map(|summary| (summary.seeds, summary.runs)), Ok((1, 1)));
}

#[test]
fn a_sweep_for_some_time_counts_no_seeds() {
    World::play(|world| match world.seed {
        12 => failed(world.run(&keys()), "the third"),
        _ => world.run(&keys()),
    });
    let mut sweep = sweep_of("a_sweep_for_some_time_counts_no_seeds", 1);
    // A program with a main of its own has other arguments than a test, and so another command.
    sweep.arguments.push("--color=never".to_string());
    let settings = |seconds| Settings {
        first: Some(10),
        seconds: Some(seconds),
        jobs: Some(1),
        ..Settings::default()
    };
    assert_eq!(sweep_with(&sweep, &settings(0)).map(|summary| summary.seeds), Ok(0));
    let report = sweep_with(&sweep, &settings(1_000_000)).unwrap_err();
    let program = env::current_exe().unwrap();
    let command = format!("LITEN_SIM_SEED=12 {} runner::tests::a_sweep", program.display());
    assert_has(&report, &["failed with seed 12 (the 3rd)\n", &command, " --color=never\n"]);
}

#[test]
fn a_passing_sweep_says_what_its_seeds_did() {
    World::play(|world| {
        let mut report = world.run(&keys());
        report.sometimes.push(("a leader steps down".to_string(), world.seed % 4 == 0));
        report.sometimes.push(("two leaders".to_string(), false));
        if world.seed % 10 == 0 {
            report.leaks.push("a foreign thread".to_string());
        }
        report
    });
    let summary = run(&sweep_of("a_passing_sweep_says_what_its_seeds_did", 20)).unwrap();
    assert_eq!((summary.seeds, summary.runs, summary.compared), (20, 22, 2));
    assert_eq!(summary.hashes.len(), 20);
    assert_eq!(summary.never().collect::<Vec<_>>(), ["two leaders"]);
    let line = summary.to_string();
    assert_has(
        &line,
        &[
            "20 seeds in ",
            "`a leader steps down` in 5 of 20",
            "never reached: `two leaders`",
            "in 2 of 20 seeds: a foreign thread",
        ],
    );
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn the_children_of_a_seed_have_one_core_and_the_same_addresses() {
    World::play(|world| {
        let mut report = world.run(&[]);
        let lengths = env::vars_os().map(|(name, value)| name.len() + value.len());
        report.drawn = lengths.sum::<usize>().to_string();
        // A test has a thread of its own, or the first one, whose stack holds the environment.
        report.host =
            format!("{:p} {:p}", &report.drawn, World::play as fn(fn(&World) -> ChildReport));
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        report.message = cores.unwrap_or("").to_string();
        report
    });
    let name = "runner::tests::the_children_of_a_seed_have_one_core_and_the_same_addresses";
    let limit = Duration::from_secs(300);
    let passed_on = [("LITEN_SIM_CALM", "9".to_string())];
    let launcher = || Launcher::new(None, test_arguments(name), 1, limit, &passed_on).unwrap();
    // Enough runs for their numbers to grow by a digit.
    let mut masks = vec![Mask::default(); 11];
    masks.push(Mask::only(keys()));
    let (first, second) = (launcher(), launcher());
    let mut runs = first.run_each(7, &masks, Traces::AsAsked).unwrap();
    runs.extend(second.run_each(7, &masks, Traces::AsAsked).unwrap());
    let fixed = system::addresses_can_be_fixed();
    for run in &runs {
        assert_eq!(run.report.drawn, runs[0].report.drawn);
        assert!(!fixed || run.report.host == runs[0].report.host, "{runs:?}");
        assert!(!run.report.message.contains([',', '-']), "{}", run.report.message);
    }
}

#[test]
fn a_report_is_read_as_it_is_written() {
    let odd = "first\nsecond\r\n\\n \\ \0\t end\u{1f600}\n";
    let key = keys()[1];
    let mut report = ChildReport::new(Outcome::Stuck);
    for text in [&mut report.message, &mut report.host, &mut report.thread, &mut report.drawn] {
        *text = odd.to_string();
    }
    (report.time, report.decisions, report.choices, report.switches) = (1, u64::MAX, 3, 4);
    report.hash = 0xfeed;
    report.prefixes = vec![(1_024, 7), (2_048, u64::MAX)];
    report.happened = keys();
    report.told = vec![(key, odd.to_string()), (keys()[2], String::new())];
    report.faults = vec![(5, odd.to_string())];
    report.sometimes = vec![(odd.to_string(), true), ("b".to_string(), false)];
    report.waits = vec![odd.to_string(), String::new()];
    report.leaks = vec![odd.to_string()];
    let path = env::temp_dir().join(format!("liten-sim-round-trip-{}", process::id()));
    report.write_to(&path).unwrap();
    let read = ChildReport::read_from(&path);
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 5]).unwrap();
    let part = ChildReport::read_from(&path);
    fs::write(&path, b"outcome passed\nmessage a\xffb\nend\n").unwrap();
    let bytes = ChildReport::read_from(&path);
    fs::write(&path, "outcome passed\nwhat\nend\n").unwrap();
    let wrong = ChildReport::read_from(&path);
    fs::remove_file(&path).unwrap();
    assert_eq!(read, Ok(report));
    assert!(part.is_err(), "{part:?}");
    assert_eq!(bytes.unwrap().message, "a\u{fffd}b");
    assert!(wrong.unwrap_err().contains("line 2: `what` is no fact"));
}

#[test]
fn no_key_can_be_left_out_of_the_smallest_set() {
    let keys = keys();
    // A failure that needs one of two groups: a part of the set can fail without being the
    // smallest.
    let needs = |set: &[Key]| {
        let has = |places: &[usize]| places.iter().all(|place| set.contains(&keys[*place]));
        has(&[3, 90, 91, 199]) || has(&[5, 6])
    };
    let verdict = |set: &Vec<Key>| if needs(set) { Verdict::Same } else { Verdict::Passed };
    let until = Instant::now() + Duration::from_secs(3_600);
    let smallest =
        minimise(&keys, 4, until, |sets| Ok(sets.iter().map(verdict).collect())).unwrap();
    assert!(needs(&smallest.keys));
    assert!(
        smallest.without.iter().all(|without| *without == Some(Verdict::Passed)),
        "{smallest:?}"
    );
    assert!(smallest.runs < 120, "{smallest:?}");
}

#[test]
fn without_time_nothing_is_left_out() {
    let smallest = minimise(&keys(), 2, Instant::now(), |_| Err("no run".to_string())).unwrap();
    assert_eq!((smallest.keys.len(), smallest.runs, smallest.cut_short), (200, 0, true));
}

#[test]
fn the_settings_come_from_the_variables() {
    let read = |variables: &[(&str, &str)]| {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Settings::read(|name| find(name).map(|(_, value)| value.to_string()))
    };
    let settings = read(&[
        ("LITEN_SIM_SEED", "42"),
        ("LITEN_SIM_SEEDS", ""),
        ("LITEN_SIM_CHECK", "1"),
        ("LITEN_SIM_ONLY", "a.only"),
        ("LITEN_SIM_CALM", "7"),
    ]);
    let settings = settings.unwrap();
    assert_eq!((settings.seed, settings.seeds, settings.check), (Some(42), None, true));
    assert_eq!(settings.only, Some("a.only".to_owned()));
    assert_eq!(settings.passed_on, [("LITEN_SIM_CALM", "7".to_string())]);
    let wrong = read(&[("LITEN_SIM_JOBS", "two")]).unwrap_err();
    assert_eq!(wrong, "LITEN_SIM_JOBS: `two` is not a whole number");
}
