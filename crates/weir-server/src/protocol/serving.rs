//! What a server does with requests, as far as that can change while it runs: routes and files, TLS,
//! limits, the log. Connections look it up for each request, so that all of it can be replaced at once; a
//! request is answered to its end by what it began with.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use weir_tls::Server;

use super::journal::Journal;
use super::origin::ProxyHeaders;
use crate::access::Access;
use crate::client::Times;
use crate::config::ProxyProtocol;
use crate::logs::access_log::LogHandle;
use crate::metrics::Metrics;
use crate::send::Sender;
use crate::service::Service;

/// See the module.
#[derive(Debug)]
pub(crate) struct Serving {
    /// Who answers requests.
    pub(crate) service: Service,
    /// Who responses are sent by.
    pub(crate) sender: Sender,
    /// Where responses are counted and logged.
    pub(crate) journal: Journal,
    /// Whether connections begin with a PROXY header.
    pub(crate) proxy_headers: ProxyHeaders,
    /// Who may ask, if not everybody, and who is believed who asks.
    pub(crate) access: Option<Arc<Access>>,
    /// How long clients may take.
    pub(crate) times: Times,
    /// What is offered on ports with TLS, if there are any.
    pub(crate) tls: Option<Arc<Server>>,
    /// The line that responses have on connections with TLS (HSTS).
    pub(crate) hsts: Option<Box<str>>,
}

impl Serving {
    /// `service`: who answers; `log`: where that is written down.
    pub(crate) fn new(
        service: Service,
        log: LogHandle,
        metrics: &Arc<Metrics>,
        proxy_protocol: ProxyProtocol,
        times: Times,
    ) -> Serving {
        let sender = Sender::new(metrics.clone(), times, service.sites().next().cloned());
        let journal = Journal::new(metrics.clone(), log);
        Serving {
            service,
            sender,
            journal,
            proxy_headers: ProxyHeaders::new(proxy_protocol),
            access: None,
            times,
            tls: None,
            hsts: None,
        }
    }
}

/// The [`Serving`] of a worker, as it is now, and those before it that requests are still answered by.
#[derive(Debug)]
pub(crate) struct CurrentServing {
    current: RefCell<Rc<Serving>>,
    before: RefCell<Vec<Weak<Serving>>>,
}

impl CurrentServing {
    pub(crate) fn new(serving: Serving) -> CurrentServing {
        CurrentServing { current: RefCell::new(Rc::new(serving)), before: RefCell::default() }
    }

    /// What requests that come now are answered with.
    pub(crate) fn get(&self) -> Rc<Serving> {
        self.current.borrow().clone()
    }

    /// From the next request of each connection on, `serving` is what answers.
    pub(crate) fn replace(&self, serving: Serving) {
        let old = self.current.replace(Rc::new(serving));
        self.before.borrow_mut().push(Rc::downgrade(&old));
    }

    /// All that requests are answered by at present: what needs to be looked after now and then.
    pub(crate) fn in_use(&self) -> Vec<Rc<Serving>> {
        let mut before = self.before.borrow_mut();
        before.retain(|serving| serving.strong_count() > 0);
        let mut all: Vec<_> = before.iter().filter_map(Weak::upgrade).collect();
        all.push(self.get());
        all
    }
}
