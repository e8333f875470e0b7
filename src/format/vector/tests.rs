use super::*;

fn sealed(dimension: u32, rows: u32) -> Vec<u8> {
    let nodes: Vec<u32> = (0..rows).map(|i| 10 + 2 * i).collect();
    let data: Vec<u8> = (0..u16::try_from(rows * dimension).expect("small"))
        .flat_map(|x| f32::from(x).to_le_bytes())
        .collect();
    let space = SpaceId(3);
    BlockParts {
        space,
        block: 7,
        generation: 9,
        metric: Metric::Dot,
        dimension,
        norm_bound: 5.5,
        data: &data,
        nodes: &nodes,
    }
    .seal()
    .expect("it fits")
}

/// spec: R-8.2.1 (a block gives back its rows; they begin at byte 64 of the value)
#[test]
fn a_sealed_block_comes_back() {
    let value = sealed(2, 3);

    BLOCK.open(&key::two(3, 7), &value).expect("the frame is whole");
    let block = VectorBlock::of_value(SpaceId(3), 7, &value).expect("the block is whole");

    assert_eq!((block.generation, block.dimension, block.metric), (9, 2, Metric::Dot));
    assert_eq!(block.nodes().collect::<Vec<_>>(), [NodeId(10), NodeId(12), NodeId(14)]);
    assert_eq!(block.row(2), [4.0_f32.to_le_bytes(), 5.0_f32.to_le_bytes()].concat());
    assert_eq!(block.row(3), [0_u8; 0]);
    assert_eq!(value[64..68], 0.0_f32.to_le_bytes());
    assert_eq!(value[68..72], 1.0_f32.to_le_bytes());
    assert_eq!((block.row_of(NodeId(12)), block.row_of(NodeId(13))), (Some(1), None));
    assert_eq!((block.first_row_from(NodeId(13)), block.first_row_from(NodeId(15))), (2, 3));
}

/// Dimension 384: (262,144 - 16 - 64) / (1536 + 4) = 170.2; a full block has 64 + 170 * 1540 = 261,864 bytes.
#[test]
fn a_full_block_fits_a_page_of_256_kib() {
    assert_eq!(capacity(384), 170);
    for dimension in 1..=MAX_DIMENSION {
        let bytes = ROWS_OFFSET + capacity(dimension) * (dimension as usize + 1) * 4;
        assert!(capacity(dimension) >= 1 && bytes <= MAX_BLOCK_BYTES && !bytes.is_power_of_two());
    }
}

/// spec: R-8.2.2 (each field of the header is checked where it can be)
#[test]
fn a_damaged_header_is_reported_by_field() {
    let value = sealed(2, 3);
    for (offset, byte, field) in [
        (0, 4, "space"),
        (4, 8, "space"),
        (16, 9, "element"),
        (17, 0, "metric"),
        (20, 0, "dimension"),
        (20, 3, "capacity"),
        (24, 0, "rows"),
        (24, 4, "rows"),
        (27, 1, "rows"),
        (28, 0, "capacity"),
        (35, 255, "norm_bound"),
    ] {
        let mut damaged = value.clone();
        damaged[HEADER_BYTES + offset] = byte;

        let error = VectorBlock::of_value(SpaceId(3), 7, &damaged).expect_err(field);

        assert_eq!(error.corruption().map(|at| at.field.as_str()), Some(field), "{offset}");
    }
    for len in 0..value.len() {
        assert!(VectorBlock::of_value(SpaceId(3), 7, &value[..len]).is_err(), "{len}");
    }
}

#[test]
fn a_block_of_no_rows_or_too_many_is_not_sealed() {
    let parts = |data, nodes| BlockParts {
        space: SpaceId(1),
        block: 0,
        generation: 1,
        metric: Metric::Cosine,
        dimension: MAX_DIMENSION,
        norm_bound: 1.0,
        data,
        nodes,
    };
    let data = vec![0; 2 * 4 * 65_515];

    assert!(parts(&[], &[]).seal().is_err());
    assert!(parts(&data, &[1, 2]).seal().is_err());
    assert!(parts(&data, &[1]).seal().is_err());
    assert!(parts(&data[..4 * 65_515], &[1]).seal().is_ok());
}

/// spec
#[test]
fn a_space_record_comes_back_and_its_fields_are_checked() {
    let mut record = SpaceRecord::new("main", "minilm", 384, Metric::Cosine).expect("it is valid");
    record.rows = 300;
    record.live = 299;
    record.last_nodes = vec![200, 411];
    let space = SpaceId(1);

    assert_eq!(SpaceRecord::open(space, &record.seal(space).expect("it fits")).expect("whole"), record);
    let field = |record: &SpaceRecord| {
        let error = SpaceRecord::open(space, &record.seal(space).expect("it fits")).expect_err("damaged");
        error.corruption().map(|at| at.field.clone())
    };
    let good = record.clone();
    record.last_nodes = vec![200, 200];
    assert_eq!(field(&record).as_deref(), Some("last_nodes"));
    assert_eq!(field(&SpaceRecord { live: 301, ..good.clone() }).as_deref(), Some("live"));
    assert_eq!(field(&SpaceRecord { dimension: 0, ..good }).as_deref(), Some("dimension"));
}

#[test]
fn a_space_is_of_a_sensible_dimension_and_named() {
    assert!(SpaceRecord::new("a", "b", 0, Metric::Dot).is_err());
    assert!(SpaceRecord::new("a", "b", 65_516, Metric::Dot).is_err());
    assert!(SpaceRecord::new("", "b", 1, Metric::Dot).is_err());
    assert!(SpaceRecord::new("a", &"b".repeat(256), 1, Metric::Dot).is_err());
}

/// spec
#[test]
fn context_norms_come_back_and_a_wrong_count_is_reported() {
    let norms = ContextNorms { leaf_norms: vec![1.0, 0.5, 0.0], section_norms: vec![2.5] };
    let (space, document) = (SpaceId(1), DocumentId(2));

    let value = norms.seal(space, document).expect("it fits");

    assert_eq!(ContextNorms::open(space, document, &value).expect("whole"), norms);
    let payload = &value[HEADER_BYTES..HEADER_BYTES + 24];
    for (offset, byte) in [(0, 2), (0, 200), (4, 9), (3, 255), (11, 255)] {
        let mut damaged = payload.to_vec();
        damaged[offset] = byte;
        let value = CONTEXT.seal(&key::two(1, 2), &damaged).expect("it fits");
        assert!(ContextNorms::open(space, document, &value).is_err(), "{offset}");
    }
}
