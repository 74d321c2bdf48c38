//! Which notification is shown for which question, and what a click on it means. Pure: it is told the time, what is on screen
//! and what changed, and says what to show, to withdraw and to answer. Talking to the system is [`crate::notify`]'s.

use std::collections::{BTreeMap, HashMap, VecDeque};

use holdpoint_app::wire::{Answer, ApiError, Command, Receipt, Snoozed, Submit};
use holdpoint_core::answer;
use holdpoint_core::elicit;
use holdpoint_core::json::shown_hash;
use holdpoint_core::time::Millis;
use holdpoint_view::row::{InterruptRow, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;

/// This many questions within [`BURST_MS`] become one notification.
const BURST: usize = 3;
const BURST_MS: i64 = 5_000;
/// In a focused window the card of a new question may be about to appear: the window gets this long to show it.
pub const GRACE_MS: i64 = 1_000;
/// A question longer than this is not shown whole, so it is not answered from the notification either.
const QUESTION_CHARS: usize = 300;
const LABEL_CHARS: usize = 40;
/// A menu holds this many questions, a line each.
const MENU_QUESTIONS: usize = 5;
const MENU_CHARS: usize = 60;
/// A late click on a withdrawn notification still gets its refusal, as long as the notification is among the newest.
const REMEMBERED: usize = 200;

/// Action of every notification that leads to the window.
pub const OPEN: &str = "open";

/// One question's card.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Type)]
pub struct CardKey {
    pub session_id: String,
    pub interrupt_id: String,
}

/// What the person can see in the window now.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    pub focused: bool,
    pub cards: Vec<CardKey>,
}

impl Sight {
    fn sees(&self, card: &CardKey) -> bool {
        self.focused && self.cards.contains(card)
    }
}

/// A notification to show. Texts are plain: whoever sends them escapes what the platform would read as markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: i32,
    pub title: String,
    pub body: String,
    /// Action id and label.
    pub actions: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    Show(Notice),
    Withdraw(i32),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Click {
    /// Show this card, or the inbox for a burst.
    Open(Option<CardKey>),
    Answer {
        submit: Submit,
        asked: Asked,
        label: String,
    },
}

/// What a notification asked, as far as answering and telling about it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub card: CardKey,
    opened_seq: u64,
    /// Of exactly what the notification showed (I-91).
    hash: String,
    /// `agent · session`.
    from: String,
    question: String,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq)]
struct Choice {
    index: u32,
    label: String,
    /// It needs more than a click: a text, a look at the whole question, or a second thought.
    needs_card: bool,
}

#[derive(Debug)]
struct Open {
    asked: Asked,
    /// Notification that shows it, its own or a burst's.
    notice: Option<i32>,
    at: Millis,
    opened_at: Millis,
    /// `agent: question`, for a menu.
    line: String,
}

/// Who waits, for a place that has only lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub count: usize,
    /// The newest first.
    pub newest: Vec<(CardKey, String)>,
}

#[derive(Debug)]
enum Told {
    Question(Asked),
    Burst,
}

/// Every open question the shell knows of, and every notification it has shown.
#[derive(Debug)]
pub struct Notices {
    /// Questions from before this run were announced by the run that saw them arrive.
    started: Millis,
    /// A session whose questions are announced even when their cards are on screen: the first run shows what a notification is.
    always: Option<String>,
    open: HashMap<CardKey, Open>,
    /// Questions that the person hid, and until when; without a time until they are shown again by hand.
    hidden: HashMap<CardKey, Option<Millis>>,
    /// New questions that the focused window may be about to show, and until when it has time.
    held: Vec<(CardKey, Millis)>,
    told: BTreeMap<i32, Told>,
    arrivals: VecDeque<Millis>,
    burst: Option<i32>,
    last_id: i32,
}

impl Notices {
    pub fn new(started: Millis) -> Self {
        let (open, told, arrivals) = (HashMap::new(), BTreeMap::new(), VecDeque::new());
        Self { started, always: None, open, hidden: HashMap::new(), held: Vec::new(), told, arrivals, burst: None, last_id: 0 }
    }

    pub fn announce_always(&mut self, session_id: String) {
        self.always = Some(session_id);
    }

    /// Rows as the feed brings them; with `reset` they are all there is.
    pub fn changed(&mut self, rows: &[InterruptRow], reset: bool, now: Millis, sight: &Sight) -> Vec<Do> {
        let mut todo = Vec::new();
        if reset {
            let listed: Vec<CardKey> = rows.iter().map(card).collect();
            let gone: Vec<CardKey> = self.open.keys().filter(|key| !listed.contains(key)).cloned().collect();
            for key in &gone {
                self.close(key, &mut todo);
            }
        }
        let mut fresh = Vec::new();
        for row in rows {
            let key = card(row);
            if row.closed_at.is_some() {
                self.close(&key, &mut todo);
            } else if self.open.get(&key).is_none_or(|known| known.asked.opened_seq != row.opened_seq.0) {
                self.close(&key, &mut todo);
                self.open.insert(key.clone(), Open::of(row, now));
                let always = self.always.as_ref() == Some(&key.session_id);
                if row.opened_at.0 < self.started || (sight.sees(&key) && !always) {
                    continue;
                }
                if sight.focused && !always {
                    self.held.push((key, now.plus(GRACE_MS)));
                } else {
                    fresh.push(key);
                }
            }
        }
        self.announce(&fresh, now, &mut todo);
        todo
    }

    /// All that is hidden from the inbox now.
    pub fn hide(&mut self, snoozed: &[Snoozed]) {
        let hidden = snoozed.iter().map(|each| {
            let card = CardKey { session_id: each.session_id.clone(), interrupt_id: each.interrupt_id.clone() };
            (card, each.until.as_ref().map(|until| until.0))
        });
        self.hidden = hidden.collect();
    }

    /// Whoever waits and is not hidden: the number that the window shows too.
    pub fn waiting(&self, now: Millis) -> Waiting {
        let hidden = |card: &CardKey| self.hidden.get(card).is_some_and(|until| until.is_none_or(|until| until > now));
        let mut open: Vec<(&CardKey, &Open)> = self.open.iter().filter(|(card, _)| !hidden(card)).collect();
        // Ids part what was asked in one moment, so that the same questions always stand in the same order.
        open.sort_by(|(a, one), (b, other)| {
            other.opened_at.cmp(&one.opened_at).then_with(|| (&a.session_id, &a.interrupt_id).cmp(&(&b.session_id, &b.interrupt_id)))
        });
        let newest = open.iter().take(MENU_QUESTIONS).map(|(key, open)| ((*key).clone(), open.line.clone())).collect();
        Waiting { count: open.len(), newest }
    }

    /// The window shows these cards now: their notifications have done their work.
    pub fn seen(&mut self, sight: &Sight) -> Vec<Do> {
        let mut todo = Vec::new();
        for key in sight.cards.iter().filter(|key| sight.sees(key) && self.always.as_ref() != Some(&key.session_id)) {
            if let Some(id) = self.open.get_mut(key).and_then(|open| open.notice.take()) {
                self.withdraw_unused(id, &mut todo);
            }
        }
        todo
    }

    /// When to call [`Self::due`] next, and to look who waits: at the end of a grace, or when a hidden question comes back.
    pub fn next_due(&self, now: Millis) -> Option<Millis> {
        let back = self.hidden.values().flatten().copied().filter(|until| *until > now);
        self.held.iter().map(|(_, at)| *at).chain(back).min()
    }

    /// Announces what the window had time to show and did not.
    pub fn due(&mut self, now: Millis, sight: &Sight) -> Vec<Do> {
        let (due, held): (Vec<_>, Vec<_>) = self.held.drain(..).partition(|(_, at)| *at <= now);
        self.held = held;
        let unseen: Vec<CardKey> =
            due.into_iter().map(|(key, _)| key).filter(|key| self.open.contains_key(key) && !sight.sees(key)).collect();
        let mut todo = Vec::new();
        self.announce(&unseen, now, &mut todo);
        todo
    }

    /// What a click on an action of notification `id` asks for. `None`: not one of ours.
    pub fn clicked(&self, id: i32, action: &str) -> Option<Click> {
        let asked = match self.told.get(&id)? {
            Told::Burst => return Some(Click::Open(None)),
            Told::Question(asked) => asked,
        };
        let opened = Some(Click::Open(Some(asked.card.clone())));
        let Some(index) = action.strip_prefix("option-").and_then(|index| index.parse::<u32>().ok()) else {
            return opened;
        };
        match asked.choices.iter().find(|choice| choice.index == index && !choice.needs_card) {
            None => opened,
            Some(choice) => Some(Click::Answer { submit: asked.answer(index), asked: asked.clone(), label: choice.label.clone() }),
        }
    }

    /// The notification that says how an answer went.
    pub fn follow_up(&mut self, asked: &Asked, outcome: &AnswerTold) -> Notice {
        let id = self.next_id();
        self.remember(id, Told::Question(Asked { choices: Vec::new(), ..asked.clone() }));
        let actions = if outcome.refused { vec![(OPEN.to_owned(), "Open".to_owned())] } else { Vec::new() };
        Notice { id, title: outcome.title.clone(), body: outcome.body.clone(), actions }
    }

    fn announce(&mut self, fresh: &[CardKey], now: Millis, todo: &mut Vec<Do>) {
        if fresh.is_empty() {
            return;
        }
        while self.arrivals.front().is_some_and(|at| now.0 - at.0 >= BURST_MS) {
            self.arrivals.pop_front();
        }
        if self.arrivals.is_empty() {
            self.burst = None;
        }
        self.arrivals.extend(fresh.iter().map(|_| now));
        if self.arrivals.len() >= BURST {
            self.show_burst(fresh, now, todo);
        } else {
            for key in fresh {
                self.show_one(key, todo);
            }
        }
    }

    fn show_one(&mut self, key: &CardKey, todo: &mut Vec<Do>) {
        let id = self.next_id();
        let Some(open) = self.open.get_mut(key) else { return };
        open.notice = Some(id);
        let asked = open.asked.clone();
        todo.push(Do::Show(asked.notice(id)));
        self.remember(id, Told::Question(asked));
    }

    /// One notification for all that arrived within the window, in place of those shown for them before.
    fn show_burst(&mut self, fresh: &[CardKey], now: Millis, todo: &mut Vec<Do>) {
        let id = self.next_id();
        let mut members: Vec<&mut Open> = self
            .open
            .iter_mut()
            .filter(|(key, open)| {
                fresh.contains(key) || (open.notice.is_some() && (open.notice == self.burst || now.0 - open.at.0 < BURST_MS))
            })
            .map(|(_, open)| open)
            .collect();
        members.sort_by_key(|open| (open.at, open.asked.opened_seq));
        let replaced: Vec<i32> = members.iter().filter_map(|open| open.notice).collect();
        for member in &mut members {
            member.notice = Some(id);
        }
        let mut lines: Vec<String> =
            members.iter().take(5).map(|open| format!("{}: {}", open.asked.from, first_line(&open.asked.question))).collect();
        if members.len() > 5 {
            lines.push(format!("and {} more", members.len() - 5));
        }
        let title = format!("{} questions wait for you", members.len());
        for old in replaced {
            if !todo.contains(&Do::Withdraw(old)) {
                todo.push(Do::Withdraw(old));
            }
        }
        let actions = vec![(OPEN.to_owned(), "Open".to_owned())];
        todo.push(Do::Show(Notice { id, title, body: lines.join("\n"), actions }));
        self.burst = Some(id);
        self.remember(id, Told::Burst);
    }

    fn close(&mut self, key: &CardKey, todo: &mut Vec<Do>) {
        self.held.retain(|(held, _)| held != key);
        if let Some(Open { notice: Some(id), .. }) = self.open.remove(key) {
            self.withdraw_unused(id, todo);
        }
    }

    /// A burst's notification stays until the last of its questions is closed.
    fn withdraw_unused(&self, id: i32, todo: &mut Vec<Do>) {
        if !self.open.values().any(|open| open.notice == Some(id)) {
            todo.push(Do::Withdraw(id));
        }
    }

    fn next_id(&mut self) -> i32 {
        self.last_id += 1;
        self.last_id
    }

    fn remember(&mut self, id: i32, told: Told) {
        self.told.insert(id, told);
        while self.told.len() > REMEMBERED {
            self.told.pop_first();
        }
    }
}

impl Open {
    fn of(row: &InterruptRow, now: Millis) -> Self {
        let asked = Asked::of(row);
        let line = format!("{}: {}", one_line(&agents(row)), one_line(&asked.question));
        Self { asked, notice: None, at: now, opened_at: row.opened_at.0, line }
    }
}

impl Asked {
    fn of(row: &InterruptRow) -> Self {
        let payload = row.has_payload.then_some(&row.payload.0);
        let (question, whole) = question(&row.reason, payload);
        let session = if row.session_title.is_empty() { "New session" } else { &row.session_title };
        Self {
            card: card(row),
            opened_seq: row.opened_seq.0,
            hash: shown_hash(&row.interrupt_id, &row.reason, payload),
            from: format!("{} · {}", shown(&agents(row), 80).0, shown(session, 80).0),
            question,
            choices: choices(payload, whole && row.on_active_branch),
        }
    }

    fn notice(&self, id: i32) -> Notice {
        let options = self.choices.iter().map(|choice| {
            let more = if choice.needs_card { "…" } else { "" };
            (format!("option-{}", choice.index), format!("{}{more}", choice.label))
        });
        let actions = options.chain([(OPEN.to_owned(), "Open".to_owned())]).collect();
        Notice { id, title: self.from.clone(), body: self.question.clone(), actions }
    }

    /// The command id says which question and option it is, so that a click reported twice acts once (D-13).
    fn answer(&self, option: u32) -> Submit {
        let CardKey { session_id, interrupt_id } = self.card.clone();
        Submit {
            command_id: format!("notice:{session_id}:{interrupt_id}:{}:{option}", self.opened_seq),
            session_id,
            command: Command::Answer {
                interrupt_id,
                shown_hash: self.hash.clone(),
                answer: Answer { option: Some(option), ..Answer::default() },
            },
        }
    }
}

/// How an answer from a notification went, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerTold {
    pub refused: bool,
    pub title: String,
    pub body: String,
}

pub fn tell(asked: &Asked, label: &str, result: &Result<Receipt, ApiError>) -> AnswerTold {
    let about = format!("{}\n{}", asked.from, first_line(&asked.question));
    match result {
        Err(error) => {
            AnswerTold { refused: true, title: "Your answer was not taken".to_owned(), body: format!("{}\n{about}", error.message) }
        }
        Ok(Receipt { resumed: Some(false), closed, .. }) => {
            let how = closed.as_ref().map_or_else(
                || "It was closed before your answer arrived.".to_owned(),
                |closed| closed_how(closed.outcome, closed.responder.as_ref().map(|who| &who.0)),
            );
            AnswerTold { refused: true, title: "Your answer came too late".to_owned(), body: format!("{how}\n{about}") }
        }
        Ok(_) => AnswerTold { refused: false, title: format!("Answered: {label}"), body: about },
    }
}

fn closed_how(outcome: Outcome, responder: Option<&Value>) -> String {
    let verb = match outcome {
        Outcome::Answered => "answered",
        Outcome::Declined => "declined",
        Outcome::Cancelled => "cancelled",
        Outcome::Expired => "expired",
        Outcome::Superseded => "superseded",
    };
    let named = |key: &str| responder.and_then(|who| who.get(key)).and_then(Value::as_str).map(|text| shown(text, 80).0);
    match (named("user"), named("channel")) {
        (Some(user), Some(channel)) => format!("It was {verb} by {user} ({channel})."),
        (None, Some(channel)) => format!("It was {verb} from {channel}."),
        _ => format!("It was {verb}."),
    }
}

fn card(row: &InterruptRow) -> CardKey {
    CardKey { session_id: row.session_id.clone(), interrupt_id: row.interrupt_id.clone() }
}

/// Who asks, with those it works for.
fn agents(row: &InterruptRow) -> String {
    row.path.iter().map(|step| step.agent_id.as_str()).collect::<Vec<_>>().join(" › ")
}

/// Text as one line of a menu.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    shown(&words.join(" "), MENU_CHARS).0
}

/// I-52: the message, else the reason. Whether it is shown whole comes with it.
fn question(reason: &str, payload: Option<&Value>) -> (String, bool) {
    let message = payload.and_then(|payload| payload.get("message")).and_then(Value::as_str).map(str::trim);
    match message.filter(|message| !message.is_empty()) {
        Some(message) => shown(&without_marks(message), QUESTION_CHARS),
        None => shown(&format!("Paused: {reason}"), QUESTION_CHARS),
    }
}

/// Markdown as plain text: notifications show `**` and backticks as they are.
fn without_marks(markdown: &str) -> String {
    let lines = markdown.lines().map(|line| line.trim_start_matches('#').trim_start_matches(' '));
    lines.collect::<Vec<_>>().join("\n").replace("**", "").replace('`', "")
}

/// The first two options, or the default pair (I-53, I-95).
fn choices(payload: Option<&Value>, may_answer: bool) -> Vec<Choice> {
    // A form is filled in, and the host of a page is seen, in the card alone (M-33).
    let pair = answer::default_pair(payload).filter(|_| elicit::mode(payload).is_none());
    let Some(list) = answer::options(payload).or(pair.as_ref()) else { return Vec::new() };
    let high_risk = payload.is_some_and(|payload| payload["metadata"]["risk"] == "high");
    list.iter()
        .take(2)
        .zip(0..)
        .map(|(option, index)| {
            let label = option["label"].as_str().map_or_else(|| (format!("Option {}", index + 1), true), |label| shown(label, LABEL_CHARS));
            let needs_text = option["input"]["required"] == true;
            let dangerous = option["style"] == "danger" && high_risk;
            Choice { index, label: label.0, needs_card: !may_answer || !label.1 || needs_text || dangerous }
        })
        .collect()
}

/// Text for a notification: cut at `most` characters, with every character that is invisible or turns the writing direction made
/// visible. The second value tells whether it is all there.
fn shown(text: &str, most: usize) -> (String, bool) {
    let mut whole = true;
    let mut out = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            return (out, false);
        }
        if hidden(character) {
            whole = false;
            out.push('\u{FFFD}');
        } else {
            out.push(character);
        }
    }
    (out, whole)
}

/// Zero-width, direction and other format or control characters.
fn hidden(character: char) -> bool {
    let control = character.is_control() && character != '\n' && character != '\t';
    control
        || matches!(character, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod tests;
