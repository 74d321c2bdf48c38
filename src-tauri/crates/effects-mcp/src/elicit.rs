//! The calls that are under way on one connection, and what their server asks (§10D) or says of them meanwhile.
//!
//! Newer servers end the call with a request for input, so it is plain whose question that is. Older ones ask while they work and do
//! not say for which call: then it is the call that waits for nothing else. So that this is never a call of another session, a server
//! that once asked gets the calls of one session at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_core::elicit::{Action, Ask, Question, Reply};
use holdpoint_core::id::SessionId;
use holdpoint_runtime::runner::{CallLine, Progress};
use rmcp::ErrorData;
use rmcp::model::{InputRequest, InputResponses, ProgressNotificationParam, ProgressToken};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// `URL elicitation required` of protocol 2025-11-25.
pub const URL_REQUIRED: i32 = -32042;

#[derive(Default)]
pub struct Calls {
    under_way: Mutex<Vec<UnderWay>>,
    /// The server asked something while it worked.
    asks: AtomicBool,
    changed: Notify,
    numbers: std::sync::atomic::AtomicU64,
}

struct UnderWay {
    number: u64,
    session: SessionId,
    line: Arc<dyn CallLine>,
    token: Option<ProgressToken>,
    /// Questions of it that are open.
    asked: u32,
}

/// A call's place among those under way, until it is dropped.
pub struct Place {
    calls: Arc<Calls>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.calls.edit(|all| all.retain(|call| call.number != self.number));
    }
}

impl Place {
    /// Under which token the server tells how far it is.
    pub fn reports_as(&self, token: ProgressToken) {
        self.calls.edit(|all| all.iter_mut().filter(|call| call.number == self.number).for_each(|call| call.token = Some(token.clone())));
    }
}

/// A question that is open, for as long as this lives.
struct Asking {
    calls: Arc<Calls>,
    number: u64,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.calls.edit(|all| all.iter_mut().filter(|call| call.number == self.number).for_each(|call| call.asked -= 1));
    }
}

impl Calls {
    fn edit<T>(&self, edit: impl FnOnce(&mut Vec<UnderWay>) -> T) -> T {
        let done = edit(&mut self.under_way.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
        done
    }

    pub async fn enter(self: &Arc<Self>, session: &SessionId, line: Arc<dyn CallLine>) -> Place {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(place) = self.try_enter(session, &line) {
                return place;
            }
            changed.await;
        }
    }

    fn try_enter(self: &Arc<Self>, session: &SessionId, line: &Arc<dyn CallLine>) -> Option<Place> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut all = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let may_ask = all.iter().any(|call| call.session != *session && call.asked == 0);
        if self.asks.load(Ordering::Relaxed) && may_ask {
            return None;
        }
        all.push(UnderWay { number, session: session.clone(), line: line.clone(), token: None, asked: 0 });
        Some(Place { calls: self.clone(), number })
    }

    /// A question that came while the server works, and the answer to it.
    pub async fn asked(self: &Arc<Self>, question: Question) -> Result<Reply, ErrorData> {
        let Some((line, asking)) = self.whose() else {
            return Err(ErrorData::internal_error(
                "nobody can tell which call this question belongs to: ask during one call at a time",
                None,
            ));
        };
        let replies = line.ask(vec![question]).await;
        drop(asking);
        replies.and_then(|mut replies| replies.pop()).ok_or_else(|| ErrorData::internal_error("the call is over", None))
    }

    /// The call that asks: the first that waits for no answer yet, if all such calls are of one session.
    fn whose(self: &Arc<Self>) -> Option<(Arc<dyn CallLine>, Asking)> {
        self.asks.store(true, Ordering::Relaxed);
        self.edit(|all| {
            let fewest = all.iter().map(|call| call.asked).min()?;
            let able: Vec<&UnderWay> = all.iter().filter(|call| call.asked == fewest).collect();
            let first = able.first()?.number;
            if able.iter().any(|call| call.session != able[0].session) {
                return None;
            }
            let call = all.iter_mut().find(|call| call.number == first)?;
            call.asked += 1;
            Some((call.line.clone(), Asking { calls: self.clone(), number: first }))
        })
    }

    pub fn progressed(&self, told: ProgressNotificationParam) {
        let all = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = all.iter().find(|call| call.token.as_ref() == Some(&told.progress_token)) {
            call.line.progress(Progress { progress: told.progress, total: told.total, message: told.message });
        }
    }
}

/// M-33, from the parameters of `elicitation/create`. Only web pages can be visited.
pub fn question(params: &Value) -> Result<Question, ErrorData> {
    let invalid = |why: &str| ErrorData::invalid_params(why.to_owned(), None);
    let message = params["message"].as_str().ok_or_else(|| invalid("`message` is missing"))?.to_owned();
    let ask = match params["mode"].as_str().unwrap_or("form") {
        "form" => Ask::Form(
            params.get("requestedSchema").filter(|s| s.is_object()).ok_or_else(|| invalid("`requestedSchema` is missing"))?.clone(),
        ),
        "url" => {
            let url = params["url"].as_str().ok_or_else(|| invalid("`url` is missing"))?;
            Ask::Url(page(url).ok_or_else(|| invalid("only https and http addresses can be visited"))?)
        }
        _ => return Err(invalid("`mode` is form or url")),
    };
    Ok(Question { message, ask })
}

/// The address of a web page as a browser reads it, so that the host that is shown is the one that is visited: blanks, signs that
/// turn the direction of text and letters that look like others would tell a person something else.
fn page(url: &str) -> Option<String> {
    let page = reqwest::Url::parse(url).ok()?;
    matches!(page.scheme(), "https" | "http").then(|| page.into())
}

/// M-35: the answer to `elicitation/create`.
pub fn answer(reply: &Reply) -> Value {
    let action = match reply.action {
        Action::Accept => "accept",
        Action::Decline => "decline",
        Action::Cancel => "cancel",
    };
    let mut answer = json!({"action": action});
    if let Some(content) = &reply.content {
        answer["content"] = content.clone();
    }
    answer
}

/// What a call that ended with a request for input wants to know, by the server's keys. The error says what cannot be answered.
pub fn requested<'a>(requests: impl IntoIterator<Item = (&'a String, &'a InputRequest)>) -> Result<(Vec<String>, Vec<Question>), String> {
    let (mut keys, mut questions) = (Vec::new(), Vec::new());
    for (key, request) in requests {
        let InputRequest::Elicitation(request) = request else {
            return Err("asked for something else than a person's input".to_owned());
        };
        keys.push(key.clone());
        questions.push(question(&json!(request.params)).map_err(|why| format!("asked in a way that cannot be shown: {}", why.message))?);
    }
    Ok((keys, questions))
}

pub fn responses(keys: Vec<String>, replies: &[Reply]) -> InputResponses {
    keys.into_iter().zip(replies.iter().map(answer)).collect()
}

/// The pages that an error of [`URL_REQUIRED`] wants visited first.
pub fn pages(error: &ErrorData) -> Option<Vec<Question>> {
    let wanted = error.data.as_ref()?["elicitations"].as_array().filter(|list| error.code.0 == URL_REQUIRED && !list.is_empty())?;
    wanted.iter().map(|params| question(params).ok().filter(|question| matches!(question.ask, Ask::Url(_)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(url: &str) -> Option<String> {
        match question(&json!({"mode": "url", "message": "Sign in", "url": url})).ok()?.ask {
            Ask::Url(url) => Some(url),
            Ask::Form(_) => None,
        }
    }

    #[test]
    fn an_address_is_asked_about_as_a_browser_reads_it_m33_m38() {
        for (url, page) in [
            ("https://sign.example/in?x=1", "https://sign.example/in?x=1"),
            ("https:///evil.example/a", "https://evil.example/a"),
            ("https://\\evil.example/", "https://evil.example/"),
            ("https://\t/evil.example/", "https://evil.example/"),
            ("https://bank.example\n.evil.example/", "https://bank.example.evil.example/"),
            ("https://bank.example\u{200b}.evil.example/", "https://bank.example.evil.example/"),
            ("https://\u{430}pple.example/", "https://xn--pple-43d.example/"),
            ("https://bank.example/\u{202e}gnp.exe", "https://bank.example/%E2%80%AEgnp.exe"),
        ] {
            assert_eq!(asks(url).as_deref(), Some(page), "{url:?}");
        }
        let no_pages =
            ["javascript:alert(1)", "file:///etc/passwd", "https://", "https://moc.knab\u{202e}/", "https://a b.example/", "sign in"];
        assert_eq!(no_pages.map(asks), [const { None }; 6]);
    }
}
