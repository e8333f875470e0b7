//! Which nodes a search may find.

use roaring::RoaringBitmap;

use crate::db::ReadTransaction;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::text::TextIndex;
use crate::tree::NodeKind;

/// Conditions that a node must meet, all of them. The default has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Filter {
    /// Only nodes of these documents; `None` for any, an empty list for none.
    pub documents: Option<Vec<DocumentId>>,
    /// Only nodes of one of these kinds; empty for any.
    pub kinds: Vec<NodeKind>,
    /// Only nodes at this distance from the root.
    pub level: Option<u8>,
    /// Only nodes that have, themselves or through their document, each of these attributes: `key=value`.
    pub attributes: Vec<String>,
    /// Only nodes of the subtree of this node.
    pub within: Option<NodeId>,
}

impl Filter {
    /// The nodes that meet every condition; `None` if there is no condition.
    ///
    /// # Errors
    ///
    /// `NotFound` if a document or the node of `within` is not there; `Corrupt`; `Io`.
    pub fn nodes(&self, read: &ReadTransaction) -> Result<Option<RoaringBitmap>> {
        let index = read.text_index();
        let mut sets = Vec::new();
        if let Some(documents) = &self.documents {
            let ranges: Result<Vec<NodeRange>> =
                documents.iter().map(|document| read.document(*document).map(|info| info.nodes)).collect();
            sets.push(TextIndex::nodes_in(&ranges?));
        }
        if let Some(node) = self.within {
            let tree = read.tree(read.document_of(node)?.id)?;
            sets.push(TextIndex::nodes_in(&[tree.node(node)?.range()]));
        }
        if !self.kinds.is_empty() {
            let mut any = RoaringBitmap::new();
            for kind in &self.kinds {
                any |= index.nodes_of_kind(*kind as u8)?;
            }
            sets.push(any);
        }
        if let Some(level) = self.level {
            sets.push(index.nodes_at_level(level)?);
        }
        for attribute in &self.attributes {
            sets.push(index.nodes_with_attribute(attribute)?);
        }
        Ok(sets.into_iter().reduce(|all, set| all & set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::db::Database;
    use crate::error::ErrorKind;
    use crate::query::search::tests::two_documents;

    fn found(database: &Database, filter: &Filter) -> Vec<u32> {
        let read = database.begin_read().expect("a state");
        let nodes = filter.nodes(&read).expect("the filter holds").expect("it has conditions");
        nodes.iter().collect()
    }

    /// Nodes: 1 document a (2 text, 3 table), 4 document b (5 section (6 text)).
    #[test]
    fn conditions_are_met_together() {
        let database = two_documents();
        let all = Filter::default();

        assert_eq!(all.nodes(&database.begin_read().expect("a state")).expect("no condition"), None);
        let leaves = Filter { kinds: vec![NodeKind::Text, NodeKind::Table], ..all.clone() };
        assert_eq!(found(&database, &leaves), [2, 3, 6]);
        assert_eq!(found(&database, &Filter { level: Some(1), ..leaves.clone() }), [2, 3]);
        let in_b = Filter { documents: Some(vec![DocumentId(2)]), ..leaves.clone() };
        assert_eq!(found(&database, &in_b), [6]);
        assert_eq!(found(&database, &Filter { level: Some(1), ..in_b }), [0_u32; 0]);
        let chinese = Filter { attributes: vec!["language=zh".into()], ..leaves };
        assert_eq!(found(&database, &chinese), [6]);
        assert_eq!(found(&database, &Filter { within: Some(NodeId(5)), ..all }), [5, 6]);
    }

    #[test]
    fn a_document_or_node_that_is_not_there_is_not_found() {
        let database = two_documents();
        let read = database.begin_read().expect("a state");

        for filter in [
            Filter { documents: Some(vec![DocumentId(9)]), ..Filter::default() },
            Filter { within: Some(NodeId(99)), ..Filter::default() },
        ] {
            assert_eq!(filter.nodes(&read).expect_err("there is none").kind(), ErrorKind::NotFound);
        }
    }
}
