//! Writes the function that builds a runtime and blocks on the body.
//!
//! Two rules keep the attribute invisible. Every token of the user keeps its span, so a message
//! about the body points into the body. Every token written here has the hygiene of the attribute
//! (`Span::call_site`), wherever it points: lints then know that no user wrote it and stay quiet.
//! An `#[allow]` would not do, it is an error under a `#![forbid]`.

use std::mem;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, FnArg, ReturnType, Signature, Token, Type, parse2};

use crate::Entry;
use crate::function::Function;
use crate::options::{Flavor, Options, Sim};

/// The whole attribute: what replaces `item`, behind everything that is wrong with it.
///
/// An item with mistakes is still expanded as far as possible. If it were gone, each use of it
/// would be one more error.
pub(crate) fn expand(entry: Entry, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let options = Options::read(entry, args, &mut errors);
    let replacement = match parse2::<Function>(item.clone()) {
        Ok(function) => {
            function.check(entry, &mut errors);
            if function.is_async() { blocking(entry, &options, function) } else { item }
        }
        Err(error) => {
            errors.push(error);
            item
        }
    };
    let errors = errors.iter().map(Error::to_compile_error);
    let threads = options.threads.as_ref().map(without_threads);
    quote!(#(#errors)* #threads #replacement)
}

/// What the compiler says on wasm about an option that asks for threads.
fn without_threads(option: &Ident) -> TokenStream {
    let message = format!(
        "`{option}` asks for threads, and on wasm there is one: leave it out there, for instance by \
         `cfg_attr(not(target_family = \"wasm\"), ..)`"
    );
    let error = Error::new(option.span(), message).to_compile_error();
    quote!(#[cfg(target_family = "wasm")] #error)
}

/// The function without its `async`.
fn blocking(entry: Entry, options: &Options, function: Function) -> TokenStream {
    let test = match (entry, function.test_attribute()) {
        (Entry::Test, None) => Some(quote!(#[::core::prelude::v1::test])),
        _ => None,
    };
    let refused = function.without_arguments(entry).is_some();
    let Function { attrs, vis, mut sig, inner_attrs, body } = function;
    let mut future = future(&sig, &body);
    sig.asyncness = None;
    // Two mistakes that are reported already. Left in place, they would lead to errors about what
    // is written here.
    sig.constness = None;
    if refused {
        let variables = as_variables(mem::take(&mut sig.inputs));
        future = quote!({ #variables #future });
    }
    // No variables: a name here could be taken for a constant of the user, and the order of drops
    // is that of one expression. It also works whether the builder and the runtime take `self`,
    // `&self` or `&mut self`.
    let runtime = runtime(options);
    let mut result = quote!(#runtime.block_on(#future));
    if let Some(sim) = options.sim {
        result = simulated(sim, result);
        // What the body returns is looked at inside the simulation.
        sig.output = ReturnType::Default;
    }
    let statement = match &sig.output {
        // Here clippy dislikes a `return`, everywhere else its `implicit_return` dislikes that
        // there is none.
        ReturnType::Type(_, output) if is_never(output) => result,
        _ => quote!(return #result;),
    };
    let mut block = Group::new(Delimiter::Brace, quote!(#(#inner_attrs)* #statement));
    block.set_span(body.span());
    quote!(#test #(#attrs)* #vis #sig #block)
}

/// `result` as the main function of the only host of a simulation.
fn simulated(sim: Sim, result: TokenStream) -> TokenStream {
    let seeds = sim.seeds.map(|seeds| quote!(.seeds(#seeds)));
    let workers = sim.workers.map(|count| quote!(.cpus(#count)));
    quote! {
        ::liten_sim::Check::new() #seeds #workers .run(|sim| sim.client("test", || #result))
    }
}

/// Arguments that cannot be passed, so that the body can be checked without them.
fn as_variables(arguments: Punctuated<FnArg, Token![,]>) -> TokenStream {
    let variables = arguments.iter().map(|argument| match argument {
        FnArg::Typed(argument) => {
            quote!(let #argument = ::core::option::Option::None.expect("unreachable");)
        }
        FnArg::Receiver(_) => TokenStream::new(),
    });
    variables.collect()
}

/// The expression that builds the runtime. On wasm that of the default flavor is one on the thread there is.
fn runtime(options: &Options) -> TokenStream {
    let one = builder(options, quote!(new_current_thread), None, quote!(build_local));
    if options.flavor == Flavor::CurrentThread {
        return one;
    }
    let workers = options.worker_threads.map(|count| quote!(.worker_threads(#count)));
    let many = builder(options, quote!(new_multi_thread), workers, quote!(build));
    // In parentheses, because a statement that begins with a brace ends with it.
    quote! {
        ({
            #[cfg(not(target_family = "wasm"))]
            { #many }
            #[cfg(target_family = "wasm")]
            { #one }
        })
    }
}

fn builder(
    options: &Options,
    new: TokenStream,
    workers: Option<TokenStream>,
    build: TokenStream,
) -> TokenStream {
    let liten = &options.liten;
    let name = options.thread_name.as_ref().map(|name| quote!(.thread_name(#name)));
    let paused = options.start_paused.map(|yes| quote!(.start_paused(#yes)));
    quote! {
        #liten::runtime::Builder::#new()
            #workers
            #name
            #paused
            .#build()
            .expect("the liten runtime could not be built")
    }
}

/// The body as an async block that knows the return type of the function.
///
/// An async block has no place to write its type, and `block_on` takes any. So without help
/// `Err(Box::new(error))` would not become a `Box<dyn Error>`, and a wrong type would be reported
/// about our `block_on`. A `return` that never runs, put first, tells the compiler what to expect,
/// and the message about a wrong type shows the return type as its reason.
fn future(sig: &Signature, body: &Group) -> TokenStream {
    let hint = match &sig.output {
        ReturnType::Default => {
            let span = located(sig.paren_token.span.close());
            quote_spanned!(span=> if false { return; };)
        }
        ReturnType::Type(_, output) if can_be_named(output) => {
            let span = located(output.span());
            quote_spanned! {span=>
                if false { return ::core::option::Option::None::<#output>.expect("unreachable"); };
            }
        }
        ReturnType::Type(..) => TokenStream::new(),
    };
    let statements = body.stream();
    let mut block = Group::new(Delimiter::Brace, quote!(#hint #statements));
    block.set_span(body.span());
    // `move` as in an async function: the arguments belong to the future and go when it is done,
    // before the runtime.
    let asyncness = &sig.asyncness;
    quote!(#asyncness move #block)
}

/// Where `span` is, with the hygiene of the attribute.
fn located(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// Whether the type may stand inside the function: not with `impl Trait`, nor `!` on stable.
fn can_be_named(output: &Type) -> bool {
    fn has_impl(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => word == "impl",
            TokenTree::Group(group) => has_impl(group.stream()),
            _ => false,
        })
    }
    !is_never(output) && !has_impl(quote!(#output))
}

fn is_never(output: &Type) -> bool {
    match output {
        Type::Never(_) => true,
        // What a `macro_rules!` variable stood for.
        Type::Group(group) => is_never(&group.elem),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
