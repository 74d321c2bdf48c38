//! The commands (CL-1).

mod connections;
mod interrupts;
mod run;
mod serve;
mod sessions;

use crate::Ended;
use crate::args::{Args, Command};

pub(crate) async fn run(args: Args) -> Result<u8, Ended> {
    match args.command {
        Command::Serve(serve) => serve::serve(serve).await,
        Command::Run(run) => run::run(run).await,
        Command::Sessions(sessions) => sessions::sessions(sessions).await,
        Command::Interrupts(interrupts) => interrupts::interrupts(interrupts).await,
        Command::Connections(connections) => connections::connections(connections).await,
    }
}
