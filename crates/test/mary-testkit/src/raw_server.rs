//! A server on loopback that answers exactly what a test tells it to, byte for byte: for attacks that
//! no honest server would think of. One request for each connection, one thread for each.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, Default)]
pub struct Heard {
    pub method: String,
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub enum Say {
    /// A status, further headers and a body.
    Answer(u16, Vec<(String, String)>, Vec<u8>),
    /// These bytes and nothing else.
    Bytes(Vec<u8>),
    Nothing,
}

impl Say {
    /// JSON with status 200.
    pub fn json(value: &serde_json::Value) -> Self {
        Self::Answer(200, Vec::new(), value.to_string().into_bytes())
    }
}

type Answers = dyn Fn(&Heard) -> Say + Send + Sync;

/// The server. It ends with the process; dropping it only stops it from being known.
#[derive(Debug)]
pub struct RawServer {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl RawServer {
    pub fn start(answer: impl Fn(&Heard) -> Say + Send + Sync + 'static) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&heard);
        let answer: Arc<Answers> = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, book) = (Arc::clone(&answer), Arc::clone(&book));
                std::thread::spawn(move || {
                    // A client that went away is what some tests want.
                    let _ = serve(&stream, &*answer, &book);
                });
            }
        });
        Ok(Self { address, heard })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(stream: &TcpStream, answer: &Answers, book: &Mutex<Vec<Heard>>) -> std::io::Result<()> {
    // A connection that was opened and closed asked nothing.
    let Some(heard) = read(&mut BufReader::new(stream))? else {
        return Ok(());
    };
    book.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(heard.clone());
    let mut stream = stream;
    match answer(&heard) {
        Say::Answer(status, headers, body) => {
            let mut head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n",
                body.len()
            );
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str("\r\n");
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)
        }
        Say::Bytes(bytes) => stream.write_all(&bytes),
        Say::Nothing => Ok(()),
    }
}

/// The next request of a connection; `None` where it is closed before one is whole.
pub(crate) fn read(reader: &mut impl BufRead) -> std::io::Result<Option<Heard>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let mut heard = Heard::parse(&head);
    heard.body = vec![0; heard.length()];
    reader.read_exact(&mut heard.body)?;
    Ok(Some(heard))
}

impl Heard {
    /// A request but for its body, from the text before it.
    pub(crate) fn parse(head: &str) -> Self {
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split_whitespace();
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_lowercase(), value.trim().to_owned()))
        };
        Self {
            method: words.next().unwrap_or_default().to_owned(),
            path: words.next().unwrap_or_default().to_owned(),
            headers: lines.filter_map(header).collect(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn length(&self) -> usize {
        let length = self.header("content-length");
        length.and_then(|v| v.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn token(&self) -> Option<&str> {
        let token = self.header("authorization");
        token.map(|value| value.trim_start_matches("Bearer "))
    }
}
