//! A screen and a session bus of its own for a window that has neither.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::shell::{Shell, which};

pub struct Screen {
    server: Child,
    bus: Child,
    pub display: String,
    pub bus_address: String,
}

impl Screen {
    /// Starts Xvfb on a free display number, and a session bus.
    pub fn start() -> Outcome<Self> {
        let xvfb = bound_to_parent("Xvfb").words("-displayfd 1 -screen 0 1280x800x24 -nolisten tcp -noreset");
        let mut server = xvfb.spawn(Stdio::piped())?;
        let number = first_line(&mut server).ok_or_else(|| Failure::command(&xvfb, "gave no display number"))?;
        // What the bus starts, such as a notification service, draws on this screen too.
        let daemon = bound_to_parent("dbus-daemon").words("--session --nofork --print-address=1").with("DISPLAY", format!(":{number}"));
        let mut bus = daemon.spawn(Stdio::piped())?;
        let bus_address = first_line(&mut bus).ok_or_else(|| Failure::command(&daemon, "gave no address"))?;
        Ok(Self { server, bus, display: format!(":{number}"), bus_address })
    }

    /// `program`, seen on this screen.
    pub fn shell(&self, program: &Path) -> Shell {
        bound_to_parent(program)
            .with("DISPLAY", &self.display)
            .with("DBUS_SESSION_BUS_ADDRESS", &self.bus_address)
            .with("GDK_BACKEND", "x11")
    }

    /// Writes what the screen shows to `file`, as soon as something is drawn and stands still.
    pub fn screenshot(&self, file: &Path) -> Outcome<()> {
        let import = Shell::new("import").words("-silent -window root").arg(file).with("DISPLAY", &self.display);
        let started = Instant::now();
        let mut previous = None;
        loop {
            import.run()?;
            let drawn = Shell::new("identify").words("-format %k,%#").arg(file).output();
            let colours = drawn.as_deref().and_then(|text| text.split(',').next()?.parse().ok()).unwrap_or(0);
            // An empty screen is one colour, an empty window a handful; text alone has dozens.
            if colours > 40 && drawn == previous {
                return Ok(());
            }
            if started.elapsed() > Duration::from_mins(1) {
                return Err(Failure::Check(format!("the window was not drawn within a minute; the screen as it is: {}", file.display())));
            }
            previous = drawn;
            std::thread::sleep(Duration::from_millis(700));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        stop(&mut self.bus);
        stop(&mut self.server);
    }
}

/// Ends a child that this task started.
pub fn stop(child: &mut Child) {
    let _already_gone = child.kill();
    let _status = child.wait();
}

/// The program, ended by the system when this task ends in a way that runs no destructor.
fn bound_to_parent(program: impl AsRef<Path>) -> Shell {
    if which("setpriv").is_some() {
        Shell::new("setpriv").words("--pdeathsig TERM --").arg(program.as_ref())
    } else {
        Shell::new(program.as_ref())
    }
}

fn first_line(child: &mut Child) -> Option<String> {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut()?).read_line(&mut line).ok()?;
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}
