//! How fast a pause and its answer are, beside what the disk and a bare SQLite loop do in the same run. One JSON line a figure.
//!
//! `cargo xtask bench [NUMBER]`: round trips of the serial parts (1000 unless given).

mod bare;
mod engine;
mod figure;

use std::path::Path;

use figure::{Figure, Wrong};

/// As in the programs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many sessions go round at the same time.
const SESSIONS: usize = 64;

fn main() -> Result<(), Wrong> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(1000), |number| number.parse())?;
    // Beside the build, so that the figures are of the disk that the developer works on; /tmp may be memory.
    let parent = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), Into::into);
    let folder = tempfile::Builder::new().prefix("bench").tempdir_in(parent)?;

    let flush = bare::flush(folder.path(), rounds)?;
    flush.print("fdatasync of 4 KiB (F)");

    let serial = bare::serial(folder.path(), rounds)?;
    serial.print("bare SQLite loop, one session");
    let many = bare::many(folder.path(), SESSIONS, rounds)?;
    many.print("bare SQLite loop, 64 sessions, group commit");

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ours = runtime.block_on(engine::serial(folder.path(), rounds))?;
    ours.raise.print("raise → visible to a subscriber");
    ours.answer.print("answer → worker called");
    ours.round.against("engine, one session", &serial);
    let together = runtime.block_on(engine::many(folder.path(), SESSIONS, rounds))?;
    together.against("engine, 64 sessions", &many);

    Figure::targets(&flush, &ours.raise, &ours.answer, &ours.round);
    Ok(())
}
