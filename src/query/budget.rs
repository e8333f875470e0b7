//! A ceiling in tokens, never exceeded.

use std::fmt;

/// The most that evidence may cost. Hard: what is returned costs at most this, headings and separators
/// included, always and not on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Budget {
    /// Most tokens of the rendered evidence, as the file's token counter counts them.
    pub tokens: usize,
    /// Most bytes of the rendered evidence, if bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<usize>,
    /// Most items of evidence, if bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_nodes: Option<usize>,
}

impl Budget {
    /// At most `tokens` tokens, from 0; bytes and nodes unbounded.
    #[must_use]
    pub const fn tokens(tokens: usize) -> Self {
        Self { tokens, limit_bytes: None, limit_nodes: None }
    }

    /// The same, and at most `bytes` bytes.
    #[must_use]
    pub const fn bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = Some(bytes);
        self
    }

    /// The same, and at most `nodes` items.
    #[must_use]
    pub const fn nodes(mut self, nodes: usize) -> Self {
        self.limit_nodes = Some(nodes);
        self
    }

    /// Whether `nodes` items that render to `tokens` tokens and `bytes` bytes are within every limit.
    #[must_use]
    pub fn admits(&self, tokens: usize, bytes: usize, nodes: usize) -> bool {
        tokens <= self.tokens
            && self.limit_bytes.is_none_or(|limit| bytes <= limit)
            && self.limit_nodes.is_none_or(|limit| nodes <= limit)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.tokens)?;
        if let Some(bytes) = self.limit_bytes {
            write!(f, ", {bytes} bytes")?;
        }
        if let Some(nodes) = self.limit_nodes {
            write!(f, ", {nodes} nodes")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_binds_on_its_own_and_is_met_exactly() {
        let budget = Budget::tokens(10).bytes(20).nodes(2);

        assert!(budget.admits(10, 20, 2));
        assert!(!budget.admits(11, 20, 2));
        assert!(!budget.admits(10, 21, 2));
        assert!(!budget.admits(10, 20, 3));
        assert_eq!(budget.to_string(), "10 tokens, 20 bytes, 2 nodes");
    }
}
