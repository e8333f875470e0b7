//! What the parts of the text index do together, against an oracle that counts terms naively.

mod analysis;
mod damage;
mod fields;
mod oracle;
mod phrases;
mod positions;
mod scores;
mod support;
mod top_k;
