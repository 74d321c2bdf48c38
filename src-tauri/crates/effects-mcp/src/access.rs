//! How a connection stands with its server: what it shows, and what a person can do about it.

use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_runtime::runner::ConnectorFailure;
use rmcp::transport::auth::AuthClient;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::auth::{Grant, SignedIn};
use crate::authorize::{Link, begin};
use crate::credentials::{Credentials, Record, Secret};
use crate::failure::{of_credential, unusable};
use crate::{Connection, Connectors, Endpoint};

/// `auth` of a connection (M-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// The server says what it wants.
    #[default]
    Ask,
    Token,
    Oauth,
    None,
}

impl Auth {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Token => "token",
            Self::Oauth => "oauth",
            Self::None => "none",
        }
    }
}

/// What a client shows to its server.
pub(crate) struct Access {
    path: String,
    endpoint: Endpoint,
    credentials: Credentials,
    auth: Auth,
    from_environment: Option<String>,
    token: Option<String>,
    grant: Option<(Grant, crate::OauthSettings)>,
    signed_in: tokio::sync::Mutex<Option<SignedIn>>,
}

impl Access {
    pub async fn of(path: &str, endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, ConnectorFailure> {
        let mut access = Self {
            path: path.to_owned(),
            endpoint: endpoint.clone(),
            credentials: credentials.clone(),
            auth: Auth::None,
            from_environment: None,
            token: None,
            grant: None,
            signed_in: tokio::sync::Mutex::default(),
        };
        let Endpoint::Http { url, auth, token, oauth, .. } = endpoint else { return Ok(access) };
        access.auth = *auth;
        if *auth == Auth::None {
            return Ok(access);
        }
        access.from_environment.clone_from(token);
        let record = credentials.get(path).await.map_err(|why| unusable(path, why))?;
        match record.filter(|record| belongs(record, endpoint)).map(|record| record.secret) {
            _ if token.is_some() => {}
            Some(Secret::Token { token }) => access.token = Some(token),
            Some(Secret::Oauth { grant: Some(_), client_secret }) => {
                access.grant = Some((grant(path, url, *auth, credentials, client_secret), oauth.clone()));
            }
            _ => {}
        }
        Ok(access)
    }

    pub fn token(&self) -> Option<&str> {
        self.from_environment.as_deref().or(self.token.as_deref())
    }

    /// The client that shows the grant there is, renewed when it is about to end.
    pub async fn signed_in(&self) -> Result<Option<AuthClient<reqwest::Client>>, ConnectorFailure> {
        let Some((grant, settings)) = self.grant.clone() else { return Ok(None) };
        let opened = SignedIn::open(grant, settings).await.map_err(|error| of_credential(&self.path, &error))?;
        let Some((client, signed_in)) = opened else { return Ok(None) };
        *self.signed_in.lock().await = Some(signed_in);
        self.ready().await?;
        Ok(Some(client))
    }

    pub async fn ready(&self) -> Result<(), ConnectorFailure> {
        match &*self.signed_in.lock().await {
            Some(signed_in) => signed_in.ready().await.map_err(|error| of_credential(&self.path, &error)),
            None => Ok(()),
        }
    }

    pub async fn restored(&self) -> bool {
        match &*self.signed_in.lock().await {
            Some(signed_in) => signed_in.restored().await,
            None => false,
        }
    }

    /// M-21: what the server's refusal means. `None`: nothing was to be shown.
    pub async fn when_refused(&self, challenge: Option<&str>) -> Option<&'static str> {
        if self.auth == Auth::None {
            return None;
        }
        if let Some(challenge) = challenge {
            self.credentials.challenged(&self.path, challenge);
            // The token is good, and allows less than the server wants: a person may give more.
            if challenge.contains("insufficient_scope") && self.signed_in.lock().await.is_some() {
                return Some("reauthorize");
            }
        }
        if self.from_environment.is_some() {
            return Some("token_rejected");
        }
        let record = self.credentials.get(&self.path).await.ok().flatten().filter(|record| belongs(record, &self.endpoint));
        Some(record.map_or("never_authorized", |record| record.when_refused()))
    }
}

/// M-2: a credential that was given under another `auth` counts for nothing, nor does a grant for another server.
fn belongs(record: &Record, endpoint: &Endpoint) -> bool {
    let Endpoint::Http { url, auth, .. } = endpoint else { return false };
    record.auth == auth.name() && (matches!(record.secret, Secret::Token { .. }) || record.url == *url)
}

fn grant(path: &str, url: &str, auth: Auth, credentials: &Credentials, client_secret: Option<String>) -> Grant {
    Grant {
        credentials: credentials.clone(),
        path: path.to_owned(),
        auth: auth.name().to_owned(),
        url: url.to_owned(),
        client_secret: Arc::new(Mutex::new(client_secret)),
    }
}

/// What is known of a connection beside its client.
#[derive(Default)]
pub(crate) struct Known {
    /// M-21, as the last need found it.
    refused: Mutex<Option<String>>,
    /// An authorization that a person is giving.
    waiting: Mutex<Option<CancellationToken>>,
    /// How the last authorization failed.
    problem: Mutex<Option<String>>,
}

/// A connection as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub path: String,
    /// The server's address, or the program that is it.
    pub server: String,
    /// `None`: a local server.
    pub auth: Option<Auth>,
    /// `token`, `oauth` or `environment`: where the credential is from.
    pub credential: Option<&'static str>,
    /// M-21, when only a person can help.
    pub needs: Option<String>,
    /// A person is giving an authorization in a browser.
    pub waiting: bool,
    pub problem: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connectors {
    /// Counts up whenever a standing may have changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn noted<T>(&self, connection: &Connection, result: Result<T, ConnectorFailure>) -> Result<T, ConnectorFailure> {
        let refused = result.as_ref().err().and_then(|failure| failure.auth.clone());
        if std::mem::replace(&mut *lock(&connection.standing.refused), refused.clone()) != refused {
            self.changed();
        }
        result
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn all(&self) -> Vec<Arc<Connection>> {
        let mut all: Vec<_> = lock(&self.known).values().cloned().collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    fn named(&self, path: &str) -> Result<Arc<Connection>, String> {
        lock(&self.known).get(path).cloned().ok_or_else(|| format!("the configuration has no connection {path}"))
    }

    /// Reads what is kept. M-2: credentials that were given under another `auth`, or for another server, are thrown away.
    pub async fn settle(&self) {
        for connection in self.all() {
            let settled = match self.credentials.get(&connection.path).await {
                Ok(Some(record)) if !belongs(&record, &connection.endpoint) => self.credentials.remove(&connection.path).await,
                Ok(_) => Ok(()),
                Err(why) => Err(why),
            };
            if let Err(why) = settled {
                tracing::warn!(connection = connection.path, why, "the credential cannot be read");
                *lock(&connection.standing.problem) = Some(why);
            }
        }
        self.changed();
    }

    /// Every connection, by path, as [`Self::settle`] and what happened since have it.
    pub fn standings(&self) -> Vec<Standing> {
        self.all().iter().map(|connection| connection.standing(&self.credentials)).collect()
    }

    /// A token that a person gives (M-2).
    pub async fn set_token(&self, path: &str, token: &str) -> Result<(), String> {
        let connection = self.named(path)?;
        let Endpoint::Http { url, auth, token: environment, .. } = &connection.endpoint else {
            return Err(format!("{path} is a local server: it takes no token"));
        };
        if !matches!(auth, Auth::Ask | Auth::Token) {
            return Err(format!("{path} has `auth = \"{}\"`: it takes no token", auth.name()));
        }
        if environment.is_some() {
            return Err(format!("the token of {path} comes from the environment"));
        }
        if token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic()) {
            return Err("a token is made of letters, digits and signs, without blanks".to_owned());
        }
        let secret = Secret::Token { token: token.to_owned() };
        self.credentials.put(path, Record { auth: auth.name().to_owned(), url: url.clone(), secret }).await?;
        connection.begin_anew();
        self.changed();
        Ok(())
    }

    pub async fn forget(&self, path: &str) -> Result<(), String> {
        let connection = self.named(path)?;
        connection.standing.stop_waiting();
        self.credentials.remove(path).await?;
        connection.begin_anew();
        self.changed();
        Ok(())
    }

    /// A link where a person gives an authorization (M-23: made when it is shown, never stored). A second one replaces the first.
    pub async fn authorize(&self, path: &str) -> Result<Link, String> {
        let connection = self.named(path)?;
        let Endpoint::Http { url, auth, token, oauth, .. } = &connection.endpoint else {
            return Err(format!("{path} is a local server: there is nothing to authorize"));
        };
        if !matches!(auth, Auth::Ask | Auth::Oauth) {
            return Err(format!("{path} has `auth = \"{}\"`: it is not authorized in a browser", auth.name()));
        }
        if token.is_some() {
            return Err(format!("the token of {path} comes from the environment"));
        }
        if let Some(name) = &oauth.missing {
            return Err(format!("the environment variable {name} is not set, and {path} needs it"));
        }
        let grant = grant(path, url, *auth, &self.credentials, None);
        let (link, given) = begin(grant, oauth).await?;
        let stop = connection.standing.wait_anew();
        self.changed();
        let connectors = self.clone();
        tokio::spawn(async move {
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                ended = given => ended,
            };
            match &ended {
                Ok(()) => connection.begin_anew(),
                Err(why) => tracing::warn!(connection = connection.path, why, "the authorization was not given"),
            }
            *lock(&connection.standing.problem) = ended.err();
            connection.standing.stop_waiting();
            connectors.changed();
        });
        Ok(link)
    }
}

impl Known {
    fn wait_anew(&self) -> CancellationToken {
        let stop = CancellationToken::new();
        if let Some(before) = lock(&self.waiting).replace(stop.clone()) {
            before.cancel();
        }
        lock(&self.problem).take();
        stop
    }

    fn stop_waiting(&self) {
        if let Some(before) = lock(&self.waiting).take() {
            before.cancel();
        }
    }
}

impl Connection {
    /// With another credential: the next need connects again. Calls that run keep their client.
    fn begin_anew(&self) {
        lock(&self.start).take();
        lock(&self.standing.refused).take();
        lock(&self.standing.problem).take();
    }

    fn standing(&self, credentials: &Credentials) -> Standing {
        let (server, auth, environment) = match &self.endpoint {
            Endpoint::Stdio { command, .. } => (command.join(" "), None, false),
            Endpoint::Http { url, auth, token, .. } => (url.clone(), Some(*auth), token.is_some()),
        };
        let record = credentials.peek(&self.path).filter(|record| belongs(record, &self.endpoint));
        let credential = match record.as_ref().map(|record| &record.secret) {
            _ if environment => Some("environment"),
            Some(Secret::Token { .. }) => Some("token"),
            Some(Secret::Oauth { grant: Some(_), .. }) => Some("oauth"),
            Some(Secret::Oauth { grant: None, .. }) | None => None,
        };
        let unusable = match (auth, credential, &record) {
            (Some(Auth::Token | Auth::Oauth | Auth::Ask), None, Some(record)) => Some(record.when_refused()),
            (Some(Auth::Token | Auth::Oauth), None, None) => Some("never_authorized"),
            _ => None,
        };
        Standing {
            path: self.path.clone(),
            server,
            auth,
            credential,
            needs: lock(&self.standing.refused).clone().or_else(|| unusable.map(str::to_owned)),
            waiting: lock(&self.standing.waiting).is_some(),
            problem: lock(&self.standing.problem).clone(),
        }
    }
}
