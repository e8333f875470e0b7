//! Structure as paths of names.

use super::PathShape;
use super::Paths;
use super::run::ConRagHit;
use crate::db::ReadTransaction;
use crate::error::Result;
use crate::ids::NodeId;
use crate::query::FindPaths;
use crate::query::PathHit;
use crate::query::Question;
use crate::query::ScoreMap;
use crate::query::SentenceVectors;
use crate::query::Step;
use crate::query::Trace;
use crate::query::sentence_space;

/// Leaves by themselves that take part in the consensus shape.
const NORMALISED: usize = 50;

impl Paths {
    fn search(&self, limit: usize, threads: usize) -> FindPaths {
        FindPaths { limit, base: self.base, paths: self.options, threads }
    }

    /// The best `limit` leaves, each with the way to it.
    pub(super) fn find(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        limit: usize,
        threads: usize,
        trace: &mut Trace,
    ) -> Result<Vec<ConRagHit>> {
        let index = read.path_index()?;
        let space = sentence_space(read, &index, question)?;
        let sentences = space.as_ref().map(|space| space as &dyn SentenceVectors);
        let limit = match self.shape {
            PathShape::Sum => limit,
            PathShape::Consensus => index.leaf_count(),
        };
        let found = self.search(limit, threads).run(read, &index, question, sentences)?;
        let mut hits = match self.shape {
            PathShape::Sum => found.into_iter().map(summed).collect(),
            PathShape::Consensus => agreed(found),
        };
        hits.truncate(limit);
        let ways = hits.iter().filter(|hit| !hit.path.is_empty()).count();
        let by = match (question.vector, sentences) {
            (None, _) => "words",
            (Some(_), None) => "words and vectors",
            (Some(_), Some(_)) => "words, vectors and vectors of sentences",
        };
        let note = if index.sentences().is_empty() {
            format!("by {by}; the file's graph has no names, so that leaves stand by themselves")
        } else {
            format!("by {by}; paths lead to {ways}")
        };
        trace.push(Step::new("find paths", index.leaf_count(), hits.len()).note(note));
        Ok(hits)
    }
}

fn summed(hit: PathHit) -> ConRagHit {
    let parts = vec![("base", hit.base), ("path", hit.into), ("leads on", hit.out)];
    ConRagHit { path: hit.path, ..ConRagHit::new(hit.node, hit.score, parts) }
}

/// The consensus shape: leaves that `found` has, which are all that score; ties to the better text, then to the lower
/// node.
fn agreed(found: Vec<PathHit>) -> Vec<ConRagHit> {
    let base: ScoreMap<NodeId> = found.iter().map(|hit| (hit.node, hit.base)).collect();
    let text: ScoreMap<NodeId> = base.ranked().into_iter().take(NORMALISED).collect();
    let text = text.min_max();
    let best = found.iter().map(|hit| hit.into).fold(0.0, f32::max);
    let share = |into: f32| if best > 0.0 { into / best } else { 0.0 };
    let mut hits: Vec<ConRagHit> = found
        .into_iter()
        .map(|hit| {
            let structure = share(hit.into);
            let parts = vec![("text", text.get(hit.node)), ("path", structure / (1.0 + structure))];
            let score = parts.iter().map(|(_, part)| part).sum();
            ConRagHit { path: hit.path, ..ConRagHit::new(hit.node, score, parts) }
        })
        .collect();
    hits.sort_by(|a, b| {
        let text = |hit: &ConRagHit| hit.parts.first().map_or(0.0, |(_, text)| *text);
        b.score.total_cmp(&a.score).then(text(b).total_cmp(&text(a))).then(a.node.cmp(&b.node))
    });
    hits
}
