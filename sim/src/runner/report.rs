//! What a child says about its run: a text file, one fact a line.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;
use std::str::FromStr;

use crate::choices::Key;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// A host panicked, or an assertion of the scenario failed.
    Failed,
    /// No thread can go on, and no timer will wake one.
    Stuck,
    /// The run made more decisions, or took more virtual time, than it may.
    Limit,
    /// It was to stop at a decision.
    Stopped,
    /// The program asked for something that the world does not stand in for.
    Refused,
    /// The parent killed the child: it took too much real time. No child writes this.
    Hung,
    /// The child ended by a signal or without a report. The text says how. No child writes this.
    Crashed(String),
}

impl Outcome {
    const WRITTEN: [(Outcome, &str); 6] = [
        (Outcome::Passed, "passed"),
        (Outcome::Failed, "failed"),
        (Outcome::Stuck, "stuck"),
        (Outcome::Limit, "limit"),
        (Outcome::Stopped, "stopped"),
        (Outcome::Refused, "refused"),
    ];
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Hung => f.write_str("hung"),
            Outcome::Crashed(how) => write!(f, "crashed: {how}"),
            written => {
                let name = Self::WRITTEN.iter().find(|(outcome, _)| outcome == written);
                f.write_str(name.map_or("?", |(_, name)| name))
            }
        }
    }
}

/// The facts of one run. The texts may hold any characters: the file escapes its line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChildReport {
    pub(crate) outcome: Outcome,
    pub(crate) message: String,
    /// The host and the thread that failed. Empty when the run has none to blame.
    pub(crate) host: String,
    pub(crate) thread: String,
    /// Virtual nanoseconds since the start of the run.
    pub(crate) time: u64,
    pub(crate) decisions: u64,
    /// Decisions that had two candidates or more.
    pub(crate) choices: u64,
    pub(crate) switches: u64,
    pub(crate) hash: u64,
    /// The hash as it was at some decisions, in their order. They show where two runs part.
    pub(crate) prefixes: Vec<(u64, u64)>,
    /// The disturbances that happened, in their order.
    pub(crate) happened: Vec<Key>,
    /// Words for a disturbance: its thread, host and virtual time.
    pub(crate) told: Vec<(Key, String)>,
    /// The scenario's own faults with their virtual times.
    pub(crate) faults: Vec<(u64, String)>,
    pub(crate) sometimes: Vec<(String, bool)>,
    /// What the seed drew for the run as a whole.
    pub(crate) drawn: String,
    /// The last events, where they were asked for.
    pub(crate) events: Vec<String>,
    /// The decision at which a stop of this run shows most, 0 if it is not known.
    pub(crate) look: u64,
    /// For a stuck run: what each thread waits for.
    pub(crate) waits: Vec<String>,
    /// What makes the run impossible to repeat, such as a wake from a thread that the world does
    /// not know.
    pub(crate) leaks: Vec<String>,
}

impl ChildReport {
    pub(crate) fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            message: String::new(),
            host: String::new(),
            thread: String::new(),
            time: 0,
            decisions: 0,
            choices: 0,
            switches: 0,
            hash: 0,
            prefixes: Vec::new(),
            happened: Vec::new(),
            told: Vec::new(),
            faults: Vec::new(),
            sometimes: Vec::new(),
            drawn: String::new(),
            events: Vec::new(),
            look: 0,
            waits: Vec::new(),
            leaks: Vec::new(),
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    pub(crate) fn first_line(&self) -> &str {
        self.message.lines().next().unwrap_or("")
    }

    /// What tells this failure from others: the place of a panic, whatever values its message has, or
    /// else the first line of the message.
    pub(crate) fn cause(&self) -> &str {
        let line = self.first_line();
        let place = line.strip_prefix("panicked at ").and_then(|rest| rest.split_once(": "));
        place.map_or(line, |(place, _)| place)
    }

    /// The words for `key`, if the child gave any.
    pub(crate) fn told(&self, key: Key) -> Option<&str> {
        self.told.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str())
    }

    pub(crate) fn write_to(&self, path: &Path) -> Result<(), String> {
        fs::write(path, self.text())
            .map_err(|error| format!("write the report {}: {error}", path.display()))
    }

    #[cfg(test)]
    pub(crate) fn read_from(path: &Path) -> Result<Self, String> {
        let (report, problem) = Self::read_part(path);
        match problem {
            Some(problem) => Err(problem),
            None => Ok(report),
        }
    }

    /// The facts up to the first problem, and that problem. A child that crashed may have written a
    /// part.
    pub(crate) fn read_part(path: &Path) -> (Self, Option<String>) {
        let named = |problem| format!("read the report {}: {problem}", path.display());
        match fs::read(path) {
            Ok(bytes) => {
                let (report, problem) = Self::parse(&String::from_utf8_lossy(&bytes));
                (report, problem.map(named))
            }
            Err(error) => (Self::new(Outcome::Failed), Some(named(error.to_string()))),
        }
    }

    /// The text of the file. Its last line is `end`, so that a reader can tell a whole report from
    /// a part.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |word: &str, rest: &str| {
            text.push_str(word);
            text.push(' ');
            escape(rest, &mut text);
            text.push('\n');
        };
        line("outcome", &self.outcome.to_string());
        line("message", &self.message);
        line("host", &self.host);
        line("thread", &self.thread);
        line("time", &self.time.to_string());
        line("decisions", &self.decisions.to_string());
        line("choices", &self.choices.to_string());
        line("switches", &self.switches.to_string());
        line("hash", &format!("{:016x}", self.hash));
        line("draw", &self.drawn);
        for (decision, hash) in &self.prefixes {
            line("prefix", &format!("{decision} {hash:016x}"));
        }
        for key in &self.happened {
            line("happened", &key.to_string());
        }
        for (key, words) in &self.told {
            line("told", &format!("{key} {words}"));
        }
        for (time, words) in &self.faults {
            line("fault", &format!("{time} {words}"));
        }
        for (name, reached) in &self.sometimes {
            line("sometimes", &format!("{} {name}", u8::from(*reached)));
        }
        line("look", &self.look.to_string());
        for words in &self.events {
            line("event", words);
        }
        for words in &self.waits {
            line("waits", words);
        }
        for words in &self.leaks {
            line("leak", words);
        }
        let _ = writeln!(text, "end");
        text
    }

    fn parse(text: &str) -> (Self, Option<String>) {
        // A report without an outcome must not count as a pass.
        let mut report = Self::new(Outcome::Failed);
        for (i, line) in text.split('\n').enumerate() {
            if line == "end" {
                return (report, None);
            }
            if let Err(problem) = report.take(line) {
                return (report, Some(format!("line {}: {problem}", i + 1)));
            }
        }
        (report, Some("it has no `end`".to_string()))
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').ok_or_else(|| format!("`{line}` is no fact"))?;
        let rest = unescape(rest);
        match word {
            "outcome" => {
                let known = Outcome::WRITTEN.into_iter().find(|(_, name)| *name == rest);
                self.outcome = known.ok_or_else(|| format!("`{rest}` is no outcome"))?.0;
            }
            "message" => self.message = rest,
            "host" => self.host = rest,
            "thread" => self.thread = rest,
            "time" => self.time = number(&rest)?,
            "decisions" => self.decisions = number(&rest)?,
            "choices" => self.choices = number(&rest)?,
            "switches" => self.switches = number(&rest)?,
            "hash" => self.hash = hash(&rest)?,
            "draw" => self.drawn = rest,
            "prefix" => {
                let (decision, at) = pair(&rest)?;
                self.prefixes.push((number(decision)?, hash(at)?));
            }
            "happened" => self.happened.push(Key::from_str(&rest)?),
            "told" => self.told.push(key_and_words(&rest)?),
            "fault" => {
                let (time, words) = pair(&rest)?;
                self.faults.push((number(time)?, words.to_string()));
            }
            "sometimes" => {
                let (reached, name) = pair(&rest)?;
                self.sometimes.push((name.to_string(), number(reached)? != 0));
            }
            "look" => self.look = number(&rest)?,
            "event" => self.events.push(rest),
            "waits" => self.waits.push(rest),
            "leak" => self.leaks.push(rest),
            _ => return Err(format!("`{word}` is no kind of fact")),
        }
        Ok(())
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn hash(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| format!("`{text}` is no hash"))
}

fn pair(text: &str) -> Result<(&str, &str), String> {
    text.split_once(' ').ok_or_else(|| format!("`{text}` has one word where two must be"))
}

/// A key is three words. What follows the space after them is the text.
fn key_and_words(text: &str) -> Result<(Key, String), String> {
    let (end, _) = text
        .match_indices(' ')
        .nth(2)
        .ok_or_else(|| format!("`{text}` is not the key of a choice and a text"))?;
    Ok((text[..end].parse()?, text[end + 1..].to_string()))
}

fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            c => into.push(c),
        }
    }
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            c => plain.push(c),
        }
    }
    plain
}
