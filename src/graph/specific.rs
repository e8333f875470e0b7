//! How much an object tells apart.

use super::view::Graph;
use super::view::Object;

/// What is known of an entity's commonness, from counters that the graph keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Specificity {
    /// Memberships in hyperedges.
    pub degree: u32,
    /// Nodes that mention it.
    pub mentions: u32,
}

impl Graph {
    /// How common `object` is: of a node the mentions are entities it mentions, of a hyperedge the nodes that
    /// support it. Zeros if it is not in the graph. O(log n) to find it, O(1) to count.
    #[must_use]
    pub fn specificity(&self, object: Object) -> Specificity {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let mentions = match object {
            Object::Entity(id) => self.mentions(id).len(),
            Object::Node(id) => self.mentioned_by(id).len(),
            Object::Hyperedge(id) => self.supports(id).len(),
        };
        Specificity { degree: self.degree(object), mentions: count(mentions) }
    }
}

impl Specificity {
    /// `1` for a degree of at most 1, else `1 / (1 + ln degree)`; in (0, 1].
    ///
    /// # Source
    ///
    /// ConRAG (arXiv 2605.28093), first release: its penalty of hubs.
    #[must_use]
    pub fn penalty(self) -> f32 {
        if self.degree <= 1 { 1.0 } else { narrow(1.0 / (1.0 + libm::log(f64::from(self.degree)))) }
    }

    /// `ln(1 + n / mentions) / ln(1 + n)` for `n` leaves; 1 for a single mention, and for none.
    ///
    /// # Source
    ///
    /// ConRAG, later text, its `IDFWeight`. Departure: the formula is inferred, not printed.
    #[must_use]
    pub fn idf(self, leaves: u32) -> f32 {
        let (n, mentions) = (f64::from(leaves.max(1)), f64::from(self.mentions.max(1)));
        narrow(libm::log(1.0 + n / mentions) / libm::log(1.0 + n))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest f32, on purpose")]
fn narrow(x: f64) -> f32 {
    x as f32
}
