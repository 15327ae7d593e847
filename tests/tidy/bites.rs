//! Each rule is fed what it must reject, beside what it must let pass. A rule that cannot fail proves
//! nothing.

use crate::circles;
use crate::floors::{self, Plan};
use crate::rules::{self, Confined};
use crate::source::Source;
use crate::{HOUSE, Violation};

/// Lines (from 1) that `rule` rejects in `text`, taken for the file `path`.
fn rejected(path: &str, text: &str, rule: impl Fn(&Source) -> Vec<Violation>) -> Vec<usize> {
    let line = |v: Violation| {
        v.place.rsplit_once(':').and_then(|(_, n)| n.parse().ok()).expect("a place has a line")
    };
    let mut lines: Vec<usize> = rule(&Source::new(path, text)).into_iter().map(line).collect();
    lines.sort_unstable();
    lines
}

fn floor_breaches(path: &str, text: &str) -> Vec<usize> {
    rejected(path, text, |source| floors::check(source, &HOUSE))
}

#[test]
fn an_upward_import_is_found_however_it_is_written() {
    assert_eq!(floor_breaches("src/engine/park.rs", "use crate::engine::task::Header;"), [1]);
    assert_eq!(
        floor_breaches(
            "src/engine/task/cell.rs",
            "use crate::{engine::rng, runtime::{Handle, context}};"
        ),
        [1, 1]
    );
    assert_eq!(
        floor_breaches(
            "src/engine/task/cell.rs",
            "use crate::engine::{\n    rng::Rng as R,\n    scheduler,\n};"
        ),
        [3]
    );
    assert_eq!(
        floor_breaches(
            "src/engine/task/cell.rs",
            "fn f() {\n    crate::runtime::context::current();\n}"
        ),
        [2]
    );
    assert_eq!(
        floor_breaches("src/engine/task/cell.rs", "use super::super::super::runtime::Handle;"),
        [1]
    );
    assert_eq!(floor_breaches("src/engine/driver.rs", "use super::scheduler;"), [1]);
    assert_eq!(
        floor_breaches("src/engine/task/cell.rs", "use crate::task::JoinSet;"),
        [1],
        "a face"
    );
    assert_eq!(floor_breaches("src/net/tcp.rs", "use crate::spawn;"), [1], "the roof");
    assert_eq!(floor_breaches("src/net/tcp.rs", "use crate::unheard_of::Thing;"), [1]);
    assert_eq!(floor_breaches("src/unheard_of.rs", "use crate::engine::park::Parker;"), [1]);
}

#[test]
fn a_sideways_import_needs_a_row() {
    assert_eq!(
        floor_breaches("src/engine/task/cell.rs", "use crate::engine::driver::Driver;"),
        [1]
    );
    assert_eq!(floor_breaches("src/time.rs", "use crate::net::TcpStream;"), [1]);
    assert_eq!(floor_breaches("src/fs.rs", "use crate::net::TcpStream;"), [1]);
    assert_eq!(
        floor_breaches("src/engine/scoped.rs", "use crate::engine::sync_shim::atomic;"),
        [0; 0]
    );
}

#[test]
fn a_circle_of_rooms_is_found_and_no_more_than_that() {
    let arrows = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    };
    let straight = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")];
    assert_eq!(floors::circle(&arrows(&straight)), [""; 0]);
    let round = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")];
    assert_eq!(floors::circle(&arrows(&round)), ["b", "c", "d"]);
    let source = Source::new("src/engine/queue.rs", "use crate::{net::tcp, engine::queue::local};");
    assert_eq!(
        floors::arrows(&source),
        [("engine::queue".to_owned(), "net".to_owned())],
        "not its own room"
    );
}

/// The files of the circles that these files of `src/engine/task` make.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let path = |name: &str| match name {
        "" => "src/engine/task.rs".to_owned(),
        _ => format!("src/engine/task/{name}.rs"),
    };
    let read = |(name, text): &(&str, &str)| Source::new(&path(name), text);
    let sources: Vec<Source> = files.iter().map(read).collect();
    circles::circles(&circles::arrows(&sources))
}

#[test]
fn a_circle_of_files_is_found_however_they_name_each_other() {
    let parent = ("", "mod cell;\nmod join;\npub(crate) use join::Handle;");
    let pair =
        vec![vec!["src/engine/task/cell.rs".to_owned(), "src/engine/task/join.rs".to_owned()]];
    let back = [
        "use super::join::Handle;",
        "use super::{id, join::{self, Handle as H}};",
        "use crate::engine::{rng, task::join};",
        "fn f() {\n    crate::engine::task::join::f();\n}",
        // Through the parent, which only passes the name on.
        "use super::Handle;",
        "use crate::engine::task::Handle;",
        // By a method that no other file defines.
        "fn f(task: &T) {\n    task.leave_it();\n}",
    ];
    let join = (
        "join",
        "use super::cell::T;\npub struct Handle;\nimpl Handle {\n    fn leave_it(&self) {}\n}",
    );
    for text in back {
        assert_eq!(circles_of(&[parent, join, ("cell", text)]), pair, "{text}");
    }
    let child = ("cell/stage", "use super::Cell;");
    let whole = ("cell", "mod stage;\nuse self::stage::Stage;\nstruct Cell(Stage);");
    assert_eq!(circles_of(&[whole, child])[0].len(), 2, "a parent and its child");
    let whole = ("cell", "mod stage;\nfn f() {\n    stage::f();\n}");
    assert_eq!(circles_of(&[whole, child])[0].len(), 2, "a child is named without its parent");
    let whole = ("cell", "mod stage;\npub(crate) use self::stage::Stage;\nstruct Cell;");
    assert_eq!(circles_of(&[whole, child]), [[""; 0]; 0], "it only passes the name on");
}

#[test]
fn files_that_use_each_other_one_way_are_in_no_circle() {
    let parent = ("", "mod cell;\nmod join;\npub(crate) use join::Handle;");
    let join = (
        "join",
        "use super::cell::T;\npub struct Handle;\nimpl Handle {\n    fn leave(&self) {}\n}",
    );
    let passes = [
        "// use super::join;\nconst S: &str = \"crate::engine::task::join\";",
        "#[cfg(test)]\nmod tests {\n    use crate::engine::task::join::Handle;\n}",
        "use crate::engine::rng::Rng;",
        // Two files define it.
        "fn f(task: &T) {\n    task.leave();\n}\nimpl T {\n    fn leave(&self) {}\n}",
    ];
    for text in passes {
        assert_eq!(circles_of(&[parent, join, ("cell", text)]), [[""; 0]; 0], "{text}");
    }
    // Another room calls a method of that name, and does not know this one.
    let stranger = Source::new("src/engine/rng.rs", "fn f(x: X) {\n    x.leave();\n}");
    let cell = Source::new("src/engine/task/cell.rs", "fn f(x: X) {\n    x.leave();\n}");
    let join = Source::new("src/engine/task/join.rs", join.1);
    assert_eq!(circles::circles(&circles::arrows(&[cell, join, stranger])), [[""; 0]; 0]);
}

#[test]
fn a_circle_of_files_is_listed_or_rejected_and_so_is_a_row_without_a_circle() {
    let sources = [
        Source::new("src/engine/task/cell.rs", "use super::join::Handle;"),
        Source::new("src/engine/task/join.rs", "use super::cell::T;"),
    ];
    let places = |known: &[circles::Known]| -> Vec<String> {
        circles::check(&sources, known).into_iter().map(|found| found.place).collect()
    };
    let both = "src/engine/task/cell.rs, src/engine/task/join.rs";
    assert_eq!(places(&[]), [both]);
    assert_eq!(places(&[(&["src/engine/task/cell.rs", "src/engine/task/join.rs"], "")]), [""; 0]);
    let part: circles::Known = (&["src/engine/task/cell.rs"], "");
    assert_eq!(places(&[part]), [both, "src/engine/task/cell.rs"]);
}

#[test]
fn a_room_with_doors_is_entered_by_them() {
    let plan = Plan {
        floors: &[("low", 0), ("high", 1)],
        sideways: &[],
        doors: &[("high", "low", &["low::door"])],
    };
    let breaches =
        |text: &str| rejected("src/high.rs", text, |source| floors::check(source, &plan));
    assert_eq!(breaches("use crate::low::window;"), [1]);
    assert_eq!(breaches("use crate::low::door::Bell;"), [0; 0]);
}

#[test]
fn a_row_of_the_house_that_nothing_uses_is_found() {
    let plan = Plan {
        floors: &[("low", 0), ("high", 1), ("beside", 1)],
        sideways: &[("high", "beside"), ("beside", "high")],
        doors: &[("high", "low", &["low::door", "low::window"])],
    };
    let text = "use crate::{beside, low::door::Bell};\n#[cfg(test)]\nuse crate::low::window;";
    let sources = [Source::new("src/high.rs", text)];
    assert_eq!(floors::unused(&sources, &plan), ["beside -> high", "high -> low::window"]);
}

#[test]
fn downward_imports_own_rooms_tests_and_prose_pass() {
    assert_eq!(
        floor_breaches(
            "src/engine/scheduler/worker.rs",
            "use crate::engine::task::Header;\nuse super::idle::Idle;"
        ),
        [0; 0]
    );
    assert_eq!(
        floor_breaches(
            "src/task/join_set.rs",
            "use crate::runtime::context;\nuse super::JoinHandle;"
        ),
        [0; 0]
    );
    assert_eq!(
        floor_breaches(
            "src/engine/park.rs",
            "//! See `crate::engine::scheduler`.\nconst S: &str = \"crate::task\";"
        ),
        [0; 0]
    );
    assert_eq!(
        floor_breaches(
            "src/engine/park.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::engine::task::Header;\n}"
        ),
        [0; 0]
    );
    assert_eq!(
        floor_breaches("src/engine/sync_shim.rs", "mod imp {\n    use super::Thing;\n}"),
        [0; 0]
    );
    assert_eq!(
        floor_breaches("src/engine/task/cell.rs", "pub(in crate::engine::scheduler) fn f() {}"),
        [0; 0]
    );
    assert_eq!(floor_breaches("src/lib.rs", "pub use crate::runtime::Runtime;"), [0; 0]);
}

#[test]
fn file_names_that_say_nothing_are_rejected() {
    for path in ["src/task/mod.rs", "src/util.rs", "tests/common.rs"] {
        assert_eq!(rejected(path, "", rules::file_name), [1], "{path}");
    }
    assert_eq!(rejected("src/task.rs", "", rules::file_name), [0; 0]);
}

#[test]
fn long_files_functions_and_lines_are_rejected() {
    assert_eq!(rejected("src/a.rs", "\n\n\n", |source| rules::file_length(source, 2)), [3]);
    assert_eq!(rejected("src/a.rs", "\n\n", |source| rules::file_length(source, 2)), [0; 0]);
    let text = "fn short(f: fn(u8) -> u8) -> [u8; 2] {\n}\nfn long<T>()\nwhere\n    T: Copy,\n{\n    {}\n}\n";
    assert_eq!(rejected("src/a.rs", text, |source| rules::function_length(source, 5)), [3]);
    assert_eq!(rejected("tests/a.rs", text, |source| rules::function_length(source, 6)), [0; 0]);
    assert_eq!(
        rejected("src/a.rs", "// 345\n// 3456", |source| rules::line_length(source, 6)),
        [2]
    );
}

#[test]
fn an_unsafe_without_its_argument_is_rejected() {
    let bare = "fn f() {\n    unsafe { g() }\n}\nunsafe impl Send for A {}";
    assert_eq!(rejected("src/a.rs", bare, rules::safety_comments), [2, 4]);
    let borrowed =
        "// SAFETY: only of the first.\nlet a = unsafe { g() };\nlet b = unsafe { g() };";
    assert_eq!(rejected("tests/a.rs", borrowed, rules::safety_comments), [3]);
    let plain_comment = "// A comment that argues nothing.\nunsafe { g() }";
    assert_eq!(rejected("src/a.rs", plain_comment, rules::safety_comments), [2]);
    let good = "// SAFETY: it holds,\n// because of this.\n#[allow(x)]\nlet a =\n    unsafe { g() };\n\
                unsafe fn h() {}\nconst S: &str = \"unsafe { }\";";
    assert_eq!(rejected("src/a.rs", good, rules::safety_comments), [0; 0]);
}

#[test]
fn an_ordering_without_its_argument_is_rejected() {
    let check =
        |text: &str| rejected("src/a.rs", text, |source| rules::ordering_comments(source, 3));
    assert_eq!(check("fn f() {\n    a.load(Ordering::Acquire);\n}"), [2]);
    assert_eq!(
        check("fn f() {\n    // Adds one.\n    a.fetch_add(1, SeqCst);\n}"),
        [3],
        "a comment on something else"
    );
    assert_eq!(
        check("// Relaxed: a hint.\nfn f() {\n\n\n\n    a.load(Relaxed);\n}"),
        [6],
        "too far away"
    );
    let next_door = "fn f() {\n    // Relaxed: a hint.\n    a.load(Relaxed);\n}\n\
                     fn g() {\n    a.load(Relaxed);\n}";
    assert_eq!(check(next_door), [6], "the argument of another function");
    assert_eq!(
        check("use std::sync::atomic::Ordering::{Acquire, Relaxed};\nuse x::Release;"),
        [0; 0]
    );
    assert_eq!(
        check("fn f() {\n    // Acquire pairs with `g`.\n    a.cas(\n        Acquire,\n    );\n}"),
        [0; 0]
    );
    assert_eq!(
        check("/// Ordering: all of this is Relaxed.\nfn f() {\n    a.load(Relaxed);\n}"),
        [0; 0]
    );
    assert_eq!(
        check("#[cfg(test)]\nmod tests {\n    fn f() {\n        a.load(SeqCst);\n    }\n}"),
        [0; 0]
    );
    let argued = |text: &str| check(&format!("fn f() {{\n    {text}\n    a.load(Relaxed);\n}}"));
    assert_eq!(argued("// Ordering: Relaxed, as above."), [2]);
    assert_eq!(argued("// Ordering: Relaxed, see\n    // above."), [2], "in two lines");
    assert_eq!(argued("// Ordering: Relaxed, a hint for those that look."), [2]);
    assert_eq!(argued("// Ordering: Relaxed, a hint\n    // that `g` reads."), [0; 0]);
    let next = "// Ordering: Relaxed, as above.\n    // Ordering: Relaxed, see `g`.";
    assert_eq!(argued(next), [2], "the name in the next argument");
}

#[test]
fn what_was_left_behind_is_found() {
    let text = concat!(
        "fn f() { to",
        "do!() }\n// FIX",
        "ME later\n#[ign",
        "ore]\nfn g() { db",
        "g!(1); }\n// X",
        "XX\n"
    );
    assert_eq!(rejected("tests/a.rs", text, rules::leftovers), [1, 2, 3, 4, 5]);
    assert_eq!(
        rejected("src/a.rs", concat!("fn f() { unimple", "mented!() }"), rules::leftovers),
        [1]
    );
    assert_eq!(
        rejected("src/a.rs", concat!("const S: &str = \"to", "do!\"; // done"), rules::leftovers),
        [0; 0]
    );
}

#[test]
fn let_chains_are_found_in_every_position() {
    let check = |text: &str| rejected("src/a.rs", text, rules::let_chains);
    assert_eq!(check("if let Some(a) = f() && a > 1 {}"), [1]);
    assert_eq!(check("while let Some(A { b, .. }) = f(|| { 1 })\n    && b {}"), [1]);
    assert_eq!(check("if a > 1 &&\n    let Some(b) = f() {}"), [2]);
    assert_eq!(check("if let A { b } = unsafe { f() } && b {}"), [1]);
    assert_eq!(check("match a {\n    Some(b) if let Some(c) = f(b) => c,\n}"), [2]);
    assert_eq!(check("if let Some(a) = f(b && c) { let d = b && c; }"), [0; 0]);
    assert_eq!(check("if let &&a = &&b {}\nlet Some(a) = b else { return c && d };"), [0; 0]);
}

#[test]
fn unwrap_is_for_tests() {
    let text = "fn f() {\n    a.unwrap();\n    a.unwrap_or(1);\n}\n\
                #[cfg(test)]\nmod tests {\n    fn g() {\n        a.unwrap();\n    }\n}";
    assert_eq!(rejected("src/a.rs", text, rules::unwraps), [2]);
    assert_eq!(rejected("tests/a.rs", text, rules::unwraps), [0; 0]);
}

const SOME_RULE: Confined = Confined {
    what: "`magic`",
    words: &["magic", "cfg("],
    homes: &[("src/room", "reason"), ("src/file.rs", "reason")],
};

#[test]
fn a_confined_word_outside_its_homes_is_rejected() {
    let check =
        |path: &str, text: &str| rejected(path, text, |source| rules::confined(source, &SOME_RULE));
    assert_eq!(check("src/a.rs", "fn f() {\n    magic::call(magic);\n}"), [2]);
    assert_eq!(check("src/roomy.rs", "use magic;"), [1], "a longer name is another room");
    assert_eq!(check("src/a.rs", "#[cfg(unix)]\nmod a;\n#[cfg(not(test))]\nmod b;"), [1, 3]);
    for home in ["src/room.rs", "src/room/corner.rs", "src/file.rs"] {
        assert_eq!(check(home, "use magic;"), [0; 0], "{home}");
    }
    assert_eq!(check("src/a.rs", "// magic\nfn magical() {}"), [0; 0]);
    assert_eq!(
        check(
            "src/a.rs",
            "#[cfg(test)]\nmod a {\n    use magic;\n}\n#[cfg(all(test, loom))]\nmod b;"
        ),
        [0; 0]
    );
}

#[test]
fn a_permission_that_nothing_uses_is_rejected() {
    let user = Source::new("src/room/a.rs", "use magic;");
    let found = rules::unused_homes(&[user], &SOME_RULE);
    assert_eq!(found.iter().map(|v| v.place.as_str()).collect::<Vec<_>>(), ["src/file.rs"]);
}

#[test]
fn a_permission_that_is_given_twice_is_rejected() {
    const TWICE: Confined = Confined {
        what: "`magic`",
        words: &["magic"],
        homes: &[("src/a.rs", "a reason"), ("src/b.rs", "a reason"), ("src/a.rs", "another one")],
    };
    assert_eq!(rules::double_homes(&SOME_RULE).len(), 0);
    let found = rules::double_homes(&TWICE);
    assert_eq!(found.iter().map(|v| v.place.as_str()).collect::<Vec<_>>(), ["src/a.rs"]);
}

#[test]
fn code_comments_and_literals_are_told_apart() {
    let text = "let a = \"// no\"; // yes\n\
                let b = r#\"\"magic\"\"#; /* magic /* magic */ */ let c = '\"'; magic";
    let source = Source::new("src/a.rs", text);
    let code = source.code_lines();
    assert_eq!(code[0].trim_end(), "let a = \"     \";");
    assert_eq!(source.comments[0].trim(), "// yes");
    assert_eq!(source.words("magic").len(), 1);
    let lifetimes =
        Source::new("src/a.rs", "fn f<'a>(x: &'a str) -> char { 'a' } // '\nfn g() { b'\\'' }");
    assert_eq!(lifetimes.functions().len(), 2);
}

#[test]
fn a_file_declared_for_tests_is_test_code() {
    let parent =
        Source::new("src/engine/park.rs", "#[cfg(all(test, liten_loom))]\nmod model;\nmod real;");
    assert_eq!(parent.test_children(), ["src/engine/park/model"]);
    assert!(!Source::new("src/engine/park/real.rs", "").in_test[0]);
    assert!(Source::new("src/engine/park/tests/waiting.rs", "").in_test[0]);
}
