//! The admin address: a listener of its own, served on the main thread, which has nothing else to do. It
//! is not a worker: it has neither routes nor an uplink, and what operators ask is not logged and not
//! counted among what the server serves. Started by the server if an address is configured.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::task::spawn_local;

use super::worker::{Queries, Shared, keep_deadlines};
use crate::config::Config;
use crate::config::ProxyProtocol;
use crate::listen::{self, Listener};
use crate::logs::access_log::LogHandle;
use crate::metrics::Metrics;
use crate::protocol::{Context, OpenConnections, Serving};
use crate::runtime::stop::Stop;
use crate::service::Service;
use crate::service::admin::{Admin, History, Link};
use crate::sys::descriptors;

/// The admin address before it runs.
pub(super) struct AdminAddress {
    context: Context,
    listener: Listener,
    /// What its page shows of the uplink.
    link: Option<Link>,
}

impl AdminAddress {
    /// `watched`: copies of the workers' listeners; `stop`: when the address itself is to close, which
    /// is later than the workers' listeners.
    pub(super) fn new(
        config: &Config,
        shared: &Shared,
        workers: Vec<Queries>,
        watched: Arc<Mutex<Vec<OwnedFd>>>,
        listener: Listener,
        stop: Stop,
    ) -> AdminAddress {
        let link = config.uplink_config().zip(shared.uplink.clone());
        let link = link.map(|(config, uplink)| Link {
            config,
            uplink,
            history: Arc::<History>::default(),
        });
        let admin = Admin {
            metrics: shared.metrics.clone(),
            link: link.clone(),
            started: Instant::now(),
            disks: shared.disks.clone(),
            routes: shared.routes.clone(),
            obtained: shared.obtained.clone(),
            workers,
            listeners: watched,
            stop: shared.stop.clone(),
        };
        // Nobody reads these.
        let metrics = Arc::new(Metrics::new());
        let (log, off) = (LogHandle::default(), ProxyProtocol::Off);
        let open = OpenConnections::at_most(descriptors::admin_connections());
        let serving = Serving::new(Service::admin(admin), log, &metrics, off, shared.times);
        let context = Context::new(serving, open, metrics, stop);
        AdminAddress { context, listener, link }
    }

    /// Serves operators until the address is to close.
    pub(super) async fn run(self) {
        let AdminAddress { context, listener, link } = self;
        if let Some(Link { uplink, history, .. }) = link {
            spawn_local(async move { history.keep(&uplink).await });
        }
        let context = Rc::new(context);
        spawn_local(keep_deadlines(context.clone()));
        if let Err(error) = listen::serve(&context, vec![listener]).await {
            tracing::error!("the admin address failed: {error}");
        }
        // Idle connections end now.
        context.open.deadlines().wake_all();
    }
}
