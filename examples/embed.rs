//! Vectors of texts by a transformer: one JSON string a line in, an `.npy` file of `f32` out.
//!
//! ```sh
//! cargo run --release --example embed -- vectors.npy < texts.jsonl
//! cargo run --release --example embed -- vectors.npy MODEL_DIRECTORY < texts.jsonl
//! ```

use std::io::Write;
use std::time::Instant;

use evdb::model::Embedder;
use evdb::providers::TransformerEmbedder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let target = args.next().ok_or("name the file to write")?;
    let started = Instant::now();
    let model = match args.next() {
        Some(directory) => TransformerEmbedder::open(directory.as_ref())?,
        None => TransformerEmbedder::minilm(),
    };
    eprintln!(
        "{}: {} dimensions, ready in {:.1?}",
        model.fingerprint(),
        model.dimensions(),
        started.elapsed()
    );

    let texts: Vec<String> = std::io::stdin()
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut vectors = vec![0.0; texts.len() * model.dimensions()];
    let started = Instant::now();
    model.embed(&texts, &mut vectors)?;
    eprintln!("{} texts in {:.2?}", texts.len(), started.elapsed());

    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
        texts.len(),
        model.dimensions()
    );
    header.push_str(&" ".repeat((64 - (10 + header.len() + 1) % 64) % 64));
    header.push('\n');
    let mut file = std::io::BufWriter::new(std::fs::File::create(target)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&u16::try_from(header.len())?.to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for x in &vectors {
        file.write_all(&x.to_le_bytes())?;
    }
    Ok(file.flush()?)
}
