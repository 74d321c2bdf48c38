//! Attachments (P-19): bytes of `data:` URIs go to blob storage, the log keeps where. On the way to a model they are put back.
//!
//! A stored attachment's URI names the session it came with, because whoever may read that session may read the bytes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use holdpoint_core::id::SessionId;
use holdpoint_core::message::{Content, Message};
use holdpoint_store::{Blob, Store};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::error::Failure;
use crate::{Answered, App};

const SCHEME: &str = "holdpoint:blob/";

/// Moves the bytes of every part into blob storage.
pub(crate) async fn store_messages(store: &Store, session: &SessionId, messages: &mut [Message]) -> Answered<()> {
    for message in messages {
        if let Some(Content::Parts(parts)) = &mut message.content {
            store_parts(store, session, parts).await?;
        }
    }
    Ok(())
}

/// The same for the messages of a worker's response, whose shape nobody has checked yet.
pub(crate) async fn store_response(store: &Store, session: &SessionId, response: &mut Value) -> Answered<()> {
    for message in response.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(parts) = message.get_mut("content").and_then(Value::as_array_mut) {
            store_parts(store, session, parts).await?;
        }
    }
    Ok(())
}

async fn store_parts(store: &Store, session: &SessionId, parts: &mut [Value]) -> Answered<()> {
    for part in parts {
        match source(part)? {
            None => {}
            Some(Source::Link(link)) => *part = link,
            Some(Source::Bytes { mime, bytes, name }) => {
                let size = bytes.len();
                let hash = store.put_blob(bytes, mime.clone()).await?;
                let uri = format!("{SCHEME}{session}/{hash}");
                *part = json!({"type": "attachment", "id": format!("att_{}", &hash[..26]), "mime": mime, "size": size, "uri": uri});
                if let Some(name) = name {
                    part["name"] = json!(name);
                }
            }
        }
    }
    Ok(())
}

/// What a client's part becomes in the log.
#[derive(Debug, PartialEq)]
enum Source {
    Bytes { mime: String, bytes: Vec<u8>, name: Option<String> },
    Link(Value),
}

fn source(part: &Value) -> Answered<Option<Source>> {
    let inner = |outer: &str, key: &str| part[outer][key].as_str().or(part[outer].as_str());
    let (uri, family) = match part["type"].as_str().unwrap_or_default() {
        "image_url" => (inner("image_url", "url"), "image/*"),
        "video_url" => (inner("video_url", "url"), "video/*"),
        "file" => (part["file"]["file_data"].as_str(), "application/octet-stream"),
        "input_audio" => return audio(&part["input_audio"]).map(Some),
        "attachment" | "blob" | "link" => (part["uri"].as_str().filter(|uri| uri.starts_with("data:")), ""),
        _ => return Ok(None),
    };
    let Some(uri) = uri else { return Ok(None) };
    let name = part["file"]["filename"].as_str().or(part["name"].as_str()).map(str::to_owned);
    if let Some(data) = uri.strip_prefix("data:") {
        let (mime, bytes) = decode(data)?;
        return Ok(Some(Source::Bytes { mime, bytes, name }));
    }
    let mut link = json!({"type": "link", "uri": uri, "mimeType": family});
    if let Some(name) = name {
        link["name"] = json!(name);
    }
    Ok(Some(Source::Link(link)))
}

fn audio(audio: &Value) -> Answered<Source> {
    let data = audio["data"].as_str().unwrap_or_default();
    if let Some(uri) = data.strip_prefix("data:") {
        let (mime, bytes) = decode(uri)?;
        return Ok(Source::Bytes { mime, bytes, name: None });
    }
    let mime = format!("audio/{}", audio["format"].as_str().unwrap_or("wav"));
    Ok(Source::Bytes { mime, bytes: base64(data)?, name: None })
}

/// What follows `data:`.
fn decode(data: &str) -> Answered<(String, Vec<u8>)> {
    let (head, body) = data.split_once(',').ok_or_else(|| Failure::invalid("a data: URI without a comma holds no data"))?;
    let (mime, encoded) = match head.strip_suffix(";base64") {
        Some(mime) => (mime, true),
        None => (head, false),
    };
    let mime = if mime.is_empty() { "text/plain" } else { mime }.to_owned();
    Ok((mime, if encoded { base64(body)? } else { percent_decoded(body) }))
}

fn base64(text: &str) -> Answered<Vec<u8>> {
    BASE64_STANDARD.decode(text).map_err(|error| Failure::invalid(format!("the base64 of an attachment is broken: {error}")))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        if let Some(value) = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(value);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    out
}

/// Session and hash of a stored attachment.
fn parse_uri(uri: &str) -> Option<(&str, &str)> {
    let (session, hash) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    Some((session, hash)).filter(|(_, hash)| hash.len() == 64)
}

/// Puts the bytes back as `data:` URIs: only so can a provider read them.
pub(crate) fn resolve(store: &Store, messages: &mut [Message]) {
    for message in messages {
        let Some(Content::Parts(parts)) = &mut message.content else { continue };
        for part in parts.iter_mut().filter(|part| part["type"] == "attachment") {
            let Some((_, hash)) = part["uri"].as_str().and_then(parse_uri) else { continue };
            if let Ok(Some(Blob { media_type, bytes })) = store.blob(hash) {
                part["uri"] = json!(format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(bytes)));
            }
        }
    }
}

impl App {
    /// `GET /api/client/blobs?uri=`: only an attachment that a session of the caller holds.
    pub async fn blob(&self, caller: &Caller, uri: &str) -> Answered<Blob> {
        let missing = || Failure::NotFound("there is no such attachment".to_owned());
        let (session, hash) = parse_uri(uri).ok_or_else(missing)?;
        let session = self.readable(caller, session).await?;
        let held = self.inner.engine.read(&session, |state| {
            let parts = |message: &Message| match &message.content {
                Some(Content::Parts(parts)) => parts.iter().any(|part| part["uri"] == uri),
                _ => false,
            };
            state.tree.nodes().iter().any(|node| parts(&node.message))
        });
        if held.await? != Some(true) {
            return Err(missing());
        }
        self.inner.store.blob(hash)?.ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart_from_links_p19() {
        let bytes = |mime: &str, bytes: &[u8]| Source::Bytes { mime: mime.to_owned(), bytes: bytes.to_owned(), name: None };
        for (part, wanted) in [
            (json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}), bytes("image/png", b"A")),
            (json!({"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}}), bytes("audio/mp3", b"A")),
            (json!({"type": "blob", "uri": "data:,a%20b%zz"}), bytes("text/plain", b"a b%zz")),
            (
                json!({"type": "image_url", "image_url": {"url": "https://x.test/a"}}),
                Source::Link(json!({"type": "link", "uri": "https://x.test/a", "mimeType": "image/*"})),
            ),
        ] {
            assert_eq!(source(&part).expect("a readable part"), Some(wanted), "{part}");
        }
        assert_eq!(source(&json!({"type": "text", "text": "data:,x"})).expect("text"), None, "text stays text");
        let broken = json!({"type": "file", "file": {"file_data": "data:a/b;base64,***"}});
        assert_eq!(source(&broken).map(|_| ()).expect_err("broken base64").http_status(), 400);
    }

    #[test]
    fn a_stored_uri_names_its_session() {
        let hash = "a".repeat(64);
        assert_eq!(parse_uri(&format!("holdpoint:blob/sesn_1/{hash}")), Some(("sesn_1", hash.as_str())));
        assert_eq!(parse_uri("holdpoint:blob/sesn_1/short"), None);
        assert_eq!(parse_uri("https://x.test/sesn_1/y"), None);
    }
}
