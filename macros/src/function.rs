//! What the attribute stands on: an async function, read only as far as the expansion needs.
//!
//! The body stays a token stream, which this crate does not read: the compiler has to parse it anyway,
//! explains its mistakes better, and may know syntax that is newer than this crate.

use proc_macro2::{Delimiter, Group, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Result, Signature, Token, Visibility, braced};

use crate::Entry;

/// A function whose body is tokens.
pub(crate) struct Function {
    /// Doc comments and the other attributes before it.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// `#![..]` at the head of the body. They are legal at the head of a function only, so they
    /// cannot move into the async block with the rest.
    pub(crate) inner_attrs: Vec<Attribute>,
    /// The braces and what is between them, without the inner attributes.
    pub(crate) body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        if !function_follows(input) {
            return Err(input.error("expected an `async fn`: this is not a function"));
        }
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(Error::new_spanned(
                sig,
                "this function needs a body: there is nothing to run",
            ));
        }
        let content;
        let brace = braced!(content in input);
        let inner_attrs = content.call(Attribute::parse_inner)?;
        let mut body = Group::new(Delimiter::Brace, content.parse()?);
        body.set_span(brace.span.join());
        Ok(Function { attrs, vis, sig, inner_attrs, body })
    }
}

/// Looks past the words that may stand before `fn`. Without this a `struct` would be told "expected
/// `fn`".
fn function_follows(input: ParseStream<'_>) -> bool {
    const QUALIFIERS: [&str; 4] = ["const", "async", "unsafe", "extern"];
    let ahead = input.fork();
    while let Ok(token) = ahead.parse::<TokenTree>() {
        match token {
            TokenTree::Ident(word) if word == "fn" => return true,
            TokenTree::Ident(word) if QUALIFIERS.iter().any(|it| word == it) => {}
            // The calling convention: `extern "C"`.
            TokenTree::Literal(_) => {}
            _ => return false,
        }
    }
    false
}

impl Function {
    pub(crate) fn is_async(&self) -> bool {
        self.sig.asyncness.is_some()
    }

    /// Reports what `entry` cannot work with.
    pub(crate) fn check(&self, entry: Entry, errors: &mut Vec<Error>) {
        let sig = &self.sig;
        if let (Entry::Test, Some(second)) = (entry, self.test_attribute()) {
            // With two of them the harness would run the function twice. It may be a second
            // `#[liten::test]` that sees what the first has written, so nothing is said about the
            // missing `async`.
            let message =
                format!("{entry} already makes this a test: remove the second test attribute");
            errors.push(Error::new_spanned(second, message));
        } else if !self.is_async() {
            let message = format!("{entry} runs an async function: write `async fn`");
            errors.push(Error::new(sig.fn_token.span, message));
        }
        // Without its `async` the function would be a valid `const fn`, with errors only about what
        // we wrote into it.
        if let Some(constness) = &sig.constness {
            let message = format!("{entry} starts threads, which no constant can: remove `const`");
            errors.push(Error::new(constness.span, message));
        }
        if let Some(rule) = self.without_arguments(entry) {
            errors.push(Error::new_spanned(&sig.inputs, rule));
        }
    }

    /// The rule against arguments, if the function has some and no caller could pass them. Other functions
    /// have a caller that can.
    pub(crate) fn without_arguments(&self, entry: Entry) -> Option<&'static str> {
        match entry {
            _ if self.sig.inputs.is_empty() => None,
            Entry::Test => Some("a test function takes no arguments"),
            // A method of this name has a caller like any other.
            Entry::Main if self.sig.ident != "main" || self.sig.receiver().is_some() => None,
            Entry::Main => Some("the main function takes no arguments"),
        }
    }

    /// The standard `#[test]`, by its name or by its full path.
    pub(crate) fn test_attribute(&self) -> Option<&Attribute> {
        self.attrs.iter().find(|attr| {
            let segments = attr.path().segments.iter();
            let path: Vec<String> = segments.map(|segment| segment.ident.to_string()).collect();
            match &path[..] {
                [name] => name == "test",
                [root, prelude, _, name] => {
                    (root == "core" || root == "std") && prelude == "prelude" && name == "test"
                }
                _ => false,
            }
        })
    }
}
