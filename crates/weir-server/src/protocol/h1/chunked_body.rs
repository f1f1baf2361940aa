//! A body of unknown length in chunks, as HTTP/1.1 sends it: made of one that comes from a backend. Used
//! by [`super::encode`].

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use http::HeaderMap;
use weir_http::h1::chunked::{ChunkedBody, Source};

use crate::body::{Coming, Truncated};

/// See the module.
#[derive(Debug)]
pub(super) struct Chunked(RefCell<ChunkedBody<Data>>);

/// What is put into the chunks.
#[derive(Debug)]
struct Data(Rc<dyn Coming>);

impl Chunked {
    /// The chunks of `body`.
    pub(super) fn new(body: Rc<dyn Coming>) -> Chunked {
        Chunked(RefCell::new(ChunkedBody::new(Data(body))))
    }
}

impl Source for Data {
    fn extent(&self) -> (u64, bool) {
        self.0.extent()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        self.0.read(offset, out)
    }

    fn trailers(&self) -> Option<HeaderMap> {
        self.0.trailers()
    }
}

impl Coming for Chunked {
    fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        self.0.borrow_mut().read(offset, out)
    }

    fn extent(&self) -> (u64, bool) {
        self.0.borrow_mut().extent()
    }

    fn poll_more(&self, context: &mut Context<'_>, offset: u64) -> Poll<Result<(), Truncated>> {
        let chunks = self.0.borrow();
        chunks.source().0.poll_more(context, chunks.needs(offset))
    }

    fn trailers(&self) -> Option<HeaderMap> {
        None
    }
}
