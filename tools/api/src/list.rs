//! The list: one public item per line, written so that it does not depend on where std keeps its things.

use std::cmp::Ordering;
use std::error::Error;

const TITLE: &str = "# The public interface of liten, all features, on Linux. Written by `cargo run -p api \
                     -- --bless` with rustc ";

/// Traits that stable programs can name. The compiler has more, and they come and go.
const MARKERS: &[&str] = &["Copy", "Send", "Sync", "Unpin"];

#[derive(Debug, PartialEq)]
pub(crate) struct List {
    pub(crate) compiler: String,
    pub(crate) items: Vec<String>,
}

impl List {
    pub(crate) fn new(compiler: String, items: impl Iterator<Item = String>) -> Self {
        let items = items.map(|item| name_self(&shorten(&item)));
        Self { compiler, items: items.filter(|item| !is_internal(item)).collect() }
    }

    pub(crate) fn to_text(&self) -> String {
        format!("{TITLE}{}\n{}\n", self.compiler, self.items.join("\n"))
    }

    pub(crate) fn from_text(text: &str) -> Result<Self, Box<dyn Error>> {
        let mut lines = text.lines();
        let compiler = lines.next().and_then(|title| title.strip_prefix(TITLE));
        let compiler = compiler.ok_or("the list does not begin with its title")?.to_owned();
        Ok(Self { compiler, items: lines.map(str::to_owned).collect() })
    }

    /// `- line` for what has gone since then, `+ line` for what is new. The order of the lines does not
    /// count: it follows the paths as they were before they were shortened.
    pub(crate) fn changes_since(&self, before: &List) -> Vec<String> {
        let (mut old, mut new) = (before.items.clone(), self.items.clone());
        old.sort_unstable();
        new.sort_unstable();
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        let mut changes = Vec::new();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.cmp(new),
            };
            if order.is_le() {
                changes
                    .extend(old.next().filter(|_| order.is_lt()).map(|gone| format!("- {gone}")));
            }
            if order.is_ge() {
                changes.extend(new.next().filter(|_| order.is_gt()).map(|new| format!("+ {new}")));
            }
        }
    }
}

/// Whether the line says that a type has a trait which only the compiler can name.
fn is_internal(item: &str) -> bool {
    let Some((implemented, _)) = item.strip_prefix("impl").and_then(|i| i.split_once(" for "))
    else {
        return false;
    };
    let marker = implemented.rsplit_once("std::marker::").map(|(_, name)| name);
    marker.is_some_and(|name| !MARKERS.contains(&name))
}

/// Writes `core::io::error::Result` and `std::io::error::Result` alike, as `std::io::Result`: std moves its
/// items between crates and private modules, which no other crate can see.
fn shorten(item: &str) -> String {
    let mut short = String::with_capacity(item.len());
    let mut rest = item;
    while !rest.is_empty() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        short.push_str(&short_path(&rest[..end]));
        let next = rest[end..].find(word).map_or(rest.len(), |next| end + next);
        short.push_str(&rest[end..next]);
        rest = &rest[next..];
    }
    short
}

fn short_path(path: &str) -> String {
    let segments: Vec<&str> = path.split("::").collect();
    match segments[..] {
        ["core" | "alloc" | "std", module, .., name] => format!("std::{module}::{name}"),
        _ => path.to_owned(),
    }
}

/// Writes a method's own type as `Self`, as only some compilers do for what is derived.
fn name_self(item: &str) -> String {
    let Some((name, signature)) = item.split_once('(') else { return item.to_owned() };
    let own = name.split_once("fn ").and_then(|(_, path)| path.rsplit_once("::"));
    let Some((own, _)) = own else { return item.to_owned() };
    let mut named = format!("{name}(");
    let mut rest = signature;
    while let Some(at) = rest.find(own) {
        let (before, after) = (&rest[..at], &rest[at + own.len()..]);
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '<');
        named.push_str(before);
        named.push_str(if after.starts_with(goes_on) { own } else { "Self" });
        rest = after;
    }
    named + rest
}

/// `1.95` of `rustc 1.95.0 (59807616e 2026-04-14)`; what is no release says so.
pub(crate) fn minor_version(said: &str) -> Option<String> {
    let version = said.split_whitespace().nth(1)?;
    let (release, channel) = match version.split_once('-') {
        Some((release, channel)) => (release, Some(channel)),
        None => (version, None),
    };
    let mut parts = release.split('.');
    let minor = format!("{}.{}", parts.next()?, parts.next()?);
    Some(channel.map_or(minor.clone(), |channel| format!("{minor}-{channel}")))
}

#[cfg(test)]
mod tests {
    use super::{List, minor_version};
    use std::fs;
    use std::path::Path;

    fn list(items: &[&str]) -> List {
        List::new("1.0".to_owned(), items.iter().map(|&item| item.to_owned()))
    }

    #[test]
    fn a_change_shows_what_has_gone_and_what_is_new() {
        let before = list(&["pub fn a()", "pub fn b()", "pub fn b()", "pub fn d()"]);
        let now = list(&["pub fn d()", "pub fn b()", "pub fn c()", "pub fn a(u8)"]);
        let changes = ["- pub fn a()", "+ pub fn a(u8)", "- pub fn b()", "+ pub fn c()"];
        assert_eq!(now.changes_since(&before), changes);
        assert!(now.changes_since(&now).is_empty());
    }

    #[test]
    fn it_does_not_matter_where_std_keeps_its_things() {
        let one =
            list(&["pub fn a(&[u8]) -> std::io::error::Result<core::option::Option<liten::B>>"]);
        let other = list(&["pub fn a(&[u8]) -> core::io::Result<core::option::Option<liten::B>>"]);
        assert_eq!(one, other);
        let third = list(&["pub fn a(&[u8]) -> core::fmt::Result<core::option::Option<liten::B>>"]);
        assert_eq!(third.changes_since(&one).len(), 2);
    }

    #[test]
    fn a_type_and_its_name_for_itself_are_the_same() {
        let one = list(&["pub fn liten::A::eq(&self, &liten::A) -> bool"]);
        assert_eq!(one, list(&["pub fn liten::A::eq(&self, &Self) -> bool"]));
        let others = ["pub fn liten::A::b() -> liten::AB", "pub fn liten::b(liten::A)"];
        assert_eq!(list(&others).items, others);
    }

    #[test]
    fn traits_of_the_compiler_are_left_out() {
        let kept =
            ["impl std::marker::Send for liten::A", "impl<T> !core::marker::Sync for liten::B<T>"];
        let dropped = ["impl core::marker::Freeze for liten::A"];
        assert_eq!(list(&[kept[0], kept[1], dropped[0]]).items.len(), 2);
    }

    #[test]
    fn a_list_that_is_written_can_be_read() {
        let list = list(&["pub mod liten", "pub fn liten::spawn()"]);
        assert_eq!(List::from_text(&list.to_text()).unwrap(), list);
        assert!(List::from_text("pub mod liten\n").is_err());
    }

    #[test]
    fn versions_are_compared_without_the_patch() {
        assert_eq!(minor_version("rustc 1.95.0 (59807616e 2026-04-14)").unwrap(), "1.95");
        let nightly = minor_version("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)");
        assert_eq!(nightly.unwrap(), "1.97-nightly");
        assert_eq!(minor_version("rustc"), None);
    }

    /// Else the job in CI compares nothing.
    #[test]
    fn ci_has_the_compiler_of_the_list() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let list = List::from_text(&fs::read_to_string(here.join("liten.txt")).unwrap()).unwrap();
        let workflow = fs::read_to_string(here.join("../../.github/workflows/ci.yml")).unwrap();
        let job = workflow.split("\n  api:\n").nth(1).expect("a job for the list");
        let pinned = format!("toolchain: \"{}\"", list.compiler);
        assert!(job.contains(&pinned), "ci.yml does not say `{pinned}` in the job `api`");
    }
}
