//! Every operation a surface can ask for, once. Adapters (shell, HTTP, CLI) add nothing but transport.
//!
//! Desktop operations, all on [`crate::App`]; every one returns `Result<_, wire::ApiError>`:
//!
//! ```text
//! bootstrap()                                        -> Bootstrap
//! feed(FeedFrom)                                     -> stream of Frame            (Tauri channel | SSE)
//! submit(Submit)                                     -> Receipt
//! forecast(session_id, ForecastOf)                   -> Forecast
//! schedule_answer(ScheduledAnswer)                   -> ()      status and due_at are set by the app from settings
//! undo_answer(command_id)                            -> bool    false: it was sent already
//! dismiss_answer(command_id)                         -> ()      forgets a refused one
//! node_bodies(session_id, ids: Vec<String>)          -> Vec<NodeBody>              at most 200 ids
//! list_sessions(before: Option<Time>, limit: u32)    -> Vec<SessionRow>            older ones, newest first
//! list_interrupts(state: "open"|"closed"|"all", before: Option<Time>, limit: u32) -> Vec<InterruptRow>
//! events(session_id, after_seq, limit)               -> Vec<EventRow>
//! save_draft(Draft) / delete_draft(key)              -> ()
//! save_settings(Json)                                -> ()
//! snooze(Snoozed) / unsnooze(session_id, interrupt_id) -> ()
//! ```
//!
//! Over HTTP each is `POST /api/desktop/<name>` with its arguments as one JSON object (operator only), the feed is
//! `GET /api/desktop/feed?after=&session_id=&after_seq=` as SSE with one Frame per `data:` line.
