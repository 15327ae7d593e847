//! Which version of the package the requirements of a project let in.

use crate::finding::version;
use crate::graph::Wish;
use semver::{Version, VersionReq};

/// A version for the package where requirements keep its own, or that of the patch, out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    version: String,
    requirements: Vec<String>,
}

impl Fit {
    /// Finds the highest version that all requirements of tokio 1 let in, `found` being the release that
    /// cargo has chosen. `None`: the package's own is the one.
    ///
    /// The last number is as high as may be, so that a later release does not take the package's place. If no
    /// such version is let in, the release that cargo has chosen is, for that went with all that counts.
    pub(crate) fn of(wishes: &[Wish], found: &str) -> Option<Self> {
        let of_one = wishes.iter().filter(|wish| is_of_one(wish));
        let requirements: Vec<_> = of_one.map(|wish| wish.requirement.clone()).collect();
        let fit = Self { version: version().to_owned(), requirements };
        if fit.lets_in(version()) {
            return None;
        }
        let minor = Version::parse(found).ok()?.minor;
        let mut high = (minor..999).rev().map(|minor| format!("1.{minor}.999"));
        let version = high.find(|version| fit.lets_in(version));
        Some(Self { version: version.unwrap_or_else(|| found.to_owned()), ..fit })
    }

    /// The version to lay the package down under. `None`: its own.
    pub(crate) fn version(&self) -> Option<String> {
        (self.version != version()).then(|| self.version.clone())
    }

    /// Whether all requirements let a version in.
    pub(crate) fn lets_in(&self, version: &str) -> bool {
        self.requirements.iter().all(|requirement| lets_in(requirement, version))
    }
}

/// Whether a requirement lets a version in. What is none lets all in: cargo would not have taken it.
pub(crate) fn lets_in(requirement: &str, version: &str) -> bool {
    match (VersionReq::parse(requirement), Version::parse(version)) {
        (Ok(requirement), Ok(version)) => requirement.matches(&version),
        _ => true,
    }
}

/// Whether it asks for tokio 1. Crates that ask for another major have a tokio of their own.
pub(crate) fn is_of_one(wish: &Wish) -> bool {
    let requirement = VersionReq::parse(&wish.requirement);
    // `*` has no number in it.
    requirement.is_ok_and(|requirement| {
        let parts = requirement.comparators;
        parts.is_empty() || parts.iter().any(|part| part.major == 1)
    })
}

#[cfg(test)]
mod tests {
    use super::Fit;
    use crate::graph::Wish;

    #[test]
    fn the_highest_version_that_all_let_in_is_found() {
        for (requirements, found, expected) in [
            (&["^1", "*", "^1.20.1"][..], "1.54.1", None),
            (&["^1", "~1.47"], "1.47.5", Some("1.47.999")),
            (&["~1.47.2", "^1.40"], "1.47.5", Some("1.47.999")),
            (&["=1.46.1", "^1"], "1.46.1", Some("1.46.1")),
            (&[">=1.20, <1.50", "^0.2"], "1.49.0", Some("1.49.999")),
            (&["<1.50", "<1.47.3"], "1.47.2", Some("1.47.2")),
            (&["=1.47"], "1.47.5", Some("1.47.999")),
            // One of the two belongs to a crate that is not built, as cargo's choice shows.
            (&["=1.46.1", "=1.47.5"], "1.47.5", Some("1.47.5")),
        ] {
            let wish = |requirement: &&str| Wish {
                package: "a 1.0.0".to_owned(),
                requirement: (*requirement).to_owned(),
                features: Default::default(),
                is_of_registry: true,
            };
            let wishes: Vec<_> = requirements.iter().map(wish).collect();
            let version = Fit::of(&wishes, found).and_then(|fit| fit.version());
            assert_eq!(version.as_deref(), expected, "{requirements:?}");
        }
    }
}
