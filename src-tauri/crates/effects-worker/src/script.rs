//! A worker that is a JavaScript file, run in a sandbox with limits (P-27…P-30).
//!
//! Each decision has a thread and an interpreter of its own: nothing of one can reach the next, and a script stuck in a
//! long built-in, which no interrupt handler sees, costs a thread and not the engine. Two clocks watch it: the
//! interpreter's interrupt handler stops it from within, and the waiting side gives up a little later.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_core::message::ErrorCode;
use holdpoint_runtime::runner::Failure;
use rquickjs::context::EvalOptions;
use rquickjs::function::Rest;
use rquickjs::promise::PromiseState;
use rquickjs::{Coerced, Context, Ctx, Exception, Function, Module, Object, Promise, Runtime, Value as JsValue};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tracing::Dispatch;

use crate::permanent;

/// How long after the script's own limit the waiting side gives up.
const GRACE: Duration = Duration::from_millis(250);
/// The interpreter's bound on recursion, well inside the thread's stack.
const JS_STACK: usize = 1 << 20;
const THREAD_STACK: usize = 8 << 20;
/// Threads of one worker that may hang in a built-in before it is asked nothing more.
const MAX_STUCK: usize = 4;
/// What `console` may write in one decision.
const MAX_LINES: u32 = 200;
const MAX_LINE: usize = 2000;

/// How many scripts run at once: they use the processor and nothing else.
pub fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(thread::available_parallelism().map_or(2, usize::from)))
}

pub struct Sandbox {
    id: String,
    path: PathBuf,
    cpu: Duration,
    memory_mb: u64,
    places: Arc<Semaphore>,
    stuck: Arc<AtomicUsize>,
}

impl Sandbox {
    pub fn new(id: &str, path: PathBuf, cpu_ms: u64, memory_mb: u64, places: Arc<Semaphore>) -> Self {
        Self { id: id.to_owned(), path, cpu: Duration::from_millis(cpu_ms), memory_mb, places, stuck: Arc::default() }
    }

    pub async fn decide(&self, request: &Value) -> Result<Value, Failure> {
        let source = tokio::fs::read_to_string(&self.path).await.map_err(|error| self.unreadable(&error))?;
        let place = Arc::clone(&self.places).acquire_owned().await;
        let run = self.run(source, Some(request.to_string()));
        // When this future is dropped the script is told to stop.
        let _stop = StopOnDrop(Arc::clone(&run.stop));
        let supervised = tokio::task::spawn_blocking(move || {
            let _place = place;
            run.supervise()
        });
        supervised.await.map_err(|error| permanent(ErrorCode::Internal, format!("The sandbox failed: {error}")))?
    }

    pub fn check(&self) -> Result<(), Failure> {
        let source = std::fs::read_to_string(&self.path).map_err(|error| self.unreadable(&error))?;
        self.run(source, None).supervise().map(drop)
    }

    fn run(&self, source: String, request: Option<String>) -> Run {
        Run {
            worker: self.id.clone(),
            file: self.path.file_name().map_or_else(|| self.id.clone(), |name| name.to_string_lossy().into_owned()),
            source,
            request,
            cpu: self.cpu,
            memory_mb: self.memory_mb,
            stop: Arc::default(),
            stuck: Arc::clone(&self.stuck),
            log: tracing::dispatcher::get_default(Clone::clone),
        }
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        let message = format!("The script {} of the worker {} cannot be read: {error}", self.path.display(), self.id);
        permanent(ErrorCode::WorkerUnreachable, message)
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One decision, or the evaluation of a script when there is no request.
#[derive(Clone)]
struct Run {
    worker: String,
    /// The name a stack shows.
    file: String,
    source: String,
    request: Option<String>,
    cpu: Duration,
    memory_mb: u64,
    stop: Arc<AtomicBool>,
    stuck: Arc<AtomicUsize>,
    log: Dispatch,
}

/// Why a script gave no answer.
#[derive(Debug)]
enum Fault {
    Time,
    Memory,
    Thrown { message: String, stack: Option<String> },
    Shape(String),
}

impl Run {
    /// Runs the script on a thread of its own and waits for it, but not for ever.
    fn supervise(self) -> Result<Value, Failure> {
        if self.stuck.load(Ordering::Relaxed) >= MAX_STUCK {
            let message = format!("{}: earlier decisions still hang in it; mend the script and restart", self.file);
            return Err(permanent(ErrorCode::DeadlineExceeded, message));
        }
        let run = self.clone();
        let (tell, told) = mpsc::sync_channel(1);
        // Set by whichever side is through first, so that the other knows.
        let over = Arc::new(AtomicBool::new(false));
        let thread_over = Arc::clone(&over);
        let work = move || {
            let log = run.log.clone();
            let outcome = tracing::dispatcher::with_default(&log, || run.execute());
            if thread_over.swap(true, Ordering::AcqRel) {
                run.stuck.fetch_sub(1, Ordering::Relaxed); // given up earlier, and now out of the way
            }
            let _ = tell.send(outcome); // nobody listens any more when it was given up
        };
        let started = thread::Builder::new().name(format!("worker {}", self.worker)).stack_size(THREAD_STACK).spawn(work);
        if let Err(error) = started {
            return Err(permanent(ErrorCode::Internal, format!("No thread for the worker {}: {error}", self.worker)));
        }
        let outcome = told.recv_timeout(self.cpu + GRACE);
        if matches!(outcome, Err(mpsc::RecvTimeoutError::Timeout)) {
            self.stuck.fetch_add(1, Ordering::Relaxed);
            if over.swap(true, Ordering::AcqRel) {
                self.stuck.fetch_sub(1, Ordering::Relaxed);
            }
        }
        match outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) => Err(self.failure(fault)),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(self.failure(Fault::Time)),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(permanent(ErrorCode::Internal, format!("The sandbox of the worker {} broke down", self.worker)))
            }
        }
    }

    /// P-29; none is retryable.
    fn failure(&self, fault: Fault) -> Failure {
        let file = &self.file;
        match fault {
            Fault::Time => {
                let message = format!("{file} ran longer than cpu_ms = {}", self.cpu.as_millis());
                permanent(ErrorCode::DeadlineExceeded, message)
            }
            Fault::Memory => permanent(ErrorCode::HandlerError, format!("{file} used more than memory_mb = {}", self.memory_mb)),
            Fault::Shape(what) => permanent(ErrorCode::InvalidResponse, format!("{file} {what}")),
            Fault::Thrown { message, stack } => {
                let mut failure = permanent(ErrorCode::HandlerError, format!("{file} threw {message}"));
                failure.error.detail = stack.map(|stack| json!({ "stack": stack }));
                failure
            }
        }
    }

    fn execute(&self) -> Result<Value, Fault> {
        let deadline = Instant::now() + self.cpu;
        let runtime = Runtime::new().map_err(|_| Fault::Memory)?;
        runtime.set_memory_limit((self.memory_mb as usize) << 20);
        runtime.set_max_stack_size(JS_STACK);
        let stop = Arc::clone(&self.stop);
        runtime.set_interrupt_handler(Some(Box::new(move || is_over(deadline, &stop))));
        let context = Context::full(&runtime).map_err(|_| Fault::Memory)?;
        context.with(|ctx| {
            let script = Script { ctx: &ctx, run: self, deadline };
            script.answer().map_err(|fault| if is_over(deadline, &self.stop) { Fault::Time } else { fault })
        })
    }
}

fn is_over(deadline: Instant, stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed) || Instant::now() >= deadline
}

/// A script inside its interpreter.
struct Script<'a, 'js> {
    ctx: &'a Ctx<'js>,
    run: &'a Run,
    deadline: Instant,
}

impl<'js> Script<'_, 'js> {
    fn answer(&self) -> Result<Value, Fault> {
        self.provide_console().map_err(|error| self.thrown(&error))?;
        let decide = self.load()?;
        let Some(request) = &self.run.request else {
            return Ok(Value::Null);
        };
        let request = self.ctx.json_parse(request.as_str()).map_err(|error| self.thrown(&error))?;
        let returned: JsValue = decide.call((request,)).map_err(|error| self.thrown(&error))?;
        let settled = match returned.as_promise() {
            Some(promise) => self.settle(promise, "returned a promise that only an outside event could settle")?,
            None => returned,
        };
        self.read(settled)
    }

    /// Evaluates the file and finds `decide` (P-27). A file that parses as a plain script has no exports, so its
    /// function is global; any other is a module.
    fn load(&self) -> Result<Function<'js>, Fault> {
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(self.run.file.clone());
        match self.ctx.eval_with_options::<JsValue, _>(self.run.source.as_str(), options) {
            Ok(_) => self.global_decide(),
            Err(error) => match self.thrown(&error) {
                Fault::Thrown { message, .. } if message.starts_with("SyntaxError") && !is_over(self.deadline, &self.run.stop) => {
                    self.load_module()
                }
                fault => Err(fault),
            },
        }
    }

    fn load_module(&self) -> Result<Function<'js>, Fault> {
        let declared = Module::declare(self.ctx.clone(), self.run.file.as_str(), self.run.source.as_str());
        let evaluated = declared.and_then(Module::eval).map_err(|error| self.thrown(&error));
        let (module, done) = evaluated?;
        self.settle(&done, "awaits something that never comes")?;
        let exports = module.namespace().map_err(|error| self.thrown(&error))?;
        let named = |name| exports.get::<_, JsValue>(name).ok().and_then(JsValue::into_function);
        match named("decide").or_else(|| named("default")) {
            Some(decide) => Ok(decide),
            None => self.global_decide(),
        }
    }

    fn global_decide(&self) -> Result<Function<'js>, Fault> {
        // Asked in the language, so that `const decide = …` is found as well, which is no property of the global object.
        let found = self.ctx.eval::<JsValue, _>("typeof decide === 'function' ? decide : undefined");
        let function = found.ok().and_then(JsValue::into_function);
        function.ok_or_else(|| Fault::Shape("provides no function decide".to_owned()))
    }

    /// Runs what is due until the promise settles. There are no outside events, so when nothing is due it never will.
    fn settle(&self, promise: &Promise<'js>, never: &str) -> Result<JsValue<'js>, Fault> {
        while promise.state() == PromiseState::Pending {
            if is_over(self.deadline, &self.run.stop) {
                return Err(Fault::Time);
            }
            if !self.ctx.execute_pending_job() {
                return Err(Fault::Shape(never.to_owned()));
            }
        }
        let never = || Fault::Shape(never.to_owned());
        promise.result::<JsValue>().ok_or_else(never)?.map_err(|error| self.thrown(&error))
    }

    /// The answer as JSON, written as `JSON.stringify` writes it.
    fn read(&self, answer: JsValue<'js>) -> Result<Value, Fault> {
        let shape = |what: &str| Fault::Shape(format!("answered with {what}"));
        let text = match self.ctx.json_stringify(answer) {
            Ok(Some(text)) => text.to_string().map_err(|_| shape("a text that is no Unicode"))?,
            Ok(None) => return Err(shape("nothing that JSON can hold")),
            Err(error) => {
                return Err(match self.thrown(&error) {
                    Fault::Thrown { message, .. } => shape(&format!("something JSON cannot hold: {message}")),
                    fault => fault,
                });
            }
        };
        match serde_json::from_str(&text) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(_) => Err(shape("a value that is no object")),
            Err(error) => Err(shape(&format!("JSON that cannot be kept: {error}"))),
        }
    }

    fn thrown(&self, error: &rquickjs::Error) -> Fault {
        if !error.is_exception() {
            return match error {
                rquickjs::Error::Allocation => Fault::Memory,
                other => Fault::Thrown { message: other.to_string(), stack: None },
            };
        }
        let value = self.ctx.catch();
        if value.is_null() {
            return Fault::Memory; // there was no room left for an error
        }
        let Some(exception) = value.as_object().cloned().and_then(Exception::from_object) else {
            let message = value.get::<Coerced<String>>().map_or_else(|_| "something".to_owned(), |text| text.0);
            return Fault::Thrown { message, stack: None };
        };
        let name = exception.as_object().get::<_, Coerced<String>>("name").map_or_else(|_| "Error".to_owned(), |name| name.0);
        let message = exception.message().unwrap_or_default();
        if message == "out of memory" {
            return Fault::Memory;
        }
        let stack = exception.stack().map(|stack| format!("{name}: {message}\n{}", stack.trim_end()));
        Fault::Thrown { message: format!("{name}: {message}"), stack }
    }

    /// `console.*` writes to the engine's log (P-28).
    fn provide_console(&self) -> rquickjs::Result<()> {
        let console = Object::new(self.ctx.clone())?;
        let lines = std::rc::Rc::new(Cell::new(0));
        for method in ["debug", "log", "info", "warn", "error", "trace"] {
            let (lines, worker) = (lines.clone(), self.run.worker.clone());
            let write = move |ctx: Ctx<'js>, args: Rest<JsValue<'js>>| {
                lines.set(lines.get() + 1);
                if lines.get() <= MAX_LINES {
                    write_line(&worker, method, &line(&ctx, &args.0));
                }
            };
            console.set(method, Function::new(self.ctx.clone(), write)?)?;
        }
        self.ctx.globals().set("console", console)
    }
}

fn line<'js>(ctx: &Ctx<'js>, args: &[JsValue<'js>]) -> String {
    let word = |arg: &JsValue<'js>| {
        let json = if arg.is_object() { ctx.json_stringify(arg.clone()).ok().flatten() } else { None };
        json.and_then(|json| json.to_string().ok())
            .or_else(|| arg.get::<Coerced<String>>().ok().map(|text| text.0))
            .unwrap_or_else(|| "?".to_owned())
    };
    let line = args.iter().map(word).collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_LINE).collect()
}

fn write_line(worker: &str, method: &str, line: &str) {
    match method {
        "error" => tracing::error!(worker, "{line}"),
        "warn" => tracing::warn!(worker, "{line}"),
        "debug" | "trace" => tracing::debug!(worker, "{line}"),
        _ => tracing::info!(worker, "{line}"),
    }
}
