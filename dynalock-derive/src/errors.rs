//! Collects all errors of a derive macro, so that one compilation reports all errors.

use std::fmt::Display;

use quote::ToTokens;

#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn at(&mut self, word: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(word, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// If `item` is `None` and no error was reported, `finish` returns a general error.
    pub(crate) fn finish<T>(self, item: Option<T>) -> syn::Result<T> {
        match (self.0, item) {
            (None, Some(item)) => Ok(item),
            (Some(errors), _) => Err(errors),
            (None, None) => Err(syn::Error::new(proc_macro2::Span::call_site(), "cannot be derived for this input")),
        }
    }
}
