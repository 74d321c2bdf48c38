//! A server on loopback that says exactly what a test wants said, byte by byte, and tells what it was asked.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What one connection gets after its request.
pub struct Answer {
    bytes: Vec<u8>,
    /// Hold the connection open until the other side closes it.
    hang: bool,
}

pub struct Request {
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

pub struct Server {
    pub url: String,
    requests: UnboundedReceiver<Request>,
    closed: UnboundedReceiver<()>,
}

impl Server {
    /// Gives the answers in order, one to each connection.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (tell_request, requests) = unbounded_channel();
        let (tell_closed, closed) = unbounded_channel();
        let answers = Arc::new(Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, Arc::clone(&answers), tell_request.clone(), tell_closed.clone()));
            }
        });
        Self { url, requests, closed }
    }

    pub async fn request(&mut self) -> Request {
        self.requests.recv().await.expect("a request")
    }

    /// Returns when the other side has closed a hanging connection.
    pub async fn closed(&mut self) {
        self.closed.recv().await.expect("a closed connection");
    }
}

async fn connection(
    mut stream: TcpStream,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    tell_request: UnboundedSender<Request>,
    tell_closed: UnboundedSender<()>,
) {
    let Some(request) = read_request(&mut stream).await else { return };
    let answer = answers.lock().expect("no test panics holding it").pop_front().expect("an answer for each request");
    let hang = answer.hang;
    stream.write_all(&answer.bytes).await.ok();
    stream.flush().await.ok();
    tell_request.send(request).ok();
    if hang {
        let mut rest = [0; 64];
        while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
        tell_closed.send(()).ok();
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let target = lines.next()?.to_owned();
    let headers: Vec<(String, String)> =
        lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse::<usize>().ok()?;
    while bytes.len() < head + 4 + length {
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    }
    Some(Request { target, headers, body: bytes[head + 4..].to_vec() })
}

/// A whole answer.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut text = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    Answer { bytes: format!("{text}\r\n{body}").into_bytes(), hang: false }
}

pub fn json(status: u16, body: &Value) -> Answer {
    answer(status, &[("content-type", "application/json")], &body.to_string())
}

/// An event stream in exactly these fragments.
pub fn events<S: AsRef<[u8]>>(fragments: &[S]) -> Answer {
    let mut cut = cut(fragments);
    cut.bytes.extend_from_slice(b"0\r\n\r\n");
    cut
}

/// As [`events`], but the connection breaks after the last fragment.
pub fn cut<S: AsRef<[u8]>>(fragments: &[S]) -> Answer {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for fragment in fragments.iter().map(AsRef::as_ref) {
        bytes.extend_from_slice(format!("{:x}\r\n", fragment.len()).as_bytes());
        bytes.extend_from_slice(fragment);
        bytes.extend_from_slice(b"\r\n");
    }
    Answer { bytes, hang: false }
}

/// As [`cut`], but the connection stays open until the other side closes it.
pub fn hanging<S: AsRef<[u8]>>(fragments: &[S]) -> Answer {
    Answer { hang: true, ..cut(fragments) }
}

/// Takes the request and says nothing at all.
pub fn silent() -> Answer {
    Answer { bytes: Vec::new(), hang: true }
}

/// Takes the request and closes the connection.
pub fn drop_connection() -> Answer {
    Answer { bytes: Vec::new(), hang: false }
}

/// An address where nobody answers. The port stays taken, so that nobody else comes to listen there.
pub fn nobody() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = socket.local_addr().expect("an address");
    (socket, format!("http://{address}"))
}

/// One frame per value, as `data:` lines.
pub fn data_frames(values: &[Value]) -> Vec<String> {
    values.iter().map(|value| format!("data: {value}\n\n")).collect()
}
