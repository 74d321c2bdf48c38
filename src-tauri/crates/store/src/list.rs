//! Rows as surfaces ask for them: pages of sessions and interrupts, and whatever changed since a reader looked last.

use holdpoint_core::id::SessionId;
use holdpoint_core::time::Millis;
use holdpoint_view::row::{InterruptRow, SessionRow};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::de::DeserializeOwned;

use crate::Store;
use crate::error::{StoreError, unreadable};
use crate::log::bounded;
use crate::writer::last_counter;

/// `next_cursor` is opaque and `None` at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionSort {
    #[default]
    LastEventDesc,
    FirstEventAsc,
    FirstEventDesc,
    /// Those that never wake come last.
    WakeAtAsc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SessionQuery {
    pub tenant: String,
    pub top_level: Option<bool>,
    pub sort: SessionSort,
    pub limit: usize,
    pub cursor: Option<String>,
    pub session_id: Option<SessionId>,
    pub agent_id: Option<String>,
    /// Only sessions whose last event is older.
    pub before: Option<Millis>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptState {
    #[default]
    Open,
    Closed,
    All,
}

/// In the order they opened, or the other way round.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptQuery {
    pub tenant: String,
    pub state: InterruptState,
    pub session_id: Option<SessionId>,
    pub limit: usize,
    pub cursor: Option<String>,
    pub newest_first: bool,
    /// Only interrupts that opened earlier.
    pub before: Option<Millis>,
}

///
const DEFAULT_LIMIT: usize = 100;

impl SessionQuery {
    pub fn of(tenant: impl Into<String>) -> Self {
        Self {
            tenant: tenant.into(),
            top_level: None,
            sort: SessionSort::default(),
            limit: DEFAULT_LIMIT,
            cursor: None,
            session_id: None,
            agent_id: None,
            before: None,
        }
    }
}

impl InterruptQuery {
    pub fn of(tenant: impl Into<String>) -> Self {
        Self {
            tenant: tenant.into(),
            state: InterruptState::default(),
            session_id: None,
            limit: DEFAULT_LIMIT,
            cursor: None,
            newest_first: false,
            before: None,
        }
    }
}

/// Rows changed after one value of the counter and up to `counter`, from which the next call goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    pub counter: u64,
    pub sessions: Vec<SessionRow>,
    pub interrupts: Vec<InterruptRow>,
}

impl Store {
    pub fn session_row(&self, session: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        let row: Option<String> = self.read(|db| {
            let mut select = db.prepare_cached("SELECT row FROM session WHERE session_id = ?1")?;
            Ok(select.query_row([session.as_str()], |row| row.get(0)).optional()?)
        })?;
        row.map(|row| parse(&row)).transpose()
    }

    /// Pages hold still while others write: no row comes twice, and none is missed but one that moved to a place already
    /// read (which the feed of changes brings).
    pub fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionRow>, StoreError> {
        let list = List::of_sessions(query)?;
        self.read(|db| list.page(db, query.limit))
    }

    pub fn list_interrupts(&self, query: &InterruptQuery) -> Result<Page<InterruptRow>, StoreError> {
        let list = List::of_interrupts(query)?;
        self.read(|db| list.page(db, query.limit))
    }

    pub fn count_open_interrupts(&self, tenant: &str) -> Result<u64, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached(COUNT_OPEN)?;
            Ok(select.query_row([tenant], |row| row.get::<_, i64>(0))? as u64)
        })
    }

    /// About `limit` rows, oldest change first; rows of one commit are never split over two calls. Call again while the
    /// counter grows.
    pub fn changes_since(&self, tenant: &str, counter: u64, limit: usize) -> Result<Changes, StoreError> {
        self.read(|db| {
            let after = bounded(counter);
            let upto = db
                .prepare_cached(NTH_CHANGE)?
                .query_row(params![tenant, after, bounded(limit.max(1) as u64) - 1], |row| row.get::<_, i64>(0))
                .optional()?;
            // Fewer than `limit` rows: the reader has then seen everything up to now, other tenants' commits included.
            let upto = upto.map_or_else(|| last_counter(db).map(|last| bounded(last).max(after)), Ok)?;
            Ok(Changes {
                counter: upto as u64,
                sessions: changed(db, CHANGED_SESSIONS, tenant, after, upto)?,
                interrupts: changed(db, CHANGED_INTERRUPTS, tenant, after, upto)?,
            })
        })
    }
}

const COUNT_OPEN: &str = "SELECT count(*) FROM interrupt INDEXED BY interrupt_open WHERE tenant = ?1 AND open = 1";
/// `INDEXED BY`: left alone, SQLite would rather read all rows of the tenant than the few that changed.
const NTH_CHANGE: &str = "SELECT changed FROM (
       SELECT changed FROM session INDEXED BY session_by_change WHERE tenant = ?1 AND changed > ?2
       UNION ALL SELECT changed FROM interrupt INDEXED BY interrupt_by_change WHERE tenant = ?1 AND changed > ?2)
     ORDER BY changed LIMIT 1 OFFSET ?3";
const CHANGED_SESSIONS: &str = "SELECT row FROM session INDEXED BY session_by_change
     WHERE tenant = ?1 AND changed > ?2 AND changed <= ?3 ORDER BY changed, id";
const CHANGED_INTERRUPTS: &str = "SELECT row FROM interrupt INDEXED BY interrupt_by_change
     WHERE tenant = ?1 AND changed > ?2 AND changed <= ?3 ORDER BY changed, id";

fn changed<T: DeserializeOwned>(db: &Connection, sql: &str, tenant: &str, after: i64, upto: i64) -> Result<Vec<T>, StoreError> {
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query(params![tenant, after, upto])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(parse(&row.get::<_, String>(0)?)?);
    }
    Ok(found)
}

/// One page of a table by a key and, among equal keys, by row number. Clauses are fixed texts; values are bound.
struct List {
    table: &'static str,
    key: &'static str,
    descending: bool,
    letter: char,
    clauses: Vec<&'static str>,
    values: Vec<Box<dyn ToSql>>,
    /// Key and row number of the last item seen.
    after: Option<(i64, i64)>,
}

impl List {
    fn of_sessions(query: &SessionQuery) -> Result<Self, StoreError> {
        let (key, descending, letter) = match query.sort {
            SessionSort::LastEventDesc => ("last_event_at", true, 'l'),
            SessionSort::FirstEventAsc => ("first_event_at", false, 'f'),
            SessionSort::FirstEventDesc => ("first_event_at", true, 'F'),
            SessionSort::WakeAtAsc => ("coalesce(wake_at, 9223372036854775807)", false, 'w'),
        };
        let mut list = Self::new("session", key, descending, letter, query.cursor.as_deref())?;
        list.only("tenant = ?", query.tenant.clone());
        list.maybe("top_level = ?", query.top_level);
        list.maybe("session_id = ?", query.session_id.as_ref().map(ToString::to_string));
        list.maybe("agent_id = ?", query.agent_id.clone());
        list.maybe("last_event_at < ?", query.before.map(|at| at.0));
        Ok(list)
    }

    fn of_interrupts(query: &InterruptQuery) -> Result<Self, StoreError> {
        let letter = if query.newest_first { 'O' } else { 'o' };
        // Left alone, SQLite would rather pass over all that ever closed. One session's few are found by its number.
        let by_state = query.state == InterruptState::Open && query.session_id.is_none();
        let table = if by_state { "interrupt INDEXED BY interrupt_open" } else { "interrupt" };
        let mut list = Self::new(table, "opened_at", query.newest_first, letter, query.cursor.as_deref())?;
        list.only("tenant = ?", query.tenant.clone());
        // Written out, not bound: only then does SQLite see that the partial index covers it.
        match query.state {
            InterruptState::Open => list.clauses.push("open = 1"),
            InterruptState::Closed => list.clauses.push("open = 0"),
            InterruptState::All => {}
        }
        let session = query.session_id.as_ref().map(ToString::to_string);
        list.maybe("session = (SELECT id FROM session WHERE session_id = ?)", session);
        list.maybe("opened_at < ?", query.before.map(|at| at.0));
        Ok(list)
    }

    fn new(table: &'static str, key: &'static str, descending: bool, letter: char, cursor: Option<&str>) -> Result<Self, StoreError> {
        let after = cursor.map(|cursor| read_cursor(letter, cursor).ok_or(StoreError::BadCursor)).transpose()?;
        Ok(Self { table, key, descending, letter, clauses: Vec::new(), values: Vec::new(), after })
    }

    fn only(&mut self, clause: &'static str, value: impl ToSql + 'static) {
        self.clauses.push(clause);
        self.values.push(Box::new(value));
    }

    fn maybe(&mut self, clause: &'static str, value: Option<impl ToSql + 'static>) {
        if let Some(value) = value {
            self.only(clause, value);
        }
    }

    fn sql(&self) -> String {
        let Self { table, key, .. } = self;
        let (order, beyond) = if self.descending { ("DESC", "<") } else { ("ASC", ">") };
        let mut clauses = self.clauses.join(" AND ");
        if self.after.is_some() {
            clauses = format!("{clauses} AND ({key}, id) {beyond} (?, ?)");
        }
        format!("SELECT {key}, id, row FROM {table} WHERE {clauses} ORDER BY {key} {order}, id {order} LIMIT ?")
    }

    fn page<T: DeserializeOwned>(mut self, db: &Connection, limit: usize) -> Result<Page<T>, StoreError> {
        let limit = limit.max(1);
        let sql = self.sql();
        if let Some((at, id)) = self.after {
            self.values.push(Box::new(at));
            self.values.push(Box::new(id));
        }
        // One more than asked for tells whether there is a next page.
        self.values.push(Box::new(bounded(limit as u64).saturating_add(1)));
        let mut select = db.prepare_cached(&sql)?;
        let mut rows = select.query(rusqlite::params_from_iter(&self.values))?;
        let (mut items, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            if items.len() == limit {
                return Ok(Page { items, next_cursor: last.map(|(at, id)| write_cursor(self.letter, at, id)) });
            }
            items.push(parse(row.get_ref(2)?.as_str().unwrap_or_default())?);
            last = Some((row.get(0)?, row.get(1)?));
        }
        Ok(Page { items, next_cursor: None })
    }
}

/// The letter keeps a cursor from being used in another order.
fn write_cursor(letter: char, at: i64, id: i64) -> String {
    format!("{letter}{at}.{id}")
}

fn read_cursor(letter: char, cursor: &str) -> Option<(i64, i64)> {
    let (at, id) = cursor.strip_prefix(letter)?.split_once('.')?;
    Some((at.parse().ok()?, id.parse().ok()?))
}

fn parse<T: DeserializeOwned>(row: &str) -> Result<T, StoreError> {
    serde_json::from_str(row).map_err(|error| unreadable("row", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::open_and_migrate;

    /// How SQLite means to run it: the indexes in use, and whether it sorts.
    fn plan(db: &Connection, sql: &str) -> Result<String, StoreError> {
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let mut rows = explain.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next()? {
            steps.push(row.get::<_, String>(3)?);
        }
        Ok(steps.join("; "))
    }

    #[test]
    fn no_list_reads_or_sorts_more_than_its_page() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let db = open_and_migrate(&folder.path().join("holdpoint.db"))?;
        let sessions = |sort, cursor: Option<&str>| {
            let query = SessionQuery { sort, cursor: cursor.map(str::to_owned), top_level: Some(true), ..SessionQuery::of("local") };
            plan(&db, &List::of_sessions(&query)?.sql())
        };
        let interrupts = |state, newest_first, cursor: Option<&str>| {
            let query = InterruptQuery { state, newest_first, cursor: cursor.map(str::to_owned), ..InterruptQuery::of("local") };
            plan(&db, &List::of_interrupts(&query)?.sql())
        };
        for (index, plan) in [
            ("session_by_last_event", sessions(SessionSort::LastEventDesc, None)?),
            ("session_by_last_event", sessions(SessionSort::LastEventDesc, Some("l1.1"))?),
            ("session_by_first_event", sessions(SessionSort::FirstEventAsc, Some("f1.1"))?),
            ("session_by_first_event", sessions(SessionSort::FirstEventDesc, None)?),
            ("interrupt_open", interrupts(InterruptState::Open, false, None)?),
            ("interrupt_open", interrupts(InterruptState::Open, true, Some("O1.1"))?),
            ("interrupt_by_time", interrupts(InterruptState::All, true, None)?),
            ("interrupt_by_time", interrupts(InterruptState::Closed, false, Some("o1.1"))?),
            ("interrupt_open", plan(&db, COUNT_OPEN)?),
            ("session_by_change", plan(&db, CHANGED_SESSIONS)?),
            ("interrupt_by_change", plan(&db, CHANGED_INTERRUPTS)?),
        ] {
            assert!(plan.contains(&format!("INDEX {index} ")) && !plan.contains("TEMP B-TREE"), "{index}: {plan}");
        }
        let one = SessionQuery { session_id: Some("sesn_1".into()), ..SessionQuery::of("local") };
        let plan = plan(&db, &List::of_sessions(&one)?.sql())?;
        assert!(plan.contains("(session_id=?)"), "one session is looked up, not searched for: {plan}");
        Ok(())
    }
}
