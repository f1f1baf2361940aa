//! Content that is compressed as it comes, piece by piece: each goes to a thread together with the encoder,
//! and both come back. Used by the proxy for answers that have not come whole.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;
use weir_http::message::coding::Coding;

use super::encoder::Encoder;
use super::pool::Pool;

/// See the module.
#[derive(Debug)]
pub(crate) struct Stream {
    coding: Coding,
    /// `None`: the first piece makes it.
    encoder: Option<Encoder>,
    pool: Arc<Pool>,
    _place: Place,
}

/// One of the streams that may be under way at once, each with an encoder's memory.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Place {
    /// A place among `most`, if one is free; `taken` counts them.
    pub(super) fn among(most: usize, taken: &Arc<AtomicUsize>) -> Option<Place> {
        let one_more = |count| (count < most).then_some(count + 1);
        let free = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        free.is_ok().then(|| Place(taken.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stream {
    pub(super) fn new(coding: Coding, pool: Arc<Pool>, place: Place) -> Stream {
        Stream { coding, encoder: None, pool, _place: place }
    }

    /// What follows of the compressed content, such that a client can decode all of `bytes` at once.
    ///
    /// # Errors
    ///
    /// It cannot go on.
    pub(crate) async fn write(&mut self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        self.step(bytes, |mut encoder, bytes| {
            encoder.write(bytes)?;
            let out = encoder.flushed()?;
            Ok((Some(encoder), out))
        })
        .await
    }

    /// The rest of the compressed content.
    ///
    /// # Errors
    ///
    /// It cannot be ended.
    pub(crate) async fn finish(mut self) -> io::Result<Vec<u8>> {
        self.step(Vec::new(), |encoder, _| Ok((None, encoder.finish()?))).await
    }

    async fn step<F>(&mut self, bytes: Vec<u8>, step: F) -> io::Result<Vec<u8>>
    where
        F: FnOnce(Encoder, &[u8]) -> io::Result<(Option<Encoder>, Vec<u8>)> + Send + 'static,
    {
        let (coding, encoder) = (self.coding, self.encoder.take());
        let (answer, result) = oneshot::channel();
        let count = bytes.len();
        let work = move || {
            let encoder = encoder.map_or_else(|| Encoder::new(coding, None), Ok);
            let _ = answer.send(encoder.and_then(|encoder| step(encoder, &bytes)));
        };
        let nobody = || io::Error::other("there is no thread that compresses");
        self.pool.go_on(count, work);
        let (encoder, out) = result.await.map_err(|_| nobody())??;
        self.encoder = encoder;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoder::decode;
    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test]
    async fn pieces_make_one_content() {
        let pool = Arc::new(Pool::new(2, Arc::new(Metrics::new())));
        let taken = Arc::default();
        for coding in Coding::ALL {
            let place = Place::among(1, &taken).expect("the one before has ended");
            assert!(Place::among(1, &taken).is_none());
            let mut stream = Stream::new(coding, pool.clone(), place);
            let mut out = stream.write(b"one piece, ".to_vec()).await.unwrap();
            assert!(!out.is_empty());
            out.extend(stream.write(b"and another".to_vec()).await.unwrap());
            out.extend(stream.finish().await.unwrap());
            assert_eq!(decode(coding, &out), b"one piece, and another");
        }
        assert_eq!(taken.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn an_empty_stream_is_an_empty_content() {
        let pool = Arc::new(Pool::new(1, Arc::new(Metrics::new())));
        for coding in Coding::ALL {
            let place = Place::among(1, &Arc::default()).unwrap();
            let out = Stream::new(coding, pool.clone(), place).finish().await.unwrap();
            assert_eq!(decode(coding, &out), b"");
        }
    }
}
