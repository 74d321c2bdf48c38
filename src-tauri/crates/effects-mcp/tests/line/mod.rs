//! A session's side of a call, for tests: answers questions as it was told to, and keeps what it heard.
#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_core::elicit::{Action, Question, Reply};
use holdpoint_runtime::runner::{CallLine, Progress};
use serde_json::Value;
use tokio::sync::Notify;

#[derive(Default)]
pub struct Line {
    answers: Mutex<VecDeque<Reply>>,
    heard: Mutex<Heard>,
    changed: Notify,
}

#[derive(Clone, Default)]
pub struct Heard {
    pub questions: Vec<Question>,
    pub progress: Vec<Progress>,
}

impl Line {
    pub fn silent() -> Arc<Self> {
        Arc::default()
    }

    pub fn answering(answers: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let line = Self::default();
        answers.into_iter().for_each(|answer| line.answer(answer));
        Arc::new(line)
    }

    pub fn answer(&self, answer: Reply) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer);
        self.changed.notify_one();
    }

    pub fn heard(&self) -> Heard {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn next(&self) -> Reply {
        loop {
            let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match answer {
                Some(answer) => return answer,
                None => self.changed.notified().await,
            }
        }
    }
}

#[async_trait]
impl CallLine for Line {
    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<Reply>> {
        let count = questions.len();
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).questions.extend(questions);
        let mut replies = Vec::new();
        for _ in 0..count {
            replies.push(self.next().await);
        }
        Some(replies)
    }

    fn progress(&self, progress: Progress) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).progress.push(progress);
    }
}

pub fn accept(content: Value) -> Reply {
    Reply { action: Action::Accept, content: Some(content) }
}

pub fn plain(action: Action) -> Reply {
    Reply { action, content: None }
}
