//! What HTTP callers ask (§14), with bodies as JSON in and out. Ranks are checked by the adapter per path (H-1); ownership of a
//! session is checked here, because every read needs it (H-5).

use holdpoint_core::command::{Command, Creation, Input, Receipt};
use holdpoint_core::event::{Identity, Rank, Subject, Visibility};
use holdpoint_core::id::SessionId;
use holdpoint_core::rejection::Code;
use holdpoint_core::state::{Interrupt, Session};
use holdpoint_core::time::Millis;
use holdpoint_runtime::engine::{Call, SubmitError};
use holdpoint_store::{ApiKey, InterruptQuery, InterruptState, SessionQuery, SessionSort};
use holdpoint_view::row::{InterruptRow, SessionRow};
use serde_json::{Map, Value, json};

use crate::caller::{Caller, LOCAL_TENANT, app_subject};
use crate::error::Failure;
use crate::input::{Addressing, Fields, Parsed, ParsedInput, parse, session_id, settle};
use crate::token::{self, Claims};
use crate::{Answered, App, blobs, keys, new_session_id, now};

/// Limits of a page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1000;

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Rejected(rejection) => Self::Rejected(rejection),
            SubmitError::Storage(error) => Self::Storage(error),
        }
    }
}

/// Query parameters as given.
pub type Query = std::collections::BTreeMap<String, String>;

impl App {
    /// B-7, H-1: who holds this credential.
    pub fn authenticate(&self, bearer: Option<&str>) -> Answered<Caller> {
        let refuse = |why: &str| Err(Failure::refuse(Code::Unauthenticated, why));
        let Some(bearer) = bearer else { return refuse("send a credential: `Authorization: Bearer …`") };
        if bearer.starts_with("op_") {
            return if keys::same_secret(bearer, &self.inner.operator_token) {
                Ok(Caller::operator())
            } else {
                refuse("this operator token is not valid; it changes each time the engine starts")
            };
        }
        if self.inner.options.api_key.as_deref().is_some_and(|own| keys::same_secret(own, bearer)) {
            return Ok(Caller::machine(LOCAL_TENANT.to_owned(), "env".to_owned()));
        }
        if bearer.starts_with("sk_live_") {
            let record = self.inner.store.api_key(&keys::hash(bearer))?;
            return match record.filter(|key| keys::is_valid(key.revoked_at, key.expires_at, now())) {
                Some(key) => Ok(Caller::machine(key.tenant, key.id)),
                None => refuse("this API key is unknown, revoked or expired"),
            };
        }
        match token::verify(&self.inner.token_secret, bearer, now()) {
            Some(claims) => Ok(Caller::frontend(claims.tenant.unwrap_or_else(|| LOCAL_TENANT.to_owned()), &claims.sub)),
            None => refuse("this client token is not valid or its time is over"),
        }
    }

    /// `POST /api/client/sessions/input`.
    pub async fn client_input(&self, caller: &Caller, body: Value) -> Answered<Value> {
        let mut fields = Fields::of(body, "")?;
        let session: Option<String> = fields.get("session_id")?;
        let input = fields.raw("input").ok_or_else(|| Failure::WrongShape("input is missing".to_owned()))?;
        fields.end()?;
        let parsed = parse(input, Addressing::Inside, caller.rank >= Rank::Machine)?;
        let identity = caller.identity();
        self.accept(caller, session, parsed, identity, false).await
    }

    /// `POST /api/machine/sessions/submit` (N-17). Without a window nobody can be asked to authorize a connection (M-22).
    pub async fn machine_submit(&self, caller: &Caller, body: Value) -> Answered<Value> {
        let mut fields = Fields::of(body, "")?;
        let agent_id = fields.need("agent_id")?;
        let identity = identity(fields.need_fields("identity")?)?;
        let session: Option<String> = fields.get("session_id")?;
        let (turn_id, queue) = (fields.given_id("turn_id")?, fields.get("queue")?);
        let payload = fields.raw("payload").ok_or_else(|| Failure::WrongShape("payload is missing".to_owned()))?;
        fields.end()?;
        let parsed = parse(payload, Addressing::Beside { agent_id, turn_id, queue }, true)?;
        self.accept(caller, session, parsed, identity, self.inner.options.headless).await
    }

    async fn accept(
        &self,
        caller: &Caller,
        session: Option<String>,
        parsed: Parsed,
        identity: Identity,
        unattended: bool,
    ) -> Answered<Value> {
        let session_id = match (session, &parsed.agent_id) {
            (Some(id), _) => session_id(id)?,
            (None, Some(_)) => new_session_id(),
            (None, None) => return Err(Failure::WrongShape("session_id is missing".to_owned())),
        };
        let resume = matches!(&parsed.input, ParsedInput::Input(Input::Resume { .. } | Input::Answer { .. }));
        let command = match parsed.input {
            ParsedInput::Input(mut input) => {
                if let Input::Append { messages, .. } | Input::View { messages, .. } = &mut input {
                    blobs::store_messages(&self.inner.store, &session_id, messages).await?;
                }
                let create = parsed.agent_id.map(|agent_id| Creation { agent_id, identity, ancestry: Vec::new(), unattended });
                Command::Input { caller: caller.for_rules(), input, create }
            }
            ParsedInput::Settle(settle) => Command::Settle { caller: caller.for_rules(), settle },
        };
        let receipt = self.submit_as(caller, &session_id, command, None).await?;
        Ok(accepted(&session_id, &receipt, resume))
    }

    pub(crate) async fn submit_as(
        &self,
        caller: &Caller,
        session: &SessionId,
        command: Command,
        command_id: Option<String>,
    ) -> Answered<Receipt> {
        if self.inner.closing.is_cancelled() {
            return Err(Failure::Unavailable("the engine is stopping; try again when it runs".to_owned()));
        }
        let call = Call { tenant: caller.tenant.clone(), session_id: session.clone(), command, command_id };
        Ok(self.inner.engine.submit(call).await?)
    }

    /// N-12, H-5: 404 for a session nobody has, 403 for one of another tenant or owner.
    pub(crate) async fn readable(&self, caller: &Caller, id: &str) -> Answered<SessionId> {
        let session = SessionId::from(id);
        let meta = self.inner.store.session_meta(&session)?.ok_or_else(|| Failure::no_session(id))?;
        let denied = || Failure::refuse(Code::AccessDenied, "this session belongs to somebody else");
        if meta.tenant != caller.tenant {
            return Err(denied());
        }
        if let Some(subject) = &caller.subject {
            let owner = self.inner.engine.read(&session, |state| state.identity.subject.clone()).await?.flatten();
            if owner.as_ref() != Some(subject) {
                return Err(denied());
            }
        }
        Ok(session)
    }

    /// H-8.
    pub async fn session(&self, caller: &Caller, id: &str) -> Answered<Value> {
        let session = self.readable(caller, id).await?;
        let usage = self.usage_below(&session).await?;
        let shown = self.inner.engine.read(&session, |state| session_shape(state, usage)).await?;
        shown.ok_or_else(|| Failure::no_session(id))
    }

    /// I-11.
    pub async fn raise(&self, caller: &Caller, id: &str, body: Value) -> Answered<Value> {
        let mut fields = Fields::of(body, "")?;
        let reason: String = fields.need("reason")?;
        let interrupt_id = fields.given_id("interrupt_id")?;
        let payload = fields.raw("payload");
        fields.end()?;
        if reason.is_empty() {
            return Err(Failure::invalid("reason must not be empty"));
        }
        let session = self.readable(caller, id).await?;
        let command = Command::Raise { caller: caller.for_rules(), interrupt_id, reason, payload };
        let receipt = self.submit_as(caller, &session, command, None).await?;
        Ok(json!({"ok": true, "interrupt_id": receipt.interrupt_id}))
    }

    /// C-2, C-3, C-27.
    pub async fn cancel(&self, caller: &Caller, id: &str) -> Answered<Value> {
        let session = self.readable(caller, id).await?;
        let receipt = self.submit_as(caller, &session, Command::Cancel { caller: caller.for_rules() }, None).await?;
        let mut answer = json!({"ok": true, "cancelled": receipt.cancelled.unwrap_or(false)});
        if let Some(turn) = receipt.turn_id {
            answer["turn_id"] = json!(turn);
        }
        Ok(answer)
    }

    /// `POST …/calls/settle`.
    pub async fn settle(&self, caller: &Caller, id: &str, body: Value) -> Answered<Value> {
        let settle = settle(body)?;
        let session = self.readable(caller, id).await?;
        self.submit_as(caller, &session, Command::Settle { caller: caller.for_rules(), settle }, None).await?;
        Ok(json!({"ok": true}))
    }

    /// `POST /api/machine/workers/submit`: a late answer is no error (P-6), a malformed one is 400 (P-7).
    pub async fn worker_submit(&self, caller: &Caller, body: Value) -> Answered<Value> {
        let Value::Object(mut response) = body else {
            return Err(Failure::WrongShape("the body must be an object".to_owned()));
        };
        let mut take = |key: &str| match response.shift_remove(key) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(Failure::WrongShape(format!("{key} must be a string"))),
            None => Err(Failure::WrongShape(format!("{key} is missing"))),
        };
        let (id, decision) = (take("session_id")?, take("decision_id")?);
        let session = self.readable(caller, &id).await?;
        let mut response = Value::Object(response);
        blobs::store_response(&self.inner.store, &session, &mut response).await?;
        let command = Command::Answered { decision: decision.into(), attempt: None, response };
        self.submit_as(caller, &session, command, None).await?;
        Ok(json!({"ok": true}))
    }

    /// `POST /api/machine/client-tokens` (H-2, Q-35).
    pub fn mint_client_token(&self, caller: &Caller, body: Value) -> Answered<Value> {
        let mut fields = Fields::of(body, "")?;
        let owner = identity(fields.need_fields("identity")?)?;
        let ttl: i64 = fields.get("ttl_seconds")?.unwrap_or(600);
        fields.end()?;
        if !(1..=i64::from(u32::MAX)).contains(&ttl) {
            return Err(Failure::invalid(format!("ttl_seconds must be from 1 to {}", u32::MAX)));
        }
        let iat = now().0 / 1000;
        let exp = iat + ttl;
        let sub = owner.subject.map(|subject| subject.id).unwrap_or_default();
        let claims = Claims { sub, tenant: Some(caller.tenant.clone()), metadata: owner.metadata, iat, exp, nbf: None };
        let token = token::mint(&self.inner.token_secret, &claims)
            .map_err(|error| Failure::Unavailable(format!("the token could not be signed: {error}")))?;
        Ok(json!({"token": token, "expires_at": Millis(exp * 1000)}))
    }

    /// `GET /api/admin/sessions` (Q-33, S-16).
    pub fn admin_sessions(&self, caller: &Caller, query: &Query) -> Answered<Value> {
        known(query, &["top_level", "sort", "limit", "cursor", "session_id", "agent_id"])?;
        let sort = match query.get("sort").map(String::as_str) {
            None | Some("last_event_desc") => SessionSort::LastEventDesc,
            Some("first_event_asc") => SessionSort::FirstEventAsc,
            Some("first_event_desc") => SessionSort::FirstEventDesc,
            Some("wake_at_asc") => SessionSort::WakeAtAsc,
            Some(other) => return Err(Failure::invalid(format!("there is no sort {other:?}"))),
        };
        let top_level = match query.get("top_level").map(String::as_str) {
            None | Some("true") => Some(true),
            Some("false") => None,
            Some(_) => return Err(Failure::invalid("top_level is true or false")),
        };
        let wanted = SessionQuery {
            top_level,
            sort,
            limit: limit(query)?,
            cursor: query.get("cursor").cloned(),
            session_id: query.get("session_id").map(|id| id.as_str().into()),
            agent_id: query.get("agent_id").cloned(),
            ..SessionQuery::of(&caller.tenant)
        };
        let page = self.inner.store.list_sessions(&wanted)?;
        let items: Vec<Value> = page.items.iter().map(session_item).collect();
        Ok(json!({"items": items, "next_cursor": page.next_cursor}))
    }

    /// Stored events in E-4's admin form. The cursor is the last seq.
    pub async fn admin_events(&self, caller: &Caller, id: &str, query: &Query) -> Answered<Value> {
        known(query, &["limit", "cursor", "after_seq"])?;
        let session = self.readable(caller, id).await?;
        let after = match query.get("cursor").or_else(|| query.get("after_seq")) {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| Failure::invalid("the cursor is none of this list"))?,
        };
        let limit = limit(query)?;
        // One more than asked for tells whether there is a next page.
        let mut items = self.events_of(&caller.tenant, &session, after, limit + 1, true).await?;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|event| event["seq"].to_string());
        Ok(json!({"items": items, "next_cursor": next}))
    }

    /// H-9.
    pub fn admin_interrupts(&self, caller: &Caller, query: &Query) -> Answered<Value> {
        known(query, &["state", "session_id", "limit", "cursor"])?;
        let wanted = InterruptQuery {
            state: interrupt_state(query.get("state").map_or("open", String::as_str))?,
            session_id: query.get("session_id").map(|id| id.as_str().into()),
            limit: limit(query)?,
            cursor: query.get("cursor").cloned(),
            ..InterruptQuery::of(&caller.tenant)
        };
        let page = self.inner.store.list_interrupts(&wanted)?;
        let at = now();
        let items: Vec<Value> = page.items.iter().map(|row| interrupt_item(row, at)).collect();
        Ok(json!({"items": items, "next_cursor": page.next_cursor}))
    }

    ///
    pub fn api_keys(&self) -> Answered<Value> {
        let items: Vec<Value> = self.inner.store.api_keys()?.iter().map(key_item).collect();
        Ok(json!({"items": items, "next_cursor": null}))
    }

    /// H-3: the key is shown here and never again.
    pub async fn create_api_key(&self, body: Value) -> Answered<Value> {
        let mut fields = Fields::of(body, "")?;
        let name: String = fields.need("name")?;
        let tenant: Option<String> = fields.get("tenant")?;
        let expires_at: Option<String> = fields.get("expires_at")?;
        fields.end()?;
        let tenant = tenant.unwrap_or_else(|| LOCAL_TENANT.to_owned());
        if name.is_empty() || tenant.is_empty() {
            return Err(Failure::invalid("name and tenant must not be empty"));
        }
        let expires_at = expires_at.map(|text| Millis::parse(&text).ok_or_else(|| Failure::invalid("expires_at is no RFC 3339 time")));
        let made = self.add_key(name, tenant, expires_at.transpose()?).await?;
        Ok(json!({"id": made.id, "key": made.key}))
    }

    pub async fn revoke_api_key(&self, id: &str) -> Answered<()> {
        if self.inner.store.revoke_api_key(id, now()).await? {
            return Ok(());
        }
        Err(Failure::NotFound(format!("there is no API key {id}")))
    }

    pub(crate) async fn events_of(&self, tenant: &str, session: &SessionId, after: u64, limit: usize, admin: bool) -> Answered<Vec<Value>> {
        let mut events = self.inner.engine.events(session, after, limit).await?;
        if admin {
            for event in &mut events {
                to_admin_form(tenant, session, event);
            }
        }
        Ok(events)
    }
}

/// E-4: the admin form has `id` and `tenant_id` too.
fn to_admin_form(tenant: &str, session: &SessionId, event: &mut Value) {
    let seq = event["seq"].as_u64().unwrap_or_default();
    let at = event["occurred_at"].as_str().and_then(Millis::parse).unwrap_or_default();
    if let Value::Object(map) = event {
        map.insert("id".to_owned(), holdpoint_core::id::event_id(session, seq, at).into());
        map.insert("tenant_id".to_owned(), tenant.into());
    }
}

/// H-2: `{id, metadata?}`.
fn identity(mut fields: Fields) -> Answered<Identity> {
    let id: String = fields.need("id")?;
    let metadata: Option<Map<String, Value>> = fields.get("metadata")?;
    fields.end()?;
    if id.is_empty() {
        return Err(Failure::invalid("identity.id must not be empty"));
    }
    if metadata.iter().flatten().any(|(_, value)| !value.is_string()) {
        return Err(Failure::invalid("identity.metadata holds strings only"));
    }
    let subject: Subject = app_subject(&id);
    Ok(Identity { subject: Some(subject), visibility: Visibility::Private, metadata })
}

/// N-6, and I-101 for a resume.
fn accepted(session: &SessionId, receipt: &Receipt, resume: bool) -> Value {
    let mut body = json!({"session_id": session, "turn_id": receipt.turn_id, "queued": receipt.queued});
    if resume {
        body["resumed"] = json!(receipt.resumed.unwrap_or(false));
    }
    if let Some(closed) = &receipt.closed {
        body["closed"] = json!({"at": closed.at, "outcome": closed.outcome});
        if let Some(responder) = &closed.responder {
            body["closed"]["responder"] = responder.clone();
        }
    }
    body
}

fn session_shape(state: &Session, usage: Value) -> Value {
    let node = |ix: u32| {
        let node = state.tree.node(ix);
        let mut entry = json!({"message": node.message.as_ref()});
        if let Some(parent) = node.parent {
            entry["parent_id"] = json!(state.tree.node(parent).id);
        }
        entry
    };
    let nodes: Vec<Value> = (0..state.tree.len() as u32).map(node).collect();
    let mut tree = json!({"nodes": nodes});
    if let Some(head) = state.tree.head_id() {
        tree["head_id"] = json!(head);
    }
    let path = state.tree.path(state.tree.head());
    let messages: Vec<Value> = path.into_iter().map(|ix| json!(state.tree.node(ix).message.as_ref())).collect();
    let interrupts: Vec<Value> = state.interrupts.iter().map(|interrupt| open_interrupt(state, interrupt)).collect();
    json!({
        "session_id": state.id,
        "agent_id": state.agent_id,
        "status": state.status(),
        "turn_id": state.current,
        "interrupts": interrupts,
        "messages": messages,
        "message_tree": tree,
        "usage": usage,
    })
}

/// I-51.
fn open_interrupt(state: &Session, interrupt: &Interrupt) -> Value {
    let mut item = json!({
        "interrupt_id": interrupt.id,
        "origin": interrupt.origin,
        "reason": interrupt.reason,
        "payload": interrupt.payload,
        "opened_at": interrupt.opened_at,
    });
    if let Some(anchor) = interrupt.anchor {
        item["anchor"] = json!(state.tree.node(anchor).id);
    }
    item
}

fn usage(row: &SessionRow) -> Value {
    json!({
        "input_tokens": row.usage.input_tokens,
        "cached_input_tokens": row.usage.cached_input_tokens,
        "output_tokens": row.usage.output_tokens,
        "cost_usd": row.usage.cost_usd,
    })
}

///
fn session_item(row: &SessionRow) -> Value {
    json!({
        "session_id": row.session_id,
        "agent_id": row.agent_id,
        "title": row.title,
        "status": row.status,
        "turn_id": row.turn_id,
        "top_level": row.top_level,
        "open_interrupts": row.open_interrupts,
        "first_event_at": row.first_event_at,
        "last_event_at": row.last_event_at,
        "usage": usage(row),
    })
}

/// H-9; open ones are `superseded` or `expired`.
fn interrupt_item(row: &InterruptRow, now: Millis) -> Value {
    let open = row.closed_at.is_none();
    let expires = row.payload.0.get("expiresAt").and_then(Value::as_str).and_then(Millis::parse);
    let expired = open && expires.is_some_and(|end| end <= now);
    let mut item = json!({
        "session_id": row.session_id,
        "root_session_id": row.root_session_id,
        "path": row.path,
        "interrupt_id": row.interrupt_id,
        "origin": row.origin,
        "reason": row.reason,
        "payload": row.payload,
        "opened_at": row.opened_at,
        "on_active_branch": row.on_active_branch,
        "expired": expired,
    });
    let outcome = match row.outcome {
        Some(outcome) if !open => Some(json!(outcome)),
        _ if open && !row.on_active_branch => Some(json!("superseded")),
        _ if expired => Some(json!("expired")),
        _ => None,
    };
    let optional = [
        ("anchor", row.anchor.as_ref().map(|anchor| json!(anchor))),
        ("closed_at", row.closed_at.map(|at| json!(at))),
        ("outcome", outcome),
        ("responder", row.responder.as_ref().map(|responder| responder.0.clone())),
        ("verification", row.verification.as_ref().map(|word| json!(word))),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            item[key] = value;
        }
    }
    item
}

fn key_item(key: &ApiKey) -> Value {
    let mut item = json!({"id": key.id, "name": key.name, "tenant": key.tenant, "created_at": key.created_at});
    if let Some(at) = key.expires_at {
        item["expires_at"] = json!(at);
    }
    if let Some(at) = key.revoked_at {
        item["revoked_at"] = json!(at);
    }
    item
}

pub(crate) fn interrupt_state(word: &str) -> Answered<InterruptState> {
    match word {
        "open" => Ok(InterruptState::Open),
        "closed" => Ok(InterruptState::Closed),
        "all" => Ok(InterruptState::All),
        _ => Err(Failure::invalid("state is open, closed or all")),
    }
}

fn known(query: &Query, keys: &[&str]) -> Answered<()> {
    match query.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(Failure::invalid(format!("there is no parameter {key:?}; known here: {}", keys.join(", ")))),
    }
}

fn limit(query: &Query) -> Answered<usize> {
    let Some(text) = query.get("limit") else { return Ok(PAGE) };
    let limit = text.parse().ok().filter(|limit| (1..=PAGE_MAX).contains(limit));
    limit.ok_or_else(|| Failure::invalid(format!("limit is a number from 1 to {PAGE_MAX}")))
}
