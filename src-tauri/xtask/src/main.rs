//! Sets the machine up, then runs, tests or measures Holdpoint.

fn main() {}
