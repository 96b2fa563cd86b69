"""The sizes of a BERT network. Servers read them without the library that builds graphs."""

import json
from pathlib import Path
from typing import TypedDict


class BertConfig(TypedDict):
    """What a graph needs of a model's config.json."""

    hidden_size: int
    layer_norm_eps: float
    num_attention_heads: int
    num_hidden_layers: int


def read_config(folder: Path) -> BertConfig:
    """Return the sizes of the model in this folder, from config.json."""
    config: BertConfig = json.loads((folder / "config.json").read_text())
    return config
