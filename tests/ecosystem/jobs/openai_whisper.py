"""openai_whisper: spectrograms, a tiny model with its cache of keys, greedy and beam decoding, languages."""

from __future__ import annotations

import numpy as np
import torch
import whisper
from whisper.model import ModelDimensions, Whisper

from tests.ecosystem import kit

REQUIRES = ("openai-whisper==20250625",)


def _model(scale=2.0):
    dims = ModelDimensions(
        n_mels=80, n_audio_ctx=1500, n_audio_state=16, n_audio_head=2, n_audio_layer=1, n_vocab=51865, n_text_ctx=24,
        n_text_state=16, n_text_head=2, n_text_layer=1,
    )  # fmt: skip
    return kit.fill(Whisper(dims).eval(), scale=scale)


def _mel():
    return whisper.log_mel_spectrogram(np.float32(kit.rng().standard_normal(16000)), padding=480000 - 16000)


def spectrogram():
    audio = whisper.pad_or_trim(np.float32(kit.rng().standard_normal(8000)), 16000)
    return whisper.log_mel_spectrogram(audio), whisper.pad_or_trim(kit.tensor(1, 10), 16)


def model():
    net = _model(scale=1.0)
    tokens = kit.integers(0, 50000, (1, 6))
    logits = net(_mel()[None], tokens)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:])
    loss.backward()
    return logits, loss, torch.stack([p.grad.norm() for p in net.parameters() if p.grad is not None])


def cached_keys():
    net = _model()
    tokens = kit.integers(0, 50000, (1, 5))
    with torch.no_grad():
        audio = net.embed_audio(_mel()[None])
        whole = net.logits(tokens, audio)
        cache, hooks = net.install_kv_cache_hooks()
        first = net.decoder(tokens[:, :4], audio, kv_cache=cache)
        last = net.decoder(tokens[:, 4:], audio, kv_cache=cache)
        for hook in hooks:
            hook.remove()
    return whole, first, last


def languages():
    net = _model()
    tokens, probabilities = net.detect_language(_mel())
    return tokens, max(probabilities, key=probabilities.get), len(probabilities)


def greedy():
    options = whisper.DecodingOptions(language="en", fp16=False, without_timestamps=True, sample_len=6)
    result = whisper.decode(_model(), _mel(), options)
    return result.tokens, result.avg_logprob, result.no_speech_prob


def beams():
    options = whisper.DecodingOptions(language="en", fp16=False, beam_size=3, sample_len=5)
    result = whisper.decode(_model(), _mel(), options)
    return result.tokens, result.avg_logprob


def aligned_words():
    from whisper.timing import dtw, median_filter

    return median_filter(kit.tensor(1, 2, 9), 3), dtw(kit.tensor(4, 7))
