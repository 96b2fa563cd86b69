"""The first layers of multilingual-e5-small with narrow products beside their matrices, which are trained.

Only these, the biases and the normalizations of the upper layers change (Hu et al. 2022). The embeddings and the lowest
layers stay as they are, because they are alike in all languages.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from rag.providers.base import Vectors
from rag.providers.entailment.multilingual.model_file import ModelFile

LAYERS, _FROZEN, _RANK = 8, 3, 32
# Another linear layer judges by the output of this layer, too, so that the lower layers learn faster.
_EARLY = 6
_PARTS = ("attention.output.dense", "intermediate.dense", "output.dense")
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
_HEADS = ("attention.self.query", "attention.self.key", "attention.self.value")
_PADDING = 1


class CheckNetwork(nn.Module):  # type: ignore[misc]  # torch is Any without its types
    """Judges pairs of a question and a text, given as the numbers of their pieces."""

    def __init__(self, file: ModelFile) -> None:
        super().__init__()
        self._file = file
        self._weights = file.weights()
        self._epsilon, self._head_count = file.config["layer_norm_eps"], file.config["num_attention_heads"]
        self.dimensions = file.config["hidden_size"]
        self.layers = nn.ModuleList(self._layer(number) for number in range(LAYERS))
        self.heads = nn.ModuleList(nn.Linear(self.dimensions, 1) for _ in (_EARLY, LAYERS))
        for head in self.heads:
            nn.init.normal_(head.weight, std=0.1 / math.sqrt(self.dimensions))

    def load(self, file: Path) -> None:
        """Continue from differences that were stored before."""
        with np.load(file) as stored:
            arrays = {name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored.files}
        with torch.no_grad():
            for number, layer in enumerate(self.layers):
                if number < _FROZEN:
                    continue
                for name, part in layer.items():
                    part.load(arrays, f"encoder.layer.{number}.{name.replace('_', '.')}")
            self.heads[-1].weight.copy_(arrays["head.weight"][None])
            self.heads[-1].bias.copy_(arrays["head.bias"])

    def trained_parameters(self) -> list[Any]:
        """Return the parameters of the layers that are trained."""
        return [parameter for parameter in self.layers.parameters() if parameter.requires_grad]

    def forward(self, sequences: Sequence[Sequence[int]]) -> Any:
        """Return the logits of both linear layers, float32 (2, pairs)."""
        longest = max(map(len, sequences))
        embedded = np.zeros((len(sequences), longest, self.dimensions), np.float32)
        mask = torch.zeros(len(sequences), longest, dtype=torch.bool)
        for row, ids in enumerate(sequences):
            embedded[row] = self._file.embed([*ids, *[_PADDING] * (longest - len(ids))])
            mask[row, : len(ids)] = True
        hidden = self._normalize(torch.from_numpy(embedded), "embeddings.LayerNorm").bfloat16()
        ignored = torch.zeros(mask.shape, dtype=hidden.dtype).masked_fill(~mask, -1e4)[:, None, None, :]
        logits: list[Any] = []
        for number, layer in enumerate(self.layers, start=1):
            with torch.set_grad_enabled(self.training and number > _FROZEN):
                hidden = self._apply(layer, hidden, ignored)
            if number in (_EARLY, LAYERS):
                shares = mask[..., None].float() / mask.sum(1)[:, None, None]
                logits.append(self.heads[len(logits)]((hidden.float() * shares).sum(1))[:, 0])
        return torch.stack(logits)

    def differences(self) -> dict[str, Vectors]:
        """Return what rag/providers/entailment/multilingual/graph.py reads."""
        arrays: dict[str, Vectors] = {"layers": np.array(LAYERS)}
        for number, layer in enumerate(self.layers):
            if number < _FROZEN:
                continue
            for name, part in layer.items():
                full = f"encoder.layer.{number}.{name.replace('_', '.')}"
                for key, value in part.changes().items():
                    arrays[f"{full}.{key}"] = value.detach().numpy().astype(np.float16)
        head = self.heads[-1]
        arrays["head.weight"] = head.weight.detach().numpy().ravel()
        arrays["head.bias"] = head.bias.detach().numpy()
        return arrays

    def _layer(self, number: int) -> nn.ModuleDict:
        prefix, is_trained = f"encoder.layer.{number}.", number >= _FROZEN
        matrices = {
            name: _Matrix(self._weights, f"{prefix}{name}", is_trained=is_trained) for name in (*_HEADS, *_PARTS)
        }
        norms = {name: _Norm(self._weights, f"{prefix}{name}", is_trained=is_trained) for name in _NORMS}
        return nn.ModuleDict({name.replace(".", "_"): part for name, part in {**matrices, **norms}.items()})

    def _apply(self, layer: Any, hidden: Any, ignored: Any) -> Any:
        def part(name: str) -> Any:
            return layer[name.replace(".", "_")]

        pairs, tokens, _ = hidden.shape
        queries, keys, values = (
            part(name)(hidden).view(pairs, tokens, self._head_count, -1).transpose(1, 2) for name in _HEADS
        )
        attended = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=ignored)
        update = part(_PARTS[0])(attended.transpose(1, 2).reshape(hidden.shape))
        hidden = part(_NORMS[0])(hidden + update, self._epsilon)
        wide = functional.gelu(part(_PARTS[1])(hidden))
        return part(_NORMS[1])(hidden + part(_PARTS[2])(wide), self._epsilon)

    def _normalize(self, values: Any, name: str) -> Any:
        weight, bias = (torch.from_numpy(self._weights[f"{name}.{kind}"].copy()) for kind in ("weight", "bias"))
        return functional.layer_norm(values, (self.dimensions,), weight, bias, self._epsilon)


class _Matrix(nn.Module):  # type: ignore[misc]
    """A matrix that stays as it is, a product of two narrow ones that is added to it, and a bias."""

    def __init__(self, weights: Mapping[str, Vectors], name: str, *, is_trained: bool) -> None:
        super().__init__()
        matrix, bias = weights[f"{name}.weight"], torch.from_numpy(weights[f"{name}.bias"].copy())
        self._matrix, self._published_bias = torch.from_numpy(matrix).bfloat16(), bias
        self.bias = nn.Parameter(bias.clone(), requires_grad=is_trained)
        self.right = nn.Parameter(
            torch.randn(_RANK, matrix.shape[1]) / math.sqrt(matrix.shape[1]), requires_grad=is_trained
        )
        self.left = nn.Parameter(torch.zeros(matrix.shape[0], _RANK), requires_grad=is_trained)

    def forward(self, values: Any) -> Any:
        kind = values.dtype
        added = functional.linear(functional.linear(values, self.right.to(kind)), self.left.to(kind))
        return functional.linear(values, self._matrix, self.bias.to(kind)) + added

    def load(self, arrays: Mapping[str, Any], name: str) -> None:
        """Take what is added to weight and bias of this name."""
        self.left.copy_(arrays[f"{name}.weight.left"])
        self.right.copy_(arrays[f"{name}.weight.right"])
        self.bias.copy_(self._published_bias + arrays[f"{name}.bias"])

    def changes(self) -> dict[str, Any]:
        """Return what is added to weight and bias."""
        return {"weight.left": self.left, "weight.right": self.right, "bias": self.bias - self._published_bias}


class _Norm(nn.Module):  # type: ignore[misc]
    """The scale and the bias of a layer normalization."""

    def __init__(self, weights: Mapping[str, Vectors], name: str, *, is_trained: bool) -> None:
        super().__init__()
        self._published = {kind: torch.from_numpy(weights[f"{name}.{kind}"].copy()) for kind in ("weight", "bias")}
        self.weight, self.bias = (
            nn.Parameter(value.clone(), requires_grad=is_trained) for value in self._published.values()
        )

    def forward(self, values: Any, epsilon: float) -> Any:
        kind = values.dtype
        return functional.layer_norm(values, (len(self.bias),), self.weight.to(kind), self.bias.to(kind), epsilon)

    def load(self, arrays: Mapping[str, Any], name: str) -> None:
        """Take what is added to scale and bias of this name."""
        for kind, value in self._published.items():
            getattr(self, kind).copy_(value + arrays[f"{name}.{kind}"])

    def changes(self) -> dict[str, Any]:
        """Return what is added to scale and bias."""
        return {kind: getattr(self, kind) - value for kind, value in self._published.items()}
