//! The links and anchors of the guide and of README.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::book::{chapter, prose, read, root};

/// Returns the targets of the links and pictures in a text, and the targets of the definitions of
/// its links, for example `[locks]: locks.md`.
fn targets(text: &str) -> Vec<String> {
    let inline = between(text, "](", ')');
    inline.into_iter().chain(definitions(text).into_values()).collect()
}

/// Returns the texts between an opening text and a closing character, outside of code.
fn between(text: &str, open: &str, close: char) -> Vec<String> {
    let in_line = |line: &str| -> Vec<String> {
        let parts = line.split(open).skip(1).filter_map(|rest| rest.split_once(close));
        parts.map(|(inside, _)| inside.to_owned()).collect()
    };
    prose(text).flat_map(in_line).collect()
}

/// Returns the targets of the link definitions in a text by their labels.
fn definitions(text: &str) -> BTreeMap<String, String> {
    let definition = |line: &str| {
        let (label, target) = line.strip_prefix('[')?.split_once("]: ")?;
        Some((label.to_owned(), target.to_owned()))
    };
    prose(text).filter_map(definition).collect()
}

/// Returns the anchors of the headings of a text, as mdBook and Git hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        kept.map(|char| if char == ' ' { '-' } else { char }).collect()
    };
    headings.map(anchor).collect()
}

/// Returns the links of a file whose file or heading does not exist.
fn broken(file: &Path) -> Vec<String> {
    let text = read(file);
    let folder = file.parent().unwrap();
    let is_broken = |target: &String| {
        if target.starts_with("https://") {
            return false;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let to = if path.is_empty() { file.to_owned() } else { folder.join(path) };
        !to.exists() || (!anchor.is_empty() && !anchors(&read(&to)).contains(anchor))
    };
    targets(&text).into_iter().filter(is_broken).collect()
}

fn chapters() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("docs/src")).unwrap().map(|file| file.unwrap().path());
    let pages = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    pages.map(|page| page.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_relative_link_of_the_guide_and_of_readme_resolves() {
    for name in chapters() {
        assert_eq!(broken(&root().join("docs/src").join(&name)), [""; 0], "{name}");
    }
    assert_eq!(broken(&root().join("README.md")), [""; 0]);
}

#[test]
fn the_links_of_a_chapter_stay_in_the_book() {
    for name in chapters() {
        let outside = targets(&chapter(&name)).into_iter().find(|target| target.contains(".."));
        assert_eq!(outside, None, "{name}");
    }
}

#[test]
fn every_chapter_is_in_the_contents_and_in_the_documentation_tests() {
    let mut chapters = chapters();
    assert!(chapters.remove("SUMMARY.md"));
    let contents: BTreeSet<_> = targets(&chapter("SUMMARY.md")).into_iter().collect();
    assert_eq!(contents, chapters);
    let tested = read(&root().join("src/guide.rs"));
    let (_, tested) = tested.split_once("chapters! {").unwrap();
    let tested = tested.trim_end_matches(['}', '\n']).split(',').map(str::trim).filter(|name| !name.is_empty());
    assert_eq!(tested.map(|name| format!("{name}.md")).collect::<BTreeSet<_>>(), chapters);
}

/// In the documentation on docs.rs, the definitions in `guide_links.md` lead the links of README and
/// of the chapters to the pages of the chapters.
#[test]
fn each_link_to_a_chapter_has_a_definition_in_its_file_and_in_the_documentation() {
    let documented = definitions(&read(&root().join("src/guide_links.md")));
    let chapters = chapters().into_iter().filter(|name| name != "SUMMARY.md");
    let files = chapters.map(|name| root().join("docs/src").join(name)).chain([root().join("README.md")]);
    let mut used = BTreeSet::new();
    for file in files {
        let text = read(&file);
        let labels: BTreeSet<_> = between(&text, "][", ']').into_iter().collect();
        assert_eq!(labels, definitions(&text).into_keys().collect(), "{}", file.display());
        let direct = between(&text, "](", ')').into_iter().find(|target| target.contains(".md"));
        assert_eq!(direct, None, "{}", file.display());
        used.extend(labels);
    }
    assert_eq!(used, documented.into_keys().collect());
}

#[test]
fn a_link_to_a_missing_file_or_heading_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let text = "# One `two`, three\n[a](#one-two-three) [b](#four) [c](none.md) ![d](page.md)\n```\n[e](none)\n```\n";
    fs::write(&page, text).unwrap();
    assert_eq!(broken(&page), ["#four", "none.md"]);
}
