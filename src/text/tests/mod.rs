//! What the parts of the text index do together, against an oracle that counts terms naively.

mod analysis;
mod damage;
mod evaluate;
mod fields;
mod oracle;
mod phrases;
mod positions;
mod query;
mod scores;
mod snippet;
mod support;
mod top_k;
