//! Pages that are sent while they are made: a few pieces are ahead of the reader and no more, however
//! long the page becomes. Whoever makes one waits for the reader, and stops when the reader is gone.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use futures_core::Stream;
use tokio::sync::mpsc;

const PIECE: usize = 64 << 10;
const AHEAD: usize = 4;

/// A body that `write` writes, on a thread of its own.
pub(super) fn body(
    write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result + Send + 'static,
) -> Body {
    let (send, receive) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut pieces = Pieces {
            send,
            begun: Vec::with_capacity(PIECE),
        };
        // An error says that nobody reads any more.
        let _ = write(&mut pieces).and_then(|()| pieces.hand_over());
    });
    Body::from_stream(Arriving(receive))
}

struct Pieces {
    send: mpsc::Sender<Bytes>,
    begun: Vec<u8>,
}

impl Pieces {
    fn hand_over(&mut self) -> fmt::Result {
        let piece = std::mem::replace(&mut self.begun, Vec::with_capacity(PIECE));
        self.send
            .blocking_send(piece.into())
            .map_err(|_| fmt::Error)
    }
}

impl fmt::Write for Pieces {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let room = PIECE.saturating_sub(self.begun.len()).min(rest.len());
            let (now, later) = rest.split_at(room);
            self.begun.extend_from_slice(now);
            rest = later;
            if self.begun.len() >= PIECE {
                self.hand_over()?;
            }
        }
        Ok(())
    }
}

struct Arriving(mpsc::Receiver<Bytes>);

impl Stream for Arriving {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A page of a gigabyte of which the reader takes ten pieces.
    #[tokio::test]
    async fn no_more_is_made_than_the_reader_takes() {
        const WHOLE: usize = 1 << 30;
        let made = Arc::new(AtomicUsize::new(0));
        let (count, (ended, end)) = (Arc::clone(&made), tokio::sync::oneshot::channel());
        let body = body(move |out| {
            let line = "x".repeat(1000);
            let result = (0..WHOLE / 1000).try_for_each(|_| {
                count.fetch_add(1000, Ordering::SeqCst);
                out.write_str(&line)
            });
            let _ = ended.send(result);
            result
        });
        let mut data = body.into_data_stream();
        let mut taken = 0;
        for _ in 0..10 {
            let piece = poll_fn(|cx| Pin::new(&mut data).poll_next(cx)).await;
            taken += piece.unwrap().unwrap().len();
        }
        assert_eq!(taken, 10 * PIECE);
        let ahead = made.load(Ordering::SeqCst) - taken;
        assert!(ahead <= (AHEAD + 2) * PIECE, "{ahead} bytes ahead");
        // The reader goes away; the making ends.
        drop(data);
        assert!(end.await.unwrap().is_err());
        assert!(made.load(Ordering::SeqCst) <= (10 + AHEAD + 2) * PIECE);
    }
}
