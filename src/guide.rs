//! The chapters of the guide, with programs that the documentation tests compile and run.

macro_rules! chapters {
    ($($chapter:ident),* $(,)?) => {$(
        // Markdown uses the first definition of a link. In the documentation, the links of a
        // chapter lead to the modules of the other chapters, and in the book to their files.
        #[doc = include_str!("guide_links.md")]
        #[doc = include_str!(concat!("../docs/src/", stringify!($chapter), ".md"))]
        pub mod $chapter {}
    )*};
}

chapters! {
    introduction, quickstart, choosing, conflicts, transactions, patches, queries, locks, tables, errors, service, testing,
    costs, observability, aws, command_line, mappers, comparison,
}
