//! Misuse is a compile error at the word to change. After a change of the errors:
//! `TRYBUILD=overwrite cargo test --test derive ui`, and read the difference.

#[test]
fn misuse_is_a_compile_error_at_the_word_to_change() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
