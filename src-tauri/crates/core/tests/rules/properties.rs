//! What holds whatever is done: random commands from a small alphabet. The story itself checks after each that replay equals live,
//! `seq` has no gaps, a refusal wrote nothing, a report lands once, a turn ends once and an interrupt opens once.

use std::collections::HashMap;

use holdpoint_core::command::{Command, Settle};
use holdpoint_core::event::CallKind;
use holdpoint_core::message::{ErrorCode, ErrorInfo, Message, ToolResult};
use holdpoint_core::pending::pending;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::story::{Story, calls, machine, text, tool_message, user};

#[derive(Clone, Debug)]
enum Move {
    Say,
    Queue,
    Repeat,
    Act,
    Edit(u8),
    Switch(u8),
    Raise,
    Resume(u8),
    Accept,
    Answer(u8),
    Garbage,
    WorkerFails(bool),
    Reply,
    ReplyWithTools(u8),
    ModelFails(bool),
    Settle(u8),
    SettleByView(u8),
    ToolFails(u8),
    Late,
    Pass(u16),
    Recover,
    Cancel,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => Just(Move::Say),
        1 => Just(Move::Queue),
        1 => Just(Move::Repeat),
        2 => Just(Move::Act),
        2 => any::<u8>().prop_map(Move::Edit),
        2 => any::<u8>().prop_map(Move::Switch),
        2 => Just(Move::Raise),
        3 => any::<u8>().prop_map(Move::Resume),
        12 => Just(Move::Accept),
        4 => any::<u8>().prop_map(Move::Answer),
        1 => Just(Move::Garbage),
        1 => any::<bool>().prop_map(Move::WorkerFails),
        4 => Just(Move::Reply),
        4 => any::<u8>().prop_map(Move::ReplyWithTools),
        1 => any::<bool>().prop_map(Move::ModelFails),
        4 => any::<u8>().prop_map(Move::Settle),
        2 => any::<u8>().prop_map(Move::SettleByView),
        1 => any::<u8>().prop_map(Move::ToolFails),
        1 => Just(Move::Late),
        2 => any::<u16>().prop_map(Move::Pass),
        1 => Just(Move::Recover),
        1 => Just(Move::Cancel),
    ]
}

/// One run: the story and what names its next things.
struct Run {
    story: Story,
    count: u32,
    /// The last answers given, sent again later.
    late: Vec<Command>,
}

impl Run {
    fn next(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    fn does(&mut self, command: Command) {
        self.late.push(command.clone());
        let _ = self.story.does(command);
    }

    fn nodes(&self) -> HashMap<String, (Option<String>, String)> {
        let Some(session) = &self.story.session else { return HashMap::new() };
        let parent = |ix: Option<u32>| ix.map(|ix| session.tree.node(ix).id.to_string());
        session.tree.nodes().iter().map(|n| (n.id.to_string(), (parent(n.parent), json!(*n.message).to_string()))).collect()
    }

    fn play(&mut self, step: &Move) {
        let before = self.nodes();
        self.make(step);
        let after = self.nodes();
        for (id, node) in &before {
            assert_eq!(after.get(id), Some(node), "a fork never alters its parent, no node is lost");
        }
        for (parent, _) in after.values() {
            assert!(parent.as_ref().is_none_or(|parent| after.contains_key(parent)), "every node is reachable");
        }
    }

    fn make(&mut self, step: &Move) {
        match step {
            Move::Say | Move::Queue => {
                let turn = self.next("t");
                let message = user(&format!("u_{turn}"), &turn);
                let _ = self.story.append(Some(&turn), vec![message], matches!(step, Move::Queue));
            }
            Move::Repeat => {
                let turn = format!("t{}", self.count);
                let _ = self.story.append(Some(&turn), vec![user("again", "again")], false);
            }
            Move::Act => drop(self.story.acts("act")),
            _ if self.story.session.is_none() => {}
            Move::Edit(at) => {
                let turn = self.next("t");
                let mut view = self.story.seen();
                view.truncate(*at as usize % (view.len() + 1));
                view.push(user(&format!("u_{turn}"), &turn));
                let _ = self.story.view(Some(&turn), view);
            }
            Move::Switch(to) => {
                let session = self.story.s();
                let Some(leaf) = (!session.tree.is_empty()).then(|| u32::from(*to) % session.tree.len() as u32) else { return };
                let path: Vec<Message> = session.tree.path(Some(leaf)).iter().map(|ix| (*session.tree.node(*ix).message).clone()).collect();
                let _ = self.story.view(None, path);
            }
            Move::Raise => {
                let id = self.next("q");
                drop(self.story.raises(&id));
            }
            Move::Resume(which) => {
                let open: Vec<String> = self.story.open_interrupts().iter().map(|id| (*id).to_owned()).collect();
                let id = open.get(*which as usize % open.len().max(1)).cloned().unwrap_or_else(|| "q1".to_owned());
                drop(self.story.resumes(&id, json!({"n": which})));
            }
            Move::Accept | Move::Answer(_) | Move::Garbage | Move::WorkerFails(_) => self.decide(step),
            Move::Reply | Move::ReplyWithTools(_) | Move::ModelFails(_) => self.run_model(step),
            Move::Settle(_) | Move::SettleByView(_) | Move::ToolFails(_) => self.settle(step),
            Move::Late => {
                for command in self.late.clone() {
                    let _ = self.story.does(command);
                }
            }
            Move::Pass(seconds) => self.story.advance(i64::from(*seconds % 400) * 1000),
            Move::Recover => self.story.recovers(),
            Move::Cancel => {
                drop(self.story.cancels());
                self.cancelled();
            }
        }
    }

    fn cancelled(&self) {
        let session = self.story.s();
        assert_eq!((session.current.as_ref(), session.suspended_turns().count(), session.open_calls().count()), (None, 0, 0), "C-13, C-35");
        let left: Vec<_> = session.decisions.iter().map(|d| d.trigger.kind()).filter(|kind| *kind != "session.start").collect();
        assert_eq!(left, Vec::<&str>::new(), "C-9");
    }

    fn decide(&mut self, step: &Move) {
        let Some(live) = self.story.s().live() else { return };
        let (decision, attempt) = (live.id.clone(), live.attempts);
        let asked = self.story.asked();
        if let Move::WorkerFails(retryable) = step {
            let error = ErrorInfo::new(ErrorCode::WorkerUnreachable, "down");
            self.does(Command::DecisionFailed { decision, attempt, error, retryable: *retryable });
            return;
        }
        let response = match step {
            Move::Answer(kind) => self.answer(&asked, *kind),
            Move::Garbage => json!({"actions": [{"type": "teleport"}]}),
            _ => asked["proposed"].clone(),
        };
        self.does(Command::Answered { decision, attempt: Some(attempt), response });
    }

    fn answer(&mut self, asked: &Value, kind: u8) -> Value {
        let mut out = asked["proposed"].clone();
        let question = self.next("q");
        let open = self.story.open_interrupts().first().map(|id| (*id).to_owned()).unwrap_or_default();
        let actions = match kind % 10 {
            0 => return json!({}),
            1 => json!([{"type": "interrupt", "interrupt_id": question, "reason": "r"}]),
            2 => json!([{"type": "interrupt", "interrupt_id": question, "reason": "r"}, {"type": "llm.call"}]),
            3 => json!([{"type": "done", "data": kind}, {"type": "interrupt", "interrupt_id": question, "reason": "r"}]),
            4 => json!([{"type": "llm.call"}]),
            5 => json!([{"type": "tool.call", "name": "slow"}]),
            6 => json!([{"type": "fail", "error": {"message": "No."}}]),
            7 if !open.is_empty() => json!([{"type": "interrupt.resolve", "interrupt_id": open}]),
            8 => {
                let id = self.next("w");
                return json!({"messages": [{"id": id, "role": "user", "content": "elsewhere"}], "actions": [{"type": "llm.call"}]});
            }
            _ => {
                out["state"] = json!({"k": kind});
                return out;
            }
        };
        out["actions"] = actions;
        out
    }

    fn run_model(&mut self, step: &Move) {
        if !self.story.model_runs() {
            return;
        }
        let (call, attempt) = self.story.model_call();
        let command = match step {
            Move::ModelFails(retryable) => {
                let error = ErrorInfo::new(ErrorCode::ProviderError, "overloaded");
                Command::LlmFailed { call, attempt, error, retryable: *retryable, retry_after_ms: None, script_reply: None }
            }
            Move::ReplyWithTools(which) => {
                let (a, b) = (self.next("c"), self.next("c"));
                let names = [["slow", "slow"], ["pick", "slow"], ["pick", "pick"], ["ghost", "look"]][*which as usize % 4];
                let response = calls(&[(&a, names[0], "{}"), (&b, names[1], "{}")]);
                Command::LlmCompleted { call, attempt, response, script_reply: None }
            }
            _ => Command::LlmCompleted { call, attempt, response: text("Reply."), script_reply: None },
        };
        self.does(command);
    }

    fn settle(&mut self, step: &Move) {
        let open: Vec<_> = self.story.s().open_calls().filter(|call| call.kind == CallKind::ToolCall).map(|call| call.id.clone()).collect();
        let (Move::Settle(which) | Move::SettleByView(which) | Move::ToolFails(which)) = step else { return };
        let Some(id) = open.get(*which as usize % open.len().max(1)).cloned() else { return };
        match step {
            Move::SettleByView(_) => {
                let own = self.next("m");
                let mut view = self.story.seen();
                view.push(tool_message(&own, id.as_str(), "answer"));
                if which % 3 == 0 {
                    view.push(user(&format!("u_{own}"), "and more"));
                }
                let _ = self.story.view(None, view);
            }
            Move::ToolFails(_) => {
                let error = ErrorInfo::new(ErrorCode::HandlerError, "broke");
                self.does(Command::Settle { caller: machine(), settle: Settle::ToolError { id, attempt: None, error, retryable: false } });
            }
            _ => {
                let settle = Settle::ToolResult { id, attempt: None, result: ToolResult::text("result") };
                self.does(Command::Settle { caller: machine(), settle });
            }
        }
    }

    /// Everybody does their part and every question is answered on its branch: nothing may stay stuck.
    fn comes_to_rest(&mut self) {
        for round in 0..400 {
            if self.story.s().live().is_some() {
                self.story.accepts();
            } else if self.story.model_runs() {
                self.story.replies(text("Reply."));
            } else if let Some(id) = active_call(&self.story) {
                self.story.settles(&id, "result");
            } else if let Some(id) = active_question(&self.story) {
                self.story.resumes(&id, json!(round));
            } else if let Some(at) = self.story.s().wake_at() {
                let wait = at.0 - self.story.now.0;
                self.story.advance(wait.max(0));
            } else if let Some(path) = left_branch(&self.story) {
                self.story.view(None, path).expect("T-15: a held branch can be gone back to");
            } else {
                break;
            }
        }
        let last = tail(&mut self.story);
        let session = self.story.s();
        assert!(pending(session).is_empty(), "nothing runs");
        assert_eq!(session.current.as_ref(), None, "every turn ends: {last:?}");
        assert_eq!(session.suspended_turns().count(), 0, "no turn is forgotten");
        assert_eq!(session.decisions.iter().map(|d| d.trigger.kind()).collect::<Vec<_>>(), Vec::<&str>::new(), "no decision is forgotten");
        assert_eq!((session.open_calls().count(), session.pending_calls()), (0, 0), "no call is forgotten");
    }
}

fn tail(story: &mut Story) -> Vec<String> {
    let wrote = story.wrote();
    wrote[wrote.len().saturating_sub(40)..].to_vec()
}

fn active_question(story: &Story) -> Option<String> {
    let session = story.s();
    session.pausing(session.tree.head()).next().map(|open| open.id.to_string())
}

fn active_call(story: &Story) -> Option<String> {
    let session = story.s();
    session.open_calls().find(|call| call.kind == CallKind::ToolCall && session.is_active(call.anchor)).map(|call| call.id.to_string())
}

/// The path to an open question of another branch.
fn left_branch(story: &Story) -> Option<Vec<Message>> {
    let session = story.s();
    let anchor = session.interrupts.iter().find_map(|open| open.anchor.filter(|at| !session.is_active(Some(*at))))?;
    Some(session.tree.path(Some(anchor)).iter().map(|ix| (*session.tree.node(*ix).message).clone()).collect())
}

fn play(agent: &str, steps: &[Move]) -> Run {
    let mut run = Run { story: Story::of(agent), count: 0, late: Vec::new() };
    for step in steps {
        run.play(step);
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_the_rules_of_the_log_hold_and_nothing_stays_stuck(steps in proptest::collection::vec(moves(), 1..60)) {
        let mut run = play("helper", &steps);
        if run.story.session.is_some() {
            run.comes_to_rest();
        }
    }

    #[test]
    fn the_same_holds_without_a_worker(steps in proptest::collection::vec(moves(), 1..40)) {
        let mut run = play("solo", &steps);
        if run.story.session.is_some() {
            run.comes_to_rest();
        }
    }

    #[test]
    fn a_cancel_ends_everything_at_any_time(steps in proptest::collection::vec(moves(), 1..50)) {
        let mut run = play("helper", &steps);
        if run.story.session.is_some() {
            run.play(&Move::Cancel);
            assert_eq!(run.story.cancels().cancelled, Some(false), "C-26");
        }
    }
}
