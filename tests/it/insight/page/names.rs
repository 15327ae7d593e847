//! Names that are very long: of tasks, of runtimes, of types.

use super::super::requests::{body, json, trees};
use super::page_of;
use crate::support::guard::{exactly, guarded, until};
use crate::support::waiting::until_waiting;
use liten::sync::oneshot;
use std::future::{Future, pending};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};

/// How many characters of a name are shown.
const SHOWN: usize = 400;

/// A type whose name has those of its parameters in it.
struct Pair<A, B>(PhantomData<(A, B)>);

type Twice<T> = Pair<T, T>;
type Eight<T> = Twice<Twice<Twice<T>>>;

/// Its name has a million characters.
type Long = Eight<Eight<Eight<Eight<Eight<u8>>>>>;

struct Waits<T>(PhantomData<T>);

impl<T> Future for Waits<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// One is shown of each: in the text, in the numbers, in what is drawn, and of a task that is asked for.
#[test]
fn names_of_a_megabyte_are_cut_between_characters_wherever_they_are_shown() {
    guarded(|| {
        let name = "é🦀".repeat(200_000);
        let cut = format!("{}…", "é🦀".repeat(SHOWN / 2));
        let runtime = exactly(2).name(&*name).build().unwrap();
        let page = page_of(&runtime);
        let named = |name| liten::task::Builder::new().name(name);
        let waits = named(&*name).spawn_on(pending::<()>(), runtime.handle()).unwrap();
        let long = named("long").spawn_on(Waits(PhantomData::<Long>), runtime.handle()).unwrap();
        // A slow poll of a task that has waited before, so that its name is known.
        let (go, gone) = oneshot::channel::<()>();
        let (release, held) = mpsc::channel::<()>();
        let blocks = named(&*name).spawn_on(
            async move {
                gone.await.unwrap();
                _ = held.recv();
            },
            runtime.handle(),
        );
        until_waiting(&runtime, 3);
        go.send(()).unwrap();
        let (release_job, held_job) = mpsc::channel::<()>();
        let job = runtime.spawn_blocking(move || _ = held_job.recv());
        // The other worker looks blocked as well while the system does not let it run.
        let is_it = |finding: &str| finding.contains(&cut) && finding.contains("spawn_blocking");
        let is_line = |line: &str| line.starts_with("! worker") && is_it(line);
        let mut text = String::new();
        until(|| {
            text = body(&page, "/text");
            text.lines().any(is_line)
        });

        let dump = runtime.handle().dump();
        let shown = |id| dump.tasks().iter().find(|task| task.id() == id).unwrap();
        assert_eq!(shown(waits.id()).name(), Some(&*name), "a program that asks for it has all");
        let type_name = shown(long.id()).type_name().unwrap();
        assert!(type_name.len() > 500_000, "{}", type_name.len());

        let tree = trees(&page, &format!("/tree?task={}", long.id()));
        for text in [text.clone(), dump.to_string(), tree, shown(waits.id()).to_string()] {
            assert!(text.len() < 64 * 1024, "{} bytes: {:.1000}", text.len(), text);
            assert!(text.lines().all(|line| line.chars().count() < 3 * SHOWN), "{text}");
            assert!(text.contains('…') && !text.contains(&"é🦀".repeat(SHOWN / 2 + 1)), "{text}");
        }
        for begin in ["! worker", "runtime", "  task", "  worker"] {
            let mut lines = text.lines().filter(|line| line.starts_with(begin));
            assert!(lines.any(|line| line.contains(&cut)), "{begin}: {text}");
        }
        assert!(
            text.contains("; another thread holds") || text.contains("use spawn_blocking"),
            "the sentence goes on behind the name: {text}"
        );

        let seen = &json(&page)["runtimes"][0];
        assert_eq!(seen["name"], cut);
        let tasks = seen["task_list"].as_array().unwrap();
        assert!(tasks.iter().any(|task| task["name"] == cut), "{seen}");
        let types = tasks.iter().filter_map(|task| task["type_name"].as_str());
        let longest = types.map(|name| name.chars().count()).max();
        assert_eq!(longest, Some(SHOWN + 1));
        let mut findings = seen["findings"].as_array().unwrap().iter();
        assert!(findings.any(|finding| is_it(finding["text"].as_str().unwrap())), "{seen}");

        let metrics = body(&page, "/metrics");
        assert!(metrics.contains(&format!("runtime=\"{cut}\"")), "{:.2000}", metrics);
        assert!(metrics.lines().all(|line| line.chars().count() < 3 * SHOWN));
        drop((release, release_job, job, blocks));
    });
}
