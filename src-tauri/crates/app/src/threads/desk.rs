//! What the desktop asks about threads: all of them for the inspector, and the stop of one.

use holdpoint_core::rejection::Code;

use super::{
    Answered, App, CommandReceipt, Facts, Failure, LOCAL_TENANT, REASON_MAX, SessionId, StoreError, ThreadRow, Value, json,
    reason_or_default,
};
use crate::wire::ApiError;

impl App {
    /// The primary thread and every delegate of the session that this one belongs to, in the order of their making.
    pub async fn threads(&self, session_id: String) -> Result<Vec<ThreadRow>, ApiError> {
        Ok(self.thread_rows(&session_id).await?)
    }

    async fn thread_rows(&self, session: &str) -> Answered<Vec<ThreadRow>> {
        let root = self.root_of(session)?;
        let mut rows = Vec::new();
        for id in self.inner.store.family(&root)? {
            rows.extend(self.facts(&id).await?.map(Facts::row));
        }
        Ok(rows)
    }

    fn root_of(&self, session: &str) -> Answered<SessionId> {
        let meta = self.inner.store.session_meta(&session.into())?.ok_or_else(|| Failure::no_session(session))?;
        if meta.tenant != LOCAL_TENANT {
            return Err(Failure::refuse(Code::AccessDenied, "this session belongs to somebody else"));
        }
        Ok(meta.root_session_id)
    }

    /// Stops one delegate of the session. The same command id again changes nothing (D-13).
    pub async fn interrupt_thread(
        &self,
        command_id: String,
        session_id: String,
        thread_session_id: String,
        reason: String,
    ) -> Result<(), ApiError> {
        Ok(self.interrupt_from_desk(command_id, &session_id, &thread_session_id, &reason).await?)
    }

    async fn interrupt_from_desk(&self, command_id: String, session: &str, thread: &str, reason: &str) -> Answered<()> {
        let command_id = format!("desktop:{command_id}");
        if self.inner.store.receipt(&command_id)?.is_some() {
            return Ok(());
        }
        let root = self.root_of(session)?;
        let id = SessionId::from(thread);
        let meta =
            self.inner.store.session_meta(&id)?.filter(|meta| meta.root_session_id == root).ok_or_else(|| Failure::no_session(thread))?;
        if meta.parent.is_none() {
            return Err(Failure::invalid("this is the session itself; cancel its run instead"));
        }
        if reason.chars().count() > REASON_MAX {
            return Err(Failure::invalid(format!("a reason has at most {REASON_MAX} characters")));
        }
        let keep = |_: &Value| Some(CommandReceipt { command_id: command_id.clone(), body: json!({}) });
        match self.stop(LOCAL_TENANT, &root, &id, reason_or_default(Some(reason)), keep).await {
            Ok(Some(_)) | Err(Failure::Storage(StoreError::Repeated { .. })) => Ok(()),
            Ok(None) => Err(Failure::NotRunning("this delegate has ended already".to_owned())),
            Err(failure) => Err(failure),
        }
    }
}
