//! The functions on a stack that belong to a task. Pure.

use super::traced::{BASE, BASE_FILE, NOTING, NOTING_FILES};
use crate::short::{end, short};
use std::fmt;

/// How many functions one way through the tree has at most, without those that stand for what is left out. A
/// page writes, formats and drops a tree recursively, on a thread with a stack of 2 MiB, and indents each
/// level: without a bound, a future that awaits itself 20,000 times would end the program.
const MOST_ON_A_WAY: usize = 256;
/// The name of the function that stands for those left out.
const LEFT_OUT: &str = "…";

/// One function on the way from the task to the place where it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::insight) struct Frame {
    /// The name that the compiler gives it.
    pub(super) function: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

/// Whose a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::insight) enum Owner {
    /// std's, the runtime's, or one of C.
    System,
    Library,
    Program,
    /// The program's or a library's.
    Unknown,
}

/// The frames of the task, from its own future to the one that waits; without what polls them in between.
/// `frames` has the innermost first. `None` if it has no names, or does not come from a traced poll.
pub(super) fn of_task(mut frames: Vec<Frame>) -> Option<Vec<Frame>> {
    let base = frames.iter().position(Frame::is_base)?;
    // Where the sources of this crate are, if it is known.
    let own = |file: &str| Some(file.strip_suffix(BASE_FILE)?.to_owned());
    let sources = frames[base].file.as_deref().and_then(own);
    frames.truncate(base);
    frames.retain(|frame| match &sources {
        _ if frame.is_left_out() => true,
        Some(sources) if !frame.has_path() => frame.is_shown_by_file(sources),
        _ => frame.is_shown(),
    });
    frames.reverse();
    frames.dedup_by(|inner, outer| inner.is_macro_in(outer));
    leave_out_the_middle(&mut frames);
    Some(frames)
}

/// The outermost say which task it is, and the innermost what it waits for.
fn leave_out_the_middle(frames: &mut Vec<Frame>) {
    if frames.len() > MOST_ON_A_WAY {
        let end = frames.len() - MOST_ON_A_WAY / 2;
        frames.splice(MOST_ON_A_WAY / 2..end, [Frame::left_out()]);
    }
}

/// The name and the place.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", short(self.short()))?;
        if let Some(file) = self.short_file() {
            write!(f, " at {}", end(file))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
        }
        Ok(())
    }
}

impl Frame {
    #[cfg(test)]
    pub(in crate::insight) fn new(function: &str, file: Option<&str>, line: Option<u32>) -> Self {
        Self { function: function.to_owned(), file: file.map(str::to_owned), line }
    }

    /// Stands for a function whose name is not known.
    pub(super) fn unnamed() -> Self {
        Self { function: String::new(), file: None, line: None }
    }

    pub(in crate::insight) fn is_named(&self) -> bool {
        !self.function.is_empty()
    }

    /// Stands for functions that are left out.
    pub(super) fn left_out() -> Self {
        Self { function: LEFT_OUT.to_owned(), file: None, line: None }
    }

    fn is_left_out(&self) -> bool {
        self.function == LEFT_OUT
    }

    /// Whether it is the last frame that matters: those behind it have called the poll.
    pub(super) fn is_base(&self) -> bool {
        let in_file = self.file.as_deref().is_some_and(|file| file.ends_with(BASE_FILE));
        self.function.starts_with(BASE) || (in_file && self.function == "poll")
    }

    /// Whether the name has the path of the function, which line tables alone do not have.
    fn has_path(&self) -> bool {
        let name = self.function.split_once('<').map_or(&*self.function, |(name, _)| name);
        name.is_empty() || name.contains("::")
    }

    fn is_shown(&self) -> bool {
        let is_future = self.function.ends_with("Future>::poll");
        let of = self.path();
        // Functions of C, and type parameters, have no path.
        let Some((root, rest)) = of.split_once("::") else { return false };
        let is_engine = root == own_crate() && rest.starts_with("engine::");
        let is_noting = of.starts_with(NOTING);
        !["core", "std", "alloc"].contains(&root) && (is_future || !(is_engine || is_noting))
    }

    /// As [`Frame::is_shown`], of one whose name has no path; `sources` is where those of this crate are.
    fn is_shown_by_file(&self, sources: &str) -> bool {
        let Some(file) = self.file.as_deref() else { return false };
        let own = file.strip_prefix(sources);
        let is_engine = own.is_some_and(|own| own.starts_with("engine/"));
        let is_noting = own.is_some_and(|own| own.starts_with(NOTING_FILES));
        !file.contains("/rustc/") && (self.function == "poll" || !(is_engine || is_noting))
    }

    /// Whether this is a closure in the body of `outer` that a macro of another file has written, such as
    /// `select!`: `outer` has the line in which that macro is called.
    fn is_macro_in(&self, outer: &Self) -> bool {
        let inside = self.function.strip_prefix(&outer.function);
        inside.is_some_and(|inside| inside.starts_with("::{")) && self.file != outer.file
    }

    /// The crate that the function belongs to. `None` for functions of C.
    pub(in crate::insight) fn root(&self) -> Option<&str> {
        Some(self.path().split_once("::")?.0)
    }

    /// The path of the type whose function it is, or of the function.
    fn path(&self) -> &str {
        let function = self.function.as_str();
        let of = own_type(function).unwrap_or(function).trim_start_matches(['&', '*']);
        of.strip_prefix("mut ").unwrap_or(of)
    }

    /// Whose function it is, as its file tells, or else its name. `runtime`: the folders of this crate's
    /// sources.
    pub(in crate::insight) fn owner_of(&self, runtime: &[String]) -> Owner {
        let by_name = match self.root() {
            Some(root) if ["core", "std", "alloc", "tokio", own_crate()].contains(&root) => {
                Owner::System
            }
            Some(_) => Owner::Unknown,
            None => Owner::System,
        };
        let Some(file) = self.file.as_deref() else { return by_name };
        let lies_in = |folders: [&str; 2]| folders.into_iter().any(|folder| file.contains(folder));
        let is_runtime = runtime.iter().any(|folder| file.starts_with(folder));
        match by_name {
            Owner::System if self.has_path() => Owner::System,
            _ if lies_in(["/rustc/", "/rustlib/src/"]) || is_runtime || !file.ends_with(".rs") => {
                Owner::System
            }
            _ if lies_in(["/registry/src/", "/git/checkouts/"]) => Owner::Library,
            _ => Owner::Program,
        }
    }

    pub(in crate::insight) fn line(&self) -> Option<u32> {
        self.line
    }

    /// The name without what each name of an `async` function has.
    pub(in crate::insight) fn short(&self) -> &str {
        let function = self.function.as_str();
        if let Some(of) = own_type(function).filter(|_| function.ends_with("Future>::poll")) {
            return of;
        }
        // Of line tables alone, where the types stand behind the name.
        let plain = function.split_once('<').map_or(function, |(plain, _)| plain);
        let function = if self.has_path() { function } else { plain };
        for (name, kind) in
            [("{async_fn", "async fn"), ("{async_block", "async block"), ("{closure", "closure")]
        {
            if function.starts_with(name) {
                return kind;
            }
        }
        let mut short = function;
        while let Some((before, last)) = short.rsplit_once("::") {
            if !last.starts_with('{') {
                break;
            }
            short = before;
        }
        short
    }

    /// The file without the place where cargo keeps what it has downloaded; and of a package elsewhere, from
    /// the name of its folder on, which is how the compiler writes places in a workspace.
    pub(in crate::insight) fn short_file(&self) -> Option<&str> {
        let file = self.file.as_deref()?;
        let downloaded =
            file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
        if let Some((_, rest)) = downloaded {
            return Some(rest);
        }
        let package = || {
            let (above, _) = file.rsplit_once("/src/").filter(|_| file.starts_with('/'))?;
            let (outside, _) = above.rsplit_once('/')?;
            Some(&file[outside.len() + 1..])
        };
        Some(package().unwrap_or(file).trim_start_matches("./"))
    }
}

/// `Type` of `<Type as Trait>::function` and of `<Type>::function`.
fn own_type(function: &str) -> Option<&str> {
    let inside = function.strip_prefix('<')?;
    let mut depth = 0_usize;
    for (at, letter) in inside.char_indices() {
        match letter {
            '<' => depth += 1,
            // Not that of an arrow.
            '>' if inside[..at].ends_with('-') => {}
            '>' if depth == 0 => return Some(&inside[..at]),
            '>' => depth -= 1,
            ' ' if depth == 0 && inside[at..].starts_with(" as ") => return Some(&inside[..at]),
            _ => {}
        }
    }
    None
}

fn own_crate() -> &'static str {
    BASE.split_once("::").map_or(BASE, |(root, _)| root)
}

#[cfg(test)]
mod tests {
    use super::{BASE, BASE_FILE, Frame, LEFT_OUT, MOST_ON_A_WAY, NOTING, of_task};

    /// Name, file, line.
    fn stack(frames: &[(&str, &str, u32)]) -> Vec<Frame> {
        let frame = |&(name, file, line): &(&str, &str, u32)| {
            let has_line = !file.is_empty();
            Frame {
                function: name.to_owned(),
                file: has_line.then(|| file.to_owned()),
                line: has_line.then_some(line),
            }
        };
        frames.iter().map(frame).collect()
    }

    fn shown(frames: &[(&str, &str, u32)]) -> Option<Vec<String>> {
        let frames = of_task(stack(frames))?;
        let show = |frame: &Frame| match (frame.short_file(), frame.line) {
            (Some(file), Some(line)) => format!("{} {file}:{line}", frame.short()),
            _ => frame.short().to_owned(),
        };
        Some(frames.iter().map(show).collect())
    }

    #[test]
    fn a_file_is_named_from_the_folder_of_its_package_on() {
        let short = |file: &str| {
            let file = Some(file.to_owned());
            let frame = Frame { function: "a::b".to_owned(), file, line: Some(1) };
            frame.short_file().map(str::to_owned).unwrap_or_default()
        };
        assert_eq!(short("./src/main.rs"), "src/main.rs");
        assert_eq!(short("/home/a/work/ledger/src/store/rows.rs"), "ledger/src/store/rows.rs");
        assert_eq!(
            short("/x/.cargo/registry/src/index-1/a-0.1.0/src/lib.rs"),
            "a-0.1.0/src/lib.rs"
        );
        assert_eq!(short("/src/main.rs"), "/src/main.rs");
        assert_eq!(short("/home/a/build.rs"), "/home/a/build.rs");
    }

    #[test]
    fn the_functions_of_the_task_are_kept_from_the_outermost_to_the_leaf() {
        let own = "/home/.cargo/registry/src/index-1/liten-0.1.0/src/engine/task/cell.rs";
        let noting = format!("/home/.cargo/registry/src/index-1/liten-0.1.0/src/{BASE_FILE}");
        let capture = format!("{NOTING}::stack::Stack::capture");
        let note = format!("{NOTING}::note");
        let frames = [
            (&*capture, &*noting, 1),
            (&*note, &*noting, 2),
            ("liten::engine::task::traced::note", own, 3),
            ("liten::engine::task::waker::clone_traced", own, 3),
            ("<core::task::wake::Waker as core::clone::Clone>::clone", "/rustc/1/core.rs", 4),
            (
                "<a::Leaf<T> as core::future::future::Future>::poll",
                "/home/.cargo/registry/src/i/a-1.0/l.rs",
                5,
            ),
            ("<&mut F as core::future::future::Future>::poll", "/rustc/1/future.rs", 6),
            ("app::inner::{{closure}}", "./src/main.rs", 7),
            ("<core::pin::Pin<P> as core::future::future::Future>::poll", "/rustc/1/pin.rs", 8),
            ("app::outer::{{closure}}::{{closure}}", "/liten/src/combinators/select.rs", 9),
            ("app::outer::{{closure}}", "./src/main.rs", 10),
            ("liten::engine::task::cell::poll", own, 11),
            (BASE, &noting, 12),
            ("app::not_of_the_task", "./src/main.rs", 13),
        ];
        let kept =
            ["app::outer src/main.rs:10", "app::inner src/main.rs:7", "a::Leaf<T> a-1.0/l.rs:5"];
        assert_eq!(shown(&frames), Some(kept.map(str::to_owned).to_vec()));
        assert_eq!(shown(&frames[..frames.len() - 2]), None, "not of a traced poll");
    }

    #[test]
    fn without_line_tables_there_are_names_alone() {
        let base = format!("{BASE}::h0123");
        let frames = [("app::inner::{{closure}}", "", 0), ("__rust_try", "", 0), (&*base, "", 0)];
        assert_eq!(shown(&frames), Some(vec!["app::inner".to_owned()]));
    }

    /// What the compiler writes for `debug = "line-tables-only"`.
    #[test]
    fn with_line_tables_alone_places_stand_for_names() {
        let (base, engine) =
            (format!("/sources/liten/src/{BASE_FILE}"), "/sources/liten/src/engine/task/cell.rs");
        let stack = base.replace(".rs", "/stack.rs");
        let frames = [
            ("capture", &*stack, 1),
            ("note", &*base, 1),
            ("clone", "/rustc/1/core/waker.rs", 2),
            ("poll", "/sources/liten/src/time/sleep.rs", 3),
            ("{async_fn#0}", "./src/main.rs", 4),
            ("poll<app::main::{async_fn_env#0}, ()>", engine, 5),
            ("poll", &base, 6),
            ("poll", engine, 7),
        ];
        let kept = ["async fn src/main.rs:4", "poll liten/src/time/sleep.rs:3"];
        assert_eq!(shown(&frames), Some(kept.map(str::to_owned).to_vec()));
    }

    #[test]
    fn of_very_many_functions_the_middle_is_left_out() {
        let names: Vec<String> =
            (0..MOST_ON_A_WAY + 1).rev().map(|n| format!("app::f{n}")).collect();
        let mut frames: Vec<_> = names.iter().map(|name| (&**name, "", 0)).collect();
        frames.push((BASE, "", 0));
        let kept = shown(&frames).expect("it is of a traced poll");
        assert_eq!(kept.len(), MOST_ON_A_WAY + 1);
        assert_eq!((&*kept[0], &*kept[MOST_ON_A_WAY]), ("app::f0", &*names[0]));
        assert_eq!(kept[MOST_ON_A_WAY / 2], LEFT_OUT);
        frames.remove(0);
        let kept = shown(&frames).expect("it is of a traced poll");
        assert!(kept.len() == MOST_ON_A_WAY && !kept.contains(&LEFT_OUT.to_owned()), "{kept:?}");
    }

    #[test]
    fn no_name_makes_it_panic() {
        for name in ["", "<", "<<a", "<a as ", "::", "{", "->", "<->", "é::<"] {
            let [frame] = &stack(&[(name, "é", 0)])[..] else { panic!("one") };
            _ = (frame.is_shown(), frame.short().len(), frame.short_file());
            assert_eq!(of_task(vec![frame.clone()]), None);
        }
    }
}
