//! `cargo xtask rules`: which rules of the protocol no test cites.
//!
//! A rule is a line `- **I-33** …` in `src-tauri/protocol/*.md`. A citation is its id in the tests: `I-33` in a name or comment, or
//! `i33` as a word of a function's name (`fn i33_a_resume_closes_the_interrupt`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// A rule's id: family and number.
type Id = (String, u32);

pub fn rules(arguments: &[String]) -> Outcome<()> {
    let (list, checked) = options(arguments)?;
    let rules = stated(&crate::root().join("src-tauri/protocol"))?;
    let cited = cited_in_tests(&rules)?;
    let mut uncovered = Vec::new();
    for (family, ids) in by_family(&rules) {
        let open: Vec<String> = ids.iter().filter(|id| !cited.contains(*id)).map(|(family, number)| format!("{family}-{number}")).collect();
        println!("{family:<3} {:>3} of {:>3} rules cited", ids.len() - open.len(), ids.len());
        if list && !open.is_empty() {
            println!("    no test cites {}", open.join(" "));
        }
        if checked.contains(&family) {
            uncovered.extend(open);
        }
    }
    println!("{} of {} rules cited by a test", rules.intersection(&cited).count(), rules.len());
    if uncovered.is_empty() { Ok(()) } else { Err(Failure::Check(format!("no test cites {}", uncovered.join(" ")))) }
}

fn options(arguments: &[String]) -> Outcome<(bool, BTreeSet<String>)> {
    let mut list = false;
    let mut checked = BTreeSet::new();
    let mut in_check = false;
    for argument in arguments {
        match argument.as_str() {
            "--list" => list = true,
            "--check" => in_check = true,
            family if in_check => {
                checked.insert(family.to_uppercase());
            }
            other => return Err(Failure::usage(&format!("rules takes --list and --check FAMILY…, not `{other}`"))),
        }
    }
    if in_check && checked.is_empty() {
        return Err(Failure::usage("--check needs at least one family, as in `--check I C`"));
    }
    Ok((list, checked))
}

fn stated(folder: &Path) -> Outcome<BTreeSet<Id>> {
    let mut rules = BTreeSet::new();
    for file in files(folder, &|name| has_end(name, ".md")) {
        rules.extend(read(&file)?.lines().filter_map(rule_of_line));
    }
    Ok(rules)
}

fn rule_of_line(line: &str) -> Option<Id> {
    let (id, _) = line.strip_prefix("- **")?.split_once("**")?;
    let (family, number) = id.split_once('-')?;
    Some((family.to_owned(), number.parse().ok()?))
}

fn cited_in_tests(rules: &BTreeSet<Id>) -> Outcome<BTreeSet<Id>> {
    let families: BTreeSet<&str> = rules.iter().map(|(family, _)| family.as_str()).collect();
    let root = crate::root();
    let mut cited = BTreeSet::new();
    for folder in ["src-tauri", "tests", "ui/src"] {
        for file in files(&root.join(folder), &is_source) {
            let text = read(&file)?;
            cited.extend(citations(tests_in(&file, &text), &families));
        }
    }
    Ok(cited)
}

fn is_source(name: &str) -> bool {
    [".rs", ".spec.ts", ".test.ts", ".test.tsx"].iter().any(|end| has_end(name, end))
}

fn has_end(name: &str, end: &str) -> bool {
    name.ends_with(end)
}

/// The part of a file that is test code: all of it in test folders and files, what follows `#[cfg(test)]` in product code.
fn tests_in<'t>(file: &Path, text: &'t str) -> &'t str {
    let product = file.extension().is_some_and(|end| end == "rs")
        && file.components().any(|part| part.as_os_str() == "src")
        && file.file_stem().is_none_or(|stem| stem != "tests")
        && !file.components().any(|part| part.as_os_str() == "tests");
    if product { text.find("#[cfg(test)]").map_or("", |at| &text[at..]) } else { text }
}

fn citations(text: &str, families: &BTreeSet<&str>) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').flat_map(|word| word.split("--")) {
        let upper = word.to_uppercase();
        // `I-33` anywhere, `i33` and `I33` as a word of a name.
        let (family, number) = upper.split_once('-').unwrap_or_else(|| upper.split_at(letters(&upper)));
        if let (true, Ok(number)) = (families.contains(family), number.parse()) {
            found.insert((family.to_owned(), number));
        }
    }
    found
}

fn letters(word: &str) -> usize {
    word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len())
}

fn by_family(rules: &BTreeSet<Id>) -> BTreeMap<String, Vec<Id>> {
    let mut families: BTreeMap<String, Vec<Id>> = BTreeMap::new();
    for id in rules {
        families.entry(id.0.clone()).or_default().push(id.clone());
    }
    families
}

fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() && name != "node_modules" && name != "target" && !name.starts_with('.') {
            found.extend(files(&path, wanted));
        } else if wanted(&name) {
            found.push(path);
        }
    }
    found
}

fn read(file: &Path) -> Outcome<String> {
    std::fs::read_to_string(file).map_err(Failure::io(format!("reading {}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_list_item_that_opens_with_its_bold_id() {
        assert_eq!(rule_of_line("- **I-101** The 202 of a resume"), Some(("I".to_owned(), 101)));
        assert_eq!(rule_of_line("See **I-101**"), None);
        assert_eq!(rule_of_line("- **bold** text"), None);
    }

    #[test]
    fn a_citation_is_an_id_in_text_or_a_word_of_a_name() {
        let families = BTreeSet::from(["I", "TH"]);
        let text = "// I-88…I-94, (TH-3)\nfn i33_and_th12_hold() { let id33 = i; x86(); } \"I-5: text\"";
        let expected: BTreeSet<Id> =
            [("I", 5), ("I", 33), ("I", 88), ("I", 94), ("TH", 3), ("TH", 12)].map(|(f, n)| (f.to_owned(), n)).into();
        assert_eq!(citations(text, &families), expected);
    }

    #[test]
    fn only_the_test_part_of_product_code_counts() {
        let text = "/// I-1\nfn product() {}\n#[cfg(test)]\nmod tests { // I-2\n}";
        assert!(tests_in(Path::new("src-tauri/crates/core/src/turn.rs"), text).starts_with("#[cfg(test)]"));
        assert_eq!(tests_in(Path::new("src-tauri/crates/core/src/turn/tests.rs"), text), text);
        assert_eq!(tests_in(Path::new("tests/acceptance/turn.rs"), text), text);
        assert_eq!(tests_in(Path::new("src-tauri/crates/core/src/turn.rs"), "/// I-1"), "");
    }
}
