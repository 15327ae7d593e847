//! What is written in the brackets of the attribute: `flavor = "multi_thread", worker_threads = 4`.
//!
//! Read token by token and not with a `syn` parser: that gives up at the first mistake, and this is
//! to report all of them, each at its own place.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::{Error, Lit, LitStr, Path, Result, parse_quote, parse2};

use crate::Entry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    MultiThread,
    CurrentThread,
}

/// The options, with defaults where nothing was written.
pub(crate) struct Options {
    pub(crate) flavor: Flavor,
    pub(crate) worker_threads: Option<usize>,
    pub(crate) thread_name: Option<String>,
    pub(crate) start_paused: Option<bool>,
    /// Whether the test is run in simulation, once for each of many seeds.
    pub(crate) sim: Option<Sim>,
    /// What was written that only several threads can do, if anything.
    pub(crate) threads: Option<Ident>,
    /// Where the runtime is found.
    pub(crate) liten: Path,
}

/// How a test is run in simulation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sim {
    pub(crate) seeds: Option<u64>,
    pub(crate) workers: Option<usize>,
}

impl Options {
    /// Reads `args`. What is wrong is reported and left out, so that the caller can go on in any
    /// case.
    pub(crate) fn read(entry: Entry, args: TokenStream, errors: &mut Vec<Error>) -> Self {
        let mut options = Options {
            flavor: entry.default_flavor(),
            worker_threads: None,
            thread_name: None,
            start_paused: None,
            sim: None,
            threads: None,
            liten: parse_quote!(::liten),
        };
        let mut seen: Vec<Ident> = Vec::new();
        for setting in split(args) {
            let done = setting.and_then(|Setting { key, value }| {
                if seen.contains(&key) {
                    return Err(Error::new(key.span(), format!("`{key}` is set twice")));
                }
                seen.push(key.clone());
                options.set(&key, value)
            });
            errors.extend(done.err());
        }
        options.check_sim(entry, &seen, errors);
        let workers = seen.iter().find(|key| *key == "worker_threads");
        if let (Some(key), Flavor::CurrentThread) = (workers, options.flavor) {
            let reason = if seen.iter().any(|key| key == "flavor") {
                "\"current_thread\" has no workers"
            } else {
                "a test has no workers unless it asks for them"
            };
            let message = format!("`worker_threads` needs `flavor = \"multi_thread\"`: {reason}");
            errors.push(Error::new(key.span(), message));
            options.worker_threads = None;
            options.threads = None;
        }
        options
    }

    /// `seeds` and `workers` say how a simulation is run, and only a test is run in one. It has workers
    /// unless it says otherwise, because their order is what a seed decides.
    fn check_sim(&mut self, entry: Entry, seen: &[Ident], errors: &mut Vec<Error>) {
        let find = |name: &str| seen.iter().find(|key| *key == name);
        let Some(sim) = find("sim") else {
            if let Some(seeds) = find("seeds") {
                errors
                    .push(Error::new(seeds.span(), "`seeds` needs `sim`: it is about simulation"));
            }
            if let Some(workers) = find("workers") {
                let message =
                    "`workers` needs `sim`; without it the number of workers is `worker_threads`";
                errors.push(Error::new(workers.span(), message));
            }
            self.sim = None;
            return;
        };
        if entry == Entry::Main {
            errors.push(Error::new(
                sim.span(),
                "`sim` is for tests: write it in `#[liten::test(sim)]`",
            ));
            self.sim = None;
        } else if find("flavor").is_none() {
            self.flavor = Flavor::MultiThread;
        }
    }

    fn set(&mut self, key: &Ident, value: Result<TokenStream>) -> Result<()> {
        let sim = || self.sim.unwrap_or_default();
        match key.to_string().as_str() {
            "flavor" => {
                // If it cannot be told, the one that goes with every other option: no complaint
                // about those.
                self.flavor = Flavor::MultiThread;
                self.flavor = flavor(value?)?;
                if self.flavor == Flavor::MultiThread {
                    self.threads = Some(key.clone());
                }
            }
            "worker_threads" => {
                self.worker_threads = Some(workers(value?, "worker_threads")?);
                self.threads = Some(key.clone());
            }
            "name" => self.thread_name = Some(thread_name(value?)?),
            "start_paused" => self.start_paused = Some(start_paused(value?)?),
            "crate" => self.liten = path(value?)?,
            "sim" if value.is_ok() => return Err(Error::new(key.span(), "`sim` takes no value")),
            "sim" => self.sim = Some(sim()),
            "seeds" => self.sim = Some(Sim { seeds: Some(seeds(value?)?), ..sim() }),
            "workers" => {
                self.sim = Some(Sim { workers: Some(workers(value?, "workers")?), ..sim() })
            }
            _ => return Err(unknown(key)),
        }
        Ok(())
    }
}

/// One `key = value`.
struct Setting {
    key: Ident,
    /// An error if no value can be told. It is reported later than an unknown name: the author of
    /// `core_threads(4)` should read about the name first.
    value: Result<TokenStream>,
}

/// Takes the settings apart at the commas. One comma at the end is allowed.
fn split(args: TokenStream) -> Vec<Result<Setting>> {
    let tokens: Vec<TokenTree> = args.into_iter().collect();
    let with_comma = tokens.split_inclusive(|token| is_punct(token, ','));
    with_comma
        .map(|tokens| match tokens {
            [TokenTree::Ident(key), rest @ .., comma] if is_punct(comma, ',') => {
                Ok(setting(key, rest))
            }
            [TokenTree::Ident(key), rest @ ..] => Ok(setting(key, rest)),
            _ => Err(Error::new(tokens[0].span(), "expected `option = value`")),
        })
        .collect()
}

fn setting(key: &Ident, rest: &[TokenTree]) -> Setting {
    let value = match rest {
        [equals] if is_punct(equals, '=') => {
            Err(Error::new(key.span(), format!("`{key}` needs a value after the `=`")))
        }
        [equals, value @ ..] if is_punct(equals, '=') => {
            Ok(unwrapped(value.iter().cloned().collect()))
        }
        [other, ..] => Err(Error::new(other.span(), format!("expected `=` after `{key}`"))),
        [] => Err(Error::new(key.span(), format!("`{key}` needs a value: `{key} = ..`"))),
    };
    Setting { key: key.clone(), value }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Takes off the invisible brackets around what a `macro_rules!` variable stood for.
fn unwrapped(tokens: TokenStream) -> TokenStream {
    let mut ahead = tokens.clone().into_iter();
    match (ahead.next(), ahead.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            unwrapped(group.stream())
        }
        _ => tokens,
    }
}

fn flavor(value: TokenStream) -> Result<Flavor> {
    let text = string(&value, "`flavor` takes a string: \"multi_thread\" or \"current_thread\"")?;
    let advice = match text.value().as_str() {
        "multi_thread" => return Ok(Flavor::MultiThread),
        "current_thread" => return Ok(Flavor::CurrentThread),
        // Names of tokio, of now and of before.
        "local" | "basic_scheduler" => "write \"current_thread\"",
        "threaded_scheduler" => "write \"multi_thread\"",
        _ => "the flavors are \"multi_thread\" and \"current_thread\"",
    };
    Err(Error::new(text.span(), format!("liten has no such flavor: {advice}")))
}

fn workers(value: TokenStream, option: &str) -> Result<usize> {
    let wanted = format!("`{option}` takes a number in digits, from 1 up");
    let Ok(Lit::Int(number)) = parse2(value.clone()) else {
        return Err(Error::new_spanned(value, wanted));
    };
    match number.base10_parse() {
        Ok(0) => Err(Error::new(
            number.span(),
            format!("`{option}` must be at least 1: nothing runs without a worker"),
        )),
        Ok(count) => Ok(count),
        Err(_) => Err(Error::new_spanned(value, wanted)),
    }
}

fn seeds(value: TokenStream) -> Result<u64> {
    let number = match parse2(value.clone()) {
        Ok(Lit::Int(number)) => number.base10_parse().ok().filter(|seeds| *seeds > 0),
        _ => None,
    };
    number.ok_or_else(|| Error::new_spanned(value, "`seeds` takes a number in digits, from 1 up"))
}

fn thread_name(value: TokenStream) -> Result<String> {
    let text = string(&value, "`name` takes a string, the prefix of thread names")?;
    // The standard library panics on such a name when the thread starts.
    if text.value().contains('\0') {
        return Err(Error::new(text.span(), "the name of a thread cannot contain a zero byte"));
    }
    Ok(text.value())
}

fn start_paused(value: TokenStream) -> Result<bool> {
    match parse2(value.clone()) {
        Ok(Lit::Bool(yes)) => Ok(yes.value),
        _ => Err(Error::new_spanned(value, "`start_paused` takes `true` or `false`")),
    }
}

fn path(value: TokenStream) -> Result<Path> {
    const WANTED: &str = "`crate` takes the path of the liten crate, such as \"my::liten\"";
    let parsed = match parse2(value.clone()) {
        // Each part gets the span of the string, so an unresolved path is reported there.
        Ok(Lit::Str(text)) => text.parse_with(Path::parse_mod_style),
        _ => Path::parse_mod_style.parse2(value.clone()),
    };
    parsed.map_err(|_| Error::new_spanned(value, WANTED))
}

fn string(value: &TokenStream, otherwise: &str) -> Result<LitStr> {
    match parse2(value.clone()) {
        Ok(Lit::Str(text)) => Ok(text),
        _ => Err(Error::new_spanned(value, otherwise)),
    }
}

/// Says what to write in place of an option that belongs to tokio or to the builder, and lists the
/// options.
fn unknown(key: &Ident) -> Error {
    let advice = match key.to_string().as_str() {
        "paused" | "pause" => "the clock stands still with `start_paused = true`; ",
        "unhandled_panic" => "a panic of a task comes out of its `JoinHandle`, remove this; ",
        "core_threads" | "threads" => "the number of workers is `worker_threads`; ",
        "thread_name" => "the prefix of thread names is `name`; ",
        "basic_scheduler" | "current_thread" | "local" => "write `flavor = \"current_thread\"`; ",
        "threaded_scheduler" | "multi_thread" => "write `flavor = \"multi_thread\"`; ",
        "max_threads"
        | "max_blocking_threads"
        | "max_worker_threads"
        | "thread_stack_size"
        | "thread_keep_alive" => "only `runtime::Builder` sets the limits of threads; ",
        _ => "",
    };
    let known = "the options are `flavor`, `worker_threads`, `name`, `start_paused` and `crate`, and for \
                 simulations `sim`, `seeds` and `workers`";
    Error::new(key.span(), format!("unknown option `{key}`: {advice}{known}"))
}
