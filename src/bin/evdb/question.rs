//! The text of a query.

use std::io::Read;

use crate::failure::Failure;

/// The query as typed, or standard input for `-`. It may be empty only if a vector speaks for it.
pub fn text(typed: Option<&str>, has_vector: bool) -> Result<String, Failure> {
    let text = match typed {
        Some("-") => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| Failure::Error(format!("cannot read standard input: {error}"), None))?;
            String::from_utf8_lossy(&bytes).trim().to_owned()
        }
        Some(typed) => typed.trim().to_owned(),
        None => String::new(),
    };
    if text.is_empty() && !has_vector {
        return Err(Failure::usage("the query is empty", "write it in quotes, such as 'highest mountain'"));
    }
    Ok(text)
}
