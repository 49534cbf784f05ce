//! Connections with a time limit, and where they come from. A request that is not answered in time, one whose
//! head or body trickles in, a response that nobody reads and a connection that lies idle are closed.

use std::future::Future as _;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::http::HeaderMap;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// For one request, from its first byte to the first byte of its response; for each piece of the response; and
/// for the pause before the next request.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A listener whose connections have a time limit and are only so many at once.
pub struct Connections {
    /// Where they come in.
    pub listener: TcpListener,
    /// See [`PATIENCE`].
    pub patience: Duration,
    /// One for each connection; who finds none waits to be accepted.
    pub places: Arc<Semaphore>,
}

impl Listener for Connections {
    type Io = Watched;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Watched, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, from) = Listener::accept(&mut self.listener).await;
        let watched = Watched {
            stream,
            _place: place,
            patience: self.patience,
            end: Box::pin(tokio::time::sleep(self.patience)),
            between: true,
        };
        (watched, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that is closed when its time is over.
pub struct Watched {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
    patience: Duration,
    end: Pin<Box<Sleep>>,
    /// No request is under way.
    between: bool,
}

impl Watched {
    fn extend(&mut self) {
        let end = Instant::now() + self.patience;
        self.end.as_mut().reset(end);
    }

    fn over(&mut self, context: &mut Context<'_>) -> bool {
        self.end.as_mut().poll(context).is_ready()
    }

    /// What a write came to: progress gives more time, a reader who does not read is given up.
    fn wrote<T>(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match done {
            Poll::Ready(Ok(n)) => {
                self.between = true;
                self.extend();
                Poll::Ready(Ok(n))
            }
            Poll::Pending if self.over(context) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            done => done,
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Looked at first: a byte now and then does not keep a connection open.
        if self.over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.between && buffer.filled().len() > before {
            self.between = false;
            self.extend();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.wrote(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(SocketAddr);

impl Connected<IncomingStream<'_, Connections>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        Self(*stream.remote_addr())
    }
}

impl Peer {
    pub(crate) fn socket(self) -> SocketAddr {
        self.0
    }

    /// A number for the connection, the same as long as it lasts.
    pub(crate) fn number(self) -> u64 {
        let hash = blake3::hash(self.0.to_string().as_bytes());
        u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
    }

    /// The address by which limits count, kept in memory only. A reverse proxy on this machine or its own
    /// network says for whom it speaks; nobody else is believed. Of an IPv6 address the network counts, since a
    /// household has all addresses in it.
    pub fn address(self, headers: &HeaderMap) -> IpAddr {
        let own = self.0.ip().to_canonical();
        let near = match own {
            IpAddr::V4(a) => a.is_loopback() || a.is_private(),
            IpAddr::V6(a) => a.is_loopback() || a.is_unique_local(),
        };
        let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
        let said = forwarded
            .and_then(|all| all.to_str().ok())
            .and_then(|all| all.rsplit(',').next())
            .and_then(|last| last.trim().parse::<IpAddr>().ok());
        match said.filter(|_| near).unwrap_or(own).to_canonical() {
            IpAddr::V6(a) => {
                let network = a.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
            v4 => v4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    /// Serves an echo of forms with little patience.
    fn served() -> SocketAddr {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let patience = Duration::from_millis(200);
                let echo = axum::routing::post(async |body: String| body);
                let router = axum::Router::new().route("/", echo);
                let places = Arc::new(Semaphore::new(100));
                axum::serve(
                    Connections {
                        listener,
                        patience,
                        places,
                    },
                    router,
                )
                .await
                .unwrap();
            });
        });
        told.recv().unwrap()
    }

    #[test]
    fn slow_heads_slow_bodies_and_idle_connections_are_closed() {
        let address = served();
        let slow = [
            "",
            "POST / HTTP/1.1\r\nHos",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nab",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
        ];
        for (number, begun) in slow.into_iter().enumerate() {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(begun.as_bytes()).unwrap();
            // A byte now and then until the connection is closed: this ends, or the test does not.
            let mut writer = stream.try_clone().unwrap();
            let trickle = std::thread::spawn(move || {
                while [1, 2].contains(&number) && writer.write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let mut said = Vec::new();
            let _ = stream.read_to_end(&mut said);
            trickle.join().unwrap();
            let said = String::from_utf8_lossy(&said).into_owned();
            assert_eq!(
                said.ends_with("\r\n\r\nab"),
                number == 3,
                "{number}: {said}"
            );
        }
    }

    #[test]
    fn only_a_proxy_nearby_says_for_whom_it_speaks() {
        let from = |peer: &str, forwarded: &str| {
            let mut headers = HeaderMap::new();
            if !forwarded.is_empty() {
                headers.insert("x-forwarded-for", forwarded.parse().unwrap());
            }
            Peer(peer.parse().unwrap()).address(&headers).to_string()
        };
        assert_eq!(from("127.0.0.1:1", ""), "127.0.0.1");
        assert_eq!(from("127.0.0.1:1", "1.2.3.4, 5.6.7.8"), "5.6.7.8");
        assert_eq!(from("[::1]:1", "5.6.7.8"), "5.6.7.8");
        assert_eq!(from("8.8.8.8:1", "5.6.7.8"), "8.8.8.8");
        assert_eq!(from("127.0.0.1:1", "no address"), "127.0.0.1");
        assert_eq!(from("[2001:db8:1:2:3:4:5:6]:1", ""), "2001:db8:1:2::");
        assert_eq!(from("[::ffff:8.8.8.8]:1", ""), "8.8.8.8");
    }
}
