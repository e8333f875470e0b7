//! Entities by the words of their names.

use std::collections::BTreeMap;

use crate::ids::EntityId;

/// Which entities have which terms in their names.
#[derive(Debug, Default)]
pub struct NameIndex {
    /// Term -> entities and how often they have it, ascending.
    terms: BTreeMap<String, Vec<(EntityId, u32)>>,
    /// Terms of each entity's names.
    lengths: BTreeMap<EntityId, u32>,
    total: u64,
}

impl NameIndex {
    /// Adds an entity, above all before, with the terms of its names.
    pub fn add(&mut self, entity: EntityId, terms: &[String]) {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for term in terms {
            *counts.entry(term).or_default() += 1;
        }
        for (term, count) in counts {
            match self.terms.get_mut(term) {
                Some(list) => list.push((entity, count)),
                None => drop(self.terms.insert(term.to_owned(), vec![(entity, count)])),
            }
        }
        let length = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        self.lengths.insert(entity, length);
        self.total += u64::from(length);
    }

    /// The best `limit` entities for distinct `terms` by BM25 (k1 1.2, b 0.75) over names and aliases, best first,
    /// ties to the lower id.
    #[must_use]
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "scores are rounded")]
    pub fn search(&self, terms: &[String], limit: usize) -> Vec<(EntityId, f32)> {
        let n = self.lengths.len() as f64;
        let mean = (self.total as f64 / n.max(1.0)).max(1.0);
        let mut scores: BTreeMap<EntityId, f64> = BTreeMap::new();
        for term in terms {
            let Some(list) = self.terms.get(term) else { continue };
            let found = list.len() as f64;
            let idf = libm::log(1.0 + (n - found + 0.5) / (found + 0.5));
            for (entity, count) in list {
                let (count, length) = (f64::from(*count), f64::from(self.lengths[entity]));
                let score = idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean));
                *scores.entry(*entity).or_default() += score;
            }
        }
        let mut found: Vec<(EntityId, f32)> =
            scores.into_iter().map(|(id, score)| (id, score as f32)).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(limit);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Names of 2, 1 and 3 terms, mean 2. "river" is in two of three: idf ln(1 + 1.5/2.5) = 0.4700. Of name 1:
    /// 0.47 * 2.2 / (1 + 1.2) = 0.47; of name 3: 0.47 * 2.2 / (1 + 1.2 * 1.375) = 0.3902.
    #[test]
    fn shorter_names_win_and_a_rare_word_counts_more() {
        let mut index = NameIndex::default();
        for (id, name) in [(1, "river plate"), (2, "ocean"), (3, "red river valley")] {
            index.add(EntityId(id), &terms(name));
        }

        let found = index.search(&terms("river"), 9);

        assert_eq!(found.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 3]);
        assert!((found[0].1 - 0.4700).abs() < 1e-4 && (found[1].1 - 0.3902).abs() < 1e-4, "{found:?}");
        assert_eq!(index.search(&terms("river ocean"), 1)[0].0, EntityId(2));
        assert_eq!(index.search(&terms("zeppelin"), 9), []);
    }
}
