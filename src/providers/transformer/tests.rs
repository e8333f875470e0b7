use super::*;
use crate::error::ErrorKind;
use crate::kernels::{Level, dot, level, use_level};

fn embed(model: &TransformerEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let mut out = vec![f32::NAN; texts.len() * model.dimensions()];
    model.embed(texts, &mut out).expect("shapes fit");
    out.chunks_exact(model.dimensions()).map(<[f32]>::to_vec).collect()
}

/// A directory with a model of one layer, 16 dimensions and a vocabulary of a few words, its files changed by
/// `change`.
fn directory(change: impl Fn(&mut std::collections::BTreeMap<&str, Vec<u8>>)) -> tempfile::TempDir {
    use safetensors::tensor::{Dtype, TensorView};

    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![6, 16]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![8, 16]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, 16]),
    ];
    let mut both = |name: &str, shape: Vec<usize>| {
        shapes.push((format!("{name}.bias"), vec![shape[0]]));
        shapes.push((format!("{name}.weight"), shape));
    };
    both("embeddings.LayerNorm", vec![16]);
    for part in ["query", "key", "value"] {
        both(&format!("encoder.layer.0.attention.self.{part}"), vec![16, 16]);
    }
    both("encoder.layer.0.attention.output.dense", vec![16, 16]);
    both("encoder.layer.0.attention.output.LayerNorm", vec![16]);
    both("encoder.layer.0.intermediate.dense", vec![32, 16]);
    both("encoder.layer.0.output.dense", vec![16, 32]);
    both("encoder.layer.0.output.LayerNorm", vec![16]);
    let data: Vec<Vec<u8>> = shapes
        .iter()
        .map(|(_, shape)| {
            let floats = (0..shape.iter().product::<usize>())
                .map(|i| f32::from(u8::try_from(i * 7_919 % 101).expect("below 101")) / 50.0 - 1.0);
            floats.flat_map(f32::to_le_bytes).collect()
        })
        .collect();
    let views = shapes.iter().zip(&data).map(|((name, shape), data)| {
        (name.clone(), TensorView::new(Dtype::F32, shape.clone(), data).expect("the shape fits"))
    });
    let weights = safetensors::serialize(views, None).expect("it is small");
    let config = r#"{"model_type": "bert", "num_attention_heads": 1, "num_hidden_layers": 1}"#;
    let mut files = std::collections::BTreeMap::from([
        ("config.json", config.as_bytes().to_vec()),
        ("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nice\n##berg\n".to_vec()),
        ("model.safetensors", weights),
    ]);
    change(&mut files);
    let directory = tempfile::tempdir().expect("a directory");
    for (name, contents) in files {
        std::fs::write(directory.path().join(name), contents).expect("it is written");
    }
    directory
}

fn refused(change: impl Fn(&mut std::collections::BTreeMap<&str, Vec<u8>>)) -> Error {
    TransformerEmbedder::open(directory(change).path()).expect_err("it does not fit")
}

fn refused_with(name: &'static str, contents: &[u8]) -> Error {
    refused(|files| {
        files.insert(name, contents.to_vec());
    })
}

#[test]
fn a_directory_is_a_model() {
    let model = TransformerEmbedder::open(directory(|_| {}).path()).expect("it fits");

    let rows = embed(&model, &["iceberg", "ice", "ICE", "", "ice"]);

    assert_eq!((model.dimensions(), model.max_tokens()), (16, 8));
    assert_ne!(rows[0], rows[1]);
    assert_eq!(rows[1], rows[2]);
    assert_eq!(rows[1], rows[4], "whatever stands beside it");
    for row in &rows {
        assert!((dot(row, row) - 1.0).abs() < 1e-5, "{row:?}");
    }
    let blanks = [&" ".repeat(100_000), "ice"].concat();
    assert_eq!(embed(&model, &[&blanks])[0], rows[1], "what stands after blanks is seen");
    let long = "ice ".repeat(100_000);
    assert_eq!(embed(&model, &[&long]), embed(&model, &["ice ice ice ice ice ice"]), "six of eight places");
}

#[test]
fn tokenizer_json_is_as_good_as_a_list() {
    let json =
        br#"{"model": {"vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "ice": 4, "\#\#berg": 5}}}"#;
    let json: Vec<u8> = String::from_utf8_lossy(json).replace("\\#", "#").into_bytes();
    let listed = TransformerEmbedder::open(directory(|_| {}).path()).expect("it fits");
    let other = directory(|files| {
        files.remove("vocab.txt");
        files.insert("tokenizer.json", json.clone());
    });

    let model = TransformerEmbedder::open(other.path()).expect("it fits");

    assert_eq!(embed(&model, &["iceberg ice"]), embed(&listed, &["iceberg ice"]));
}

#[test]
fn what_does_not_fit_is_named() {
    let missing = refused(|files| drop(files.remove("model.safetensors")));
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.to_string().contains("model.safetensors"), "{missing}");

    let other = refused_with(
        "config.json",
        br#"{"model_type": "gpt2", "num_attention_heads": 1, "num_hidden_layers": 1}"#,
    );
    assert!(other.to_string().contains("model_type is \"gpt2\"; known is \"bert\""), "{other}");

    let cut = refused(|files| files.get_mut("model.safetensors").expect("there").truncate(2_000));
    assert!(cut.to_string().contains("model.safetensors: not a safetensors file"), "{cut}");

    let heads = refused_with(
        "config.json",
        br#"{"model_type": "bert", "num_attention_heads": 5, "num_hidden_layers": 1}"#,
    );
    assert!(heads.to_string().contains("5 heads"), "{heads}");

    let layers = refused_with(
        "config.json",
        br#"{"model_type": "bert", "num_attention_heads": 1, "num_hidden_layers": 2}"#,
    );
    assert!(layers.to_string().contains("1 layers, not 2"), "{layers}");

    let frameless = refused_with("vocab.txt", b"[UNK]\nice\n");
    assert!(frameless.to_string().contains("the vocabulary has no [CLS]"), "{frameless}");

    let pieces = refused(|files| files.get_mut("vocab.txt").expect("there").extend(b"floe\n"));
    assert!(pieces.to_string().contains("7 pieces in the vocabulary, 6 rows"), "{pieces}");

    let cased = refused_with("tokenizer_config.json", br#"{"do_lower_case": false}"#);
    assert!(cased.to_string().contains("keeps case"), "{cased}");
}

#[test]
fn every_level_gives_the_same_vector() {
    let model = TransformerEmbedder::open(directory(|_| {}).path()).expect("it fits");
    let before = level();
    let texts = ["iceberg ice", "ice berg"];
    let expected = embed(&model, &texts);
    for other in Level::ALL.into_iter().filter(|other| other.is_available()) {
        use_level(other);
        assert_eq!(embed(&model, &texts), expected, "{other:?}");
    }
    use_level(before);
}

#[cfg(feature = "minilm")]
mod minilm {
    use super::*;
    use crate::providers::Matrix;

    /// `tests/data/minilm`: vectors by the float32 weights, computed in numpy.
    #[test]
    fn vectors_are_those_of_the_reference() {
        let texts: Vec<String> =
            serde_json::from_slice(include_bytes!("../../../tests/data/minilm/texts.json")).expect("a list");
        let expected =
            Matrix::from_bytes(include_bytes!("../../../tests/data/minilm/vectors.npy")).expect("an .npy");
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();

        let rows = embed(&TransformerEmbedder::minilm(), &texts);

        for (index, (row, text)) in rows.iter().zip(texts).enumerate() {
            let cosine = dot(row, expected.row(index));
            assert!(cosine > 0.99, "{cosine} for {text:?}");
        }
        assert!(dot(&rows[0], &rows[1]) > dot(&rows[0], &rows[2]) + 0.3);
    }

    #[test]
    fn the_fingerprint_names_the_weights() {
        let model = TransformerEmbedder::minilm();

        assert_eq!(model.fingerprint(), "evdb transformer all-MiniLM-L6-v2 i8 99fb1aac");
        assert_eq!((model.dimensions(), model.max_tokens()), (384, 256));
        assert!(model.embed(&["a"], &mut [0.0; 383]).is_err());
        assert!(model.embed(&[], &mut []).is_ok());
    }
}
