//! Who calls (B-7, H-1): a missing or bad credential is 401, one of too low rank for the path 403; a higher one may use lower paths.

use axum::extract::FromRequestParts;
use axum::http::{HeaderMap, header, request::Parts};
use holdpoint_app::caller::Caller;
use holdpoint_app::error::Failure;
use holdpoint_core::event::Rank;
use holdpoint_core::rejection::Code;

use crate::Api;
use crate::error::Refused;

/// Client token or higher.
pub(crate) struct Client(pub Caller);
/// API key or higher.
pub(crate) struct Machine(pub Caller);
/// The operator.
pub(crate) struct Operator;

fn caller(parts: &Parts, api: &Api, least: Rank) -> Result<Caller, Refused> {
    if !api.auth {
        return Ok(Caller::operator());
    }
    let caller = api.app.authenticate(bearer(&parts.headers))?;
    if caller.rank < least {
        return Err(Failure::refuse(Code::AccessDenied, "this credential's rank is too low for this path").into());
    }
    Ok(caller)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl FromRequestParts<Api> for Client {
    type Rejection = Refused;
    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Refused> {
        caller(parts, api, Rank::Frontend).map(Self)
    }
}

impl FromRequestParts<Api> for Machine {
    type Rejection = Refused;
    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Refused> {
        caller(parts, api, Rank::Machine).map(Self)
    }
}

impl FromRequestParts<Api> for Operator {
    type Rejection = Refused;
    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Refused> {
        caller(parts, api, Rank::Operator).map(|_| Self)
    }
}
