//! Authorization of remote servers (M-21): the grant of an authorization server, used, renewed and asked for.
//!
//! Before each need the token is renewed when it is about to end; a token that is refused is renewed once and the request repeated;
//! a client registration that the authorization server has lost is made again. What is left is for a person.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::{AuthClient, AuthError, AuthorizationManager, CredentialStore, OAuthClientConfig, StoredCredentials};
use tokio::sync::Mutex;

use crate::credentials::{Credentials, Record, Secret};

pub(crate) const CLIENT_NAME: &str = "Holdpoint";

/// Where a registration that serves renewals only would send a browser.
const NO_REDIRECT: &str = "http://127.0.0.1/callback";

/// What a connection's own section says about OAuth (M-1).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthSettings {
    pub scopes: Vec<String>,
    /// Registered beforehand; else the engine registers itself.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// A variable of the environment that is named and not set.
    pub missing: Option<String>,
}

/// A connection's grant in the store, as rmcp wants it.
#[derive(Clone)]
pub(crate) struct Grant {
    pub credentials: Credentials,
    pub path: String,
    pub auth: String,
    pub url: String,
    /// Of the registration in use, when the authorization server gave one.
    pub client_secret: Arc<std::sync::Mutex<Option<String>>>,
}

impl Grant {
    async fn put(&self, grant: Option<StoredCredentials>) -> Result<(), AuthError> {
        let client_secret = self.client_secret.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let secret = Secret::Oauth { grant, client_secret };
        let record = Record { auth: self.auth.clone(), url: self.url.clone(), secret };
        self.credentials.put(&self.path, record).await.map_err(AuthError::CredentialStoreError)
    }

    pub fn registered(&self, config: &OAuthClientConfig) {
        self.client_secret.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone_from(&config.client_secret);
    }
}

#[async_trait]
impl CredentialStore for Grant {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let record = self.credentials.get(&self.path).await.map_err(AuthError::CredentialStoreError)?;
        Ok(match record.map(|record| record.secret) {
            Some(Secret::Oauth { grant, .. }) => grant,
            _ => None,
        })
    }

    async fn save(&self, grant: StoredCredentials) -> Result<(), AuthError> {
        self.put(Some(grant)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.put(None).await
    }

    async fn on_refresh_token_rejected(&self, refused: &StoredCredentials) -> Result<(), AuthError> {
        let same = self.load().await?.is_some_and(|now| now.token_received_at == refused.token_received_at);
        if same { self.put(None).await } else { Ok(()) }
    }
}

/// A connection that shows a grant.
#[derive(Clone)]
pub(crate) struct SignedIn {
    manager: Arc<Mutex<AuthorizationManager>>,
    grant: Grant,
    settings: OauthSettings,
}

impl SignedIn {
    /// The client for a stored grant. `None`: it is not to be used any more (the server has moved to another authorization server).
    pub async fn open(grant: Grant, settings: OauthSettings) -> Result<Option<(AuthClient<reqwest::Client>, Self)>, AuthError> {
        let mut manager = AuthorizationManager::new(grant.url.as_str()).await?;
        manager.set_credential_store(grant.clone());
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        let secret = grant.client_secret.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let stored = grant.load().await?.map(|stored| stored.client_id);
        if let (Some(id), Some(secret)) = (stored, settings.client_secret.clone().or(secret)) {
            manager.configure_client(OAuthClientConfig::new(id, NO_REDIRECT).with_client_secret(secret))?;
        }
        let client = AuthClient::new(http_client()?, manager);
        let signed_in = Self { manager: client.auth_manager.clone(), grant, settings };
        Ok(Some((client, signed_in)))
    }

    /// Renews the token when it is about to end, so that what follows is not refused for that.
    pub async fn ready(&self) -> Result<(), AuthError> {
        let ready = self.manager.lock().await.get_access_token().await;
        match ready {
            Ok(_) | Err(AuthError::AuthorizationRequired) => Ok(()), // what the server says then is told
            Err(error) if is_lost_registration(&error) => self.register_again().await,
            Err(error) => Err(error),
        }
    }

    /// M-21: whether another try may go better, now that the lost registration was made again.
    pub async fn restored(&self) -> bool {
        self.register_again().await.inspect_err(|error| tracing::warn!(%error, "no new registration")).is_ok()
    }

    /// A new registration for the grant there is. Where the authorization server does not take that, the grant is over.
    async fn register_again(&self) -> Result<(), AuthError> {
        if self.settings.client_id.is_some() {
            return self.grant.clear().await; // somebody else's registration
        }
        let mut manager = self.manager.lock().await;
        let Some(mut stored) = self.grant.load().await? else { return Ok(()) };
        let scopes: Vec<&str> = stored.granted_scopes.iter().map(String::as_str).collect();
        let config = match manager.register_client(CLIENT_NAME, NO_REDIRECT, &scopes).await {
            Ok(config) => config,
            Err(AuthError::RegistrationFailed(said)) if !said.starts_with("HTTP request error") => return self.grant.clear().await,
            Err(error) => return Err(error),
        };
        self.grant.registered(&config);
        stored.client_id = config.client_id;
        self.grant.save(stored).await?;
        match manager.refresh_token().await {
            Ok(_) => Ok(()),
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => self.grant.clear().await,
            Err(error) if is_lost_registration(&error) => self.grant.clear().await,
            Err(error) => Err(error),
        }
    }
}

/// Whether a request failed because the authorization server has lost the client's registration.
pub(crate) fn missed_registration(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(current) = at {
        if current.downcast_ref::<AuthError>().is_some_and(is_lost_registration) {
            return true;
        }
        at = current.source();
    }
    false
}

/// The authorization server does not know the client. rmcp hands its answer on as text.
fn is_lost_registration(error: &AuthError) -> bool {
    matches!(error, AuthError::TokenRefreshFailed(said) if said.contains("invalid_client") || said.contains("unauthorized_client"))
}

/// As rmcp's own: no idle connections (they stall on delayed acknowledgements), and a redirect never leaves the origin.
fn http_client() -> Result<reqwest::Client, AuthError> {
    let policy = reqwest::redirect::Policy::custom(|attempt| {
        let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
        let from = attempt.previous().last().map(reqwest::Url::origin);
        if keeps_method && attempt.previous().len() <= 10 && from == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    Ok(reqwest::Client::builder().pool_max_idle_per_host(0).redirect(policy).build()?)
}
