//! A server on loopback that answers exactly what a test tells it to, byte for byte: for attacks that
//! no honest server would think of. One request for each connection, one thread for each.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// GET or POST.
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
    /// Nothing: the connection is closed.
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

    /// Its address with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything it was asked so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(stream: &TcpStream, answer: &Answers, book: &Mutex<Vec<Heard>>) -> std::io::Result<()> {
    let heard = read(stream)?;
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

fn read(stream: &TcpStream) -> std::io::Result<Heard> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    // A connection that was opened and closed asked nothing.
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let mut words = line.split_whitespace();
    let mut heard = Heard {
        method: words.next().unwrap_or_default().to_owned(),
        path: words.next().unwrap_or_default().to_owned(),
        ..Heard::default()
    };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            let pair = (name.to_lowercase(), value.trim().to_owned());
            heard.headers.push(pair);
        }
    }
    let length = heard.headers.iter().find(|(n, _)| n == "content-length");
    let length = length.and_then(|(_, v)| v.parse().ok()).unwrap_or(0);
    heard.body = vec![0; length];
    reader.read_exact(&mut heard.body)?;
    Ok(heard)
}
