//! The command line. What is not built is not here, so `--help` promises nothing.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// Durable agent sessions that wait for a person.
#[derive(Debug, Parser)]
#[command(name = "holdpoint", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine and serve its HTTP API.
    Serve(Serve),
    /// Give an agent one message, show what happens, exit.
    Run(Run),
    /// Look at sessions, or cancel a run.
    #[command(subcommand)]
    Sessions(Sessions),
    /// List open questions, or answer one.
    #[command(subcommand)]
    Interrupts(Interrupts),
    /// Connections to MCP servers: how they stand, and their credentials.
    #[command(subcommand)]
    Connections(Connections),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Configuration file; without it `holdpoint.toml` in this folder.
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Database file.
    #[arg(long, value_name = "FILE", env = "HOLDPOINT_DB")]
    pub db: Option<PathBuf>,
    /// Address to listen on.
    #[arg(long)]
    pub host: Option<String>,
    /// Port to listen on; 0 takes a free one.
    #[arg(long)]
    pub port: Option<u16>,
    /// Ask for no credential: every caller is operator. Loopback only.
    #[arg(long)]
    pub no_auth: bool,
}

/// Which engine a command talks to.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Target {
    /// Address of an engine (else HOLDPOINT_URL); its credential is HOLDPOINT_API_KEY.
    #[arg(long, conflicts_with = "db")]
    pub url: Option<String>,
    /// Database of a running engine on this machine (else HOLDPOINT_DB).
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Configuration file that names the database or the remote engine.
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// Agent of the configuration.
    pub agent: String,
    /// What to say to it.
    #[arg(required_unless_present = "input")]
    pub message: Option<String>,
    /// A whole input as JSON instead of a message.
    #[arg(long, value_name = "JSON", conflicts_with = "message")]
    pub input: Option<String>,
    /// Go on with this session instead of a new one.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    #[arg(short = 'o', long = "output", value_enum, default_value_t = EventFormat::Pretty)]
    pub output: EventFormat,
    #[command(flatten)]
    pub target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventFormat {
    Jsonl,
    Pretty,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// Newest activity first.
    List {
        #[arg(long, value_name = "ID")]
        session_id: Option<String>,
        #[arg(long, value_name = "ID")]
        agent_id: Option<String>,
        #[arg(long, default_value_t = 50)]
        limit: u32,
        #[arg(long)]
        cursor: Option<String>,
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: Target,
    },
    /// One session as JSON.
    Show {
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// The event log.
    Events {
        id: String,
        /// Begin with this event.
        #[arg(long, value_name = "SEQ", default_value_t = 1)]
        from: u64,
        /// Keep following.
        #[arg(short = 'f', long)]
        follow: bool,
        #[arg(short = 'o', long = "output", value_enum, default_value_t = EventFormat::Jsonl)]
        output: EventFormat,
        #[command(flatten)]
        target: Target,
    },
    /// End the run of a session.
    Cancel {
        id: String,
        #[command(flatten)]
        target: Target,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Interrupts {
    /// Open questions, oldest first.
    List {
        /// Only of this session.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Answer a question.
    Resume(Resume),
}

#[derive(Debug, ClapArgs)]
#[group(id = "how", required = true, multiple = false, args = ["option", "text", "json", "cancel"])]
pub(crate) struct Resume {
    pub session: String,
    pub interrupt: String,
    /// Number (from 1) or exact label of an option.
    #[arg(long, value_name = "OPTION")]
    pub option: Option<String>,
    /// A text, as a string.
    #[arg(long)]
    pub text: Option<String>,
    /// A JSON value.
    #[arg(long, value_name = "JSON")]
    pub json: Option<String>,
    /// Withdraw from the question.
    #[arg(long)]
    pub cancel: bool,
    /// Text for the option's input.
    #[arg(long, requires = "option")]
    pub note: Option<String>,
    #[command(flatten)]
    pub target: Target,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Connections {
    /// Every connection of the configuration.
    List {
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Print a link, and wait until the authorization was given there. The browser must run on the engine's machine.
    Authorize {
        /// `mcp.<id>`
        path: String,
        #[command(flatten)]
        target: Target,
    },
    /// Keep a token, read as one line from standard input.
    SetToken {
        /// `mcp.<id>`
        path: String,
        #[command(flatten)]
        target: Target,
    },
    /// Throw the credential away.
    Forget {
        /// `mcp.<id>`
        path: String,
        #[command(flatten)]
        target: Target,
    },
}
