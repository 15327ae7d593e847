//! Which disturbances a child may let happen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::choices::Key;

/// What stands for no disturbance at all on a command line.
const NONE: &str = "none";

/// A file of keys, one a line. Its first line may be `only`, which turns the meaning around.
///
/// The minimiser needs `only`. A run that goes another way meets disturbances that the failing run
/// did not have, and those cannot be listed in advance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask {
    /// Every disturbance is masked except the keys listed. Otherwise the keys listed are the masked
    /// ones.
    pub(crate) only: bool,
    pub(crate) keys: BTreeSet<Key>,
}

impl Mask {
    pub(crate) fn only(keys: impl IntoIterator<Item = Key>) -> Self {
        Self { only: true, keys: keys.into_iter().collect() }
    }

    /// Whether the disturbance `key` must not happen.
    // The tests' fake world asks this. The world has a faster way of its own.
    #[allow(dead_code)]
    pub(crate) fn masks(&self, key: Key) -> bool {
        self.keys.contains(&key) != self.only
    }

    /// The keys as one word of a command line, which [`Mask::from_setting`] reads.
    pub(crate) fn word(&self) -> String {
        if self.keys.is_empty() {
            return NONE.to_owned();
        }
        let keys: Vec<String> =
            self.keys.iter().map(|key| key.to_string().replace(' ', ":")).collect();
        keys.join(",")
    }

    /// A mask of the only disturbances that happen. The text is the keys themselves, or the path of
    /// a file.
    pub(crate) fn from_setting(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self::only([]));
        }
        let key = |word: &str| word.replace(':', " ").parse::<Key>();
        if let Ok(keys) = text.split(',').map(key).collect::<Result<Vec<Key>, String>>() {
            return Ok(Self::only(keys));
        }
        let mask = Self::read_from(Path::new(text))?;
        // A list written by hand may lack the line, but the name of the variable says what it is.
        Ok(Self { only: true, ..mask })
    }

    pub(crate) fn write_to(&self, path: &Path) -> Result<(), String> {
        let mut text = String::new();
        if self.only {
            text.push_str("only\n");
        }
        for key in &self.keys {
            text.push_str(&format!("{key}\n"));
        }
        fs::write(path, text).map_err(|error| format!("write the mask {}: {error}", path.display()))
    }

    pub(crate) fn read_from(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("read the mask {}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("read the mask {}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut mask = Self::default();
        for (i, line) in text.lines().map(str::trim).enumerate() {
            match line {
                "only" if i == 0 => mask.only = true,
                "" => {}
                line => {
                    mask.keys.insert(line.parse()?);
                }
            }
        }
        Ok(mask)
    }
}
