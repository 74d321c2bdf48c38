//! `cargo xtask bench`: measurements with their baselines in the same run, as JSON lines.

use crate::failure::Outcome;
use crate::shell::Shell;

pub fn bench(arguments: &[String]) -> Outcome<()> {
    // The debug profile would measure the compiler's bookkeeping.
    Shell::cargo().words("run --release --quiet --package holdpoint-tests --bin bench --").args(arguments).run()
}
