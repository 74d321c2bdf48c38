//! Client tokens (H-2): short-lived JWTs that let a frontend act for one owner in one tenant.

use holdpoint_core::time::Millis;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// The owner's id.
    pub sub: String,
    /// Tenant of the key that minted it. A token minted elsewhere with the shared secret has none: the local tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Seconds since 1970.
    #[serde(default)]
    pub iat: i64,
    pub exp: i64,
    /// A token minted elsewhere may say that it is not good yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
}

pub fn mint(secret: &str, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(secret.as_bytes()))
}

/// The claims of a token that is signed with `secret`, names an owner, and at `now` has begun and is not over.
pub fn verify(secret: &str, token: &str, now: Millis) -> Option<Claims> {
    let mut rules = Validation::new(Algorithm::HS256);
    // The expiry is checked below against the app's clock, without the library's minute of leeway.
    rules.validate_exp = false;
    rules.validate_aud = false;
    let claims = jsonwebtoken::decode::<Claims>(token, &DecodingKey::from_secret(secret.as_bytes()), &rules).ok()?.claims;
    let begun = claims.nbf.is_none_or(|start| start.saturating_mul(1000) <= now.0);
    (!claims.sub.is_empty() && begun && now.0 < claims.exp.saturating_mul(1000)).then_some(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_until_its_time_and_only_under_its_secret_h2() -> Result<(), jsonwebtoken::errors::Error> {
        let claims = Claims { sub: "user-1".into(), tenant: Some("acme".into()), metadata: None, iat: 100, exp: 700, nbf: None };
        let token = mint("secret", &claims)?;
        assert_eq!(verify("secret", &token, Millis(699_999)), Some(claims));
        assert_eq!(verify("secret", &token, Millis(700_000)), None, "its time is over");
        assert_eq!(verify("other", &token, Millis(100_000)), None, "another secret");
        let (head, tail) = token.rsplit_once('.').expect("a JWT has three parts");
        assert_eq!(verify("secret", head, Millis(100_000)), None, "no signature");
        assert_eq!(verify("secret", &format!("{head}.{}x", &tail[1..]), Millis(100_000)), None, "a forged signature");
        // {"alg":"none"} with the same claims
        let body = token.split('.').nth(1).expect("a JWT has three parts");
        assert_eq!(verify("secret", &format!("eyJhbGciOiJub25lIn0.{body}."), Millis(100_000)), None, "no algorithm is no signature");
        Ok(())
    }

    #[test]
    fn a_token_does_not_hold_before_its_time_h2() -> Result<(), jsonwebtoken::errors::Error> {
        let claims = Claims { sub: "user-1".into(), tenant: None, metadata: None, iat: 100, exp: 700, nbf: Some(200) };
        let token = mint("secret", &claims)?;
        assert_eq!(verify("secret", &token, Millis(199_999)), None);
        assert_eq!(verify("secret", &token, Millis(200_000)), Some(claims));
        Ok(())
    }

    #[test]
    fn a_token_without_owner_is_none_h2() -> Result<(), jsonwebtoken::errors::Error> {
        let token = mint("secret", &Claims { sub: String::new(), tenant: None, metadata: None, iat: 0, exp: 10, nbf: None })?;
        assert_eq!(verify("secret", &token, Millis(0)), None);
        Ok(())
    }
}
