//! How many tests passed and failed, read from the summary lines of the test runners in use.

use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
}

impl Count {
    /// What one printed line adds; a line that is no summary adds nothing.
    pub fn in_line(line: &str) -> Self {
        let line = without_colour(line);
        let line = line.trim();
        // cargo test prints one such line per binary, cargo nextest and vitest one per run.
        let summary = line.starts_with("test result:") || line.starts_with("Summary [") || line.starts_with("Tests  ");
        if summary {
            return Self { passed: before(line, "passed"), failed: before(line, "failed") };
        }
        Self::of_playwright(line).or_else(|| Self::of_node(line)).unwrap_or_default()
    }

    /// ` (2 failed)`, for an error line.
    pub fn failures(self) -> String {
        if self.failed == 0 { String::new() } else { format!(", {} failed", self.failed) }
    }

    /// Playwright: `12 passed (3.4s)` and `1 failed` on lines of their own.
    fn of_playwright(line: &str) -> Option<Self> {
        let (number, rest) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match rest.split_once(" (").map_or(rest, |(word, _)| word) {
            "passed" => Some(Self { passed: number, failed: 0 }),
            "failed" => Some(Self { passed: 0, failed: number }),
            _ => None,
        }
    }

    /// node --test: `ℹ pass 3` or `# pass 3`.
    fn of_node(line: &str) -> Option<Self> {
        let line = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# "))?;
        let (word, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "pass" => Some(Self { passed: number, failed: 0 }),
            "fail" => Some(Self { passed: 0, failed: number }),
            _ => None,
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The number that stands directly before `word`.
fn before(line: &str, word: &str) -> usize {
    let words: Vec<&str> = line.split([' ', ',', ';', '.']).filter(|part| !part.is_empty()).collect();
    let at = words.windows(2).find(|pair| pair[1] == word);
    at.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((text, code)) = rest.split_once('\u{1b}') {
        plain.push_str(text);
        rest = code.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runner_in_use_is_understood() {
        let cases = [
            ("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s", 12, 0),
            ("test result: FAILED. 3 passed; 2 failed; 0 ignored", 3, 2),
            ("     Summary [   0.512s] 41 tests run: 40 passed, 1 failed, 0 skipped", 40, 1),
            ("\u{1b}[32;1m     Summary\u{1b}[0m [   0.512s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m2\u{1b}[0m passed, 0 skipped", 2, 0),
            ("      Tests  1 failed | 7 passed (8)", 7, 1),
            ("  5 passed (3.4s)", 5, 0),
            ("  1 failed", 0, 1),
            ("ℹ pass 9", 9, 0),
            ("# fail 1", 0, 1),
            ("running 12 tests", 0, 0),
            (" Test Files  3 passed (3)", 0, 0),
        ];
        for (line, passed, failed) in cases {
            assert_eq!(Count::in_line(line), Count { passed, failed }, "{line}");
        }
    }
}
