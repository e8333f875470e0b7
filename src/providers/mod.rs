//! stub
/// x
pub const DEFAULT_TOKEN_COUNTER: &str = "o200k_base";
/// x
/// # Errors
/// none
pub fn token_counter(_: &str) -> crate::error::Result<std::sync::Arc<dyn crate::model::TokenCounter>> {
    Err(crate::Error::invalid("stub"))
}
