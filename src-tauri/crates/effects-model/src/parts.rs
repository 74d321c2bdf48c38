//! Message parts (P-19, P-21) as a provider takes them: a picture or file it can read, else a note in words.

use serde_json::{Value, json};

/// What one part is, whichever of its spellings it came in.
#[derive(Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    /// Address of a picture: `data:` or `http(s):`.
    Image(String),
    /// A document as `data:` address, with its name.
    File {
        name: &'a str,
        data: &'a str,
    },
    /// Something no provider is shown: the words that stand for it.
    Note(String),
}

pub fn read(part: &Value) -> Part<'_> {
    let text = |key: &str| part[key].as_str();
    match text("type").unwrap_or_default() {
        "text" => Part::Text(text("text").unwrap_or_default()),
        "image_url" => match part["image_url"]["url"].as_str().or(text("image_url")) {
            Some(url) => Part::Image(url.to_owned()),
            None => note("image", None, None),
        },
        "file" => match part["file"]["file_data"].as_str() {
            Some(data) => Part::File { name: part["file"]["filename"].as_str().unwrap_or("file"), data },
            None => note("file", part["file"]["filename"].as_str(), None),
        },
        "image" => match (text("data"), text("mimeType")) {
            (Some(data), Some(mime)) => Part::Image(format!("data:{mime};base64,{data}")),
            _ => note("image", None, None),
        },
        "attachment" | "blob" | "link" => stored(part),
        "resource" => match part["resource"]["text"].as_str() {
            Some(text) => Part::Text(text),
            None => note("resource", part["resource"]["uri"].as_str(), part["resource"]["mimeType"].as_str()),
        },
        "resource_link" => note("link", text("uri"), text("mimeType")),
        other => note(if other.is_empty() { "content" } else { other }, None, text("mimeType")),
    }
}

/// A stored attachment or a link. Only addresses a provider can read are handed on.
fn stored(part: &Value) -> Part<'_> {
    let uri = part["uri"].as_str().unwrap_or_default();
    let mime = part["mime"].as_str().or(part["mimeType"].as_str());
    let name = part["name"].as_str();
    let inline_image = uri.starts_with("data:image/");
    let web_image = uri.starts_with("https://") && mime.is_some_and(|mime| mime.starts_with("image/"));
    if inline_image || web_image {
        return Part::Image(uri.to_owned());
    }
    if uri.starts_with("data:") {
        return Part::File { name: name.unwrap_or("file"), data: uri };
    }
    note(part["type"].as_str().unwrap_or("file"), name.or(Some(uri)), mime)
}

fn note(kind: &str, name: Option<&str>, mime: Option<&str>) -> Part<'static> {
    let about: Vec<&str> = [Some(kind), name, mime].into_iter().flatten().filter(|word| !word.is_empty()).collect();
    Part::Note(format!("[{} – not shown to the model]", about.join(" ")))
}

/// Splits `data:<mime>;base64,<data>`.
pub fn split_data(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix("data:")?.split_once(";base64,")
}

/// A text part as both wires write it.
pub fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_becomes_something_a_model_can_read_p19_p21() {
        assert_eq!(read(&json!({"type": "text", "text": "hi"})), Part::Text("hi"));
        assert_eq!(
            read(&json!({"type": "image", "data": "QQ==", "mimeType": "image/png"})),
            Part::Image("data:image/png;base64,QQ==".to_owned())
        );
        assert_eq!(
            read(&json!({"type": "attachment", "id": "a", "mime": "text/csv", "size": 3, "uri": "blob:1"})),
            Part::Note("[attachment blob:1 text/csv – not shown to the model]".to_owned())
        );
        assert_eq!(
            read(&json!({"type": "link", "uri": "https://x.test/a.png", "mimeType": "image/png"})),
            Part::Image("https://x.test/a.png".to_owned())
        );
        assert_eq!(read(&json!({"type": "resource", "resource": {"uri": "f:1", "text": "body"}})), Part::Text("body"));
        assert_eq!(read(&json!({"type": "input_audio"})), Part::Note("[input_audio – not shown to the model]".to_owned()));
    }
}
