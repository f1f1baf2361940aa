//! The HTTP client that the ACME library asks with: over TLS alone, with a time limit for every answer
//! and a bound for its length. Used by the authority. A [`Visit`] is one conversation and remembers how
//! long the server said to wait, which the library forgets.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use weir_tls::certificates::read_authorities;
use weir_tls::client::system_authorities;

use super::answer::{check_directory, check_problem, retry_after, set_retry_after};
use crate::failure::{Failure, with_causes};
use crate::schedule::renewal::USUAL_QUESTION;
use crate::settings::DirectoryUrl;

/// Longest time until an answer is there, connecting included.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);
/// Bytes of an answer at most: chains have some thousands.
const LARGEST_ANSWER: usize = 1024 * 1024;

/// Connections to the ACME server; they are kept for a while.
#[derive(Clone, Debug)]
pub(super) struct Client {
    connections: Connections<HttpsConnector<HttpConnector>, BodyWrapper<Bytes>>,
    longest_answer: Duration,
}

/// One conversation.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    client: Client,
    directory: String,
    /// What the last answer said.
    retry_after: Arc<Mutex<Option<Duration>>>,
}

impl Client {
    /// `roots`: a PEM file that the server's certificate is checked against instead of the system's.
    ///
    /// # Errors
    ///
    /// If there are no roots.
    pub(super) fn new(roots: Option<&Path>) -> Result<Client, Failure> {
        let roots = match roots {
            Some(file) => read_authorities(file),
            None => system_authorities(),
        };
        let roots = roots.map_err(|error| Failure::unjudged(error.to_string()))?;
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::unjudged(format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(roots.roots().clone())
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .build();
        let connections = Connections::builder(TokioExecutor::new()).build(connector);
        Ok(Client { connections, longest_answer: LONGEST_ANSWER })
    }
}

impl Visit {
    pub(super) fn new(client: &Client, directory: &DirectoryUrl) -> Visit {
        let directory = directory.to_string();
        Visit { client: client.clone(), directory, retry_after: Arc::default() }
    }

    /// How long the server said to wait when it last answered: it refused, or had not decided yet.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        *self.retry_after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn exchange(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Result<BytesResponse, Broken> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let broken = |what: String| Broken { uri: uri.clone(), what };
        let answer = async {
            let response = self.client.connections.request(request).await;
            let response = response.map_err(|error| broken(no_connection(&error)))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, LARGEST_ANSWER).collect().await;
            let body = body.map_err(|error| broken(no_body(&*error)))?;
            Ok::<_, Broken>((parts, body.to_bytes()))
        };
        let limit = self.client.longest_answer;
        let answer = tokio::time::timeout(limit, answer).await;
        let (mut parts, body) = answer.unwrap_or_else(|_| {
            Err(broken(format!("did not answer within {}", crate::moment::span(limit))))
        })?;
        let wait = retry_after(&parts.headers, SystemTime::now());
        *self.retry_after.lock().unwrap_or_else(PoisonError::into_inner) = wait;
        let is_directory = uri == *self.directory;
        // Beside the directory only renewal information is asked for by GET. The library takes none
        // that does not say when to ask again.
        let is_suggestion = method == Method::GET && !is_directory;
        set_retry_after(&mut parts.headers, wait.or(is_suggestion.then_some(USUAL_QUESTION)));
        match is_directory {
            true => check_directory(&parts, &body).map_err(broken)?,
            false => check_problem(&parts, &body).map_err(broken)?,
        }
        Ok(BytesResponse { parts, body: Box::new(body) })
    }
}

impl HttpClient for Visit {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let visit = self.clone();
        Box::pin(async move {
            let answer = visit.exchange(request).await;
            answer.map_err(|broken| instant_acme::Error::Other(Box::new(broken)))
        })
    }
}

/// An exchange without an answer that could be passed on.
#[derive(Debug)]
struct Broken {
    uri: Uri,
    what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.uri, self.what)
    }
}

impl Error for Broken {}

fn no_connection(error: &dyn Error) -> String {
    let causes = with_causes(error);
    let remedy = match causes.contains("UnknownIssuer") {
        true => "; name a PEM file with the authority of its certificate as `acme_ca`",
        false => "",
    };
    format!("cannot be asked: {causes}{remedy}")
}

fn no_body(error: &(dyn Error + Send + Sync + 'static)) -> String {
    match error.is::<http_body_util::LengthLimitError>() {
        true => format!("sent more than {} KB", LARGEST_ANSWER / 1024),
        false => format!("broke off: {}", with_causes(error)),
    }
}

#[cfg(test)]
mod tests;
