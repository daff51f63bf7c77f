"""transformers_generation: greedy, beams, dynamic and static caches, processors, stopping, assisted."""

from __future__ import annotations

import torch
import transformers as hf

from tests.ecosystem import kit

REQUIRES = ("transformers==5.24.0",)

VOCABULARY = 48


def _llama(**options):
    config = hf.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, **options,
    )  # fmt: skip
    # Larger weights, so that the most probable token leads by more than rounding.
    return kit.fill(hf.LlamaForCausalLM(config).eval(), scale=2.0)


def _gpt2():
    config = hf.GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=48, pad_token_id=0, bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    return kit.fill(hf.GPT2LMHeadModel(config).eval(), scale=2.0)


def _t5():
    config = hf.T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    return kit.fill(hf.T5ForConditionalGeneration(config).eval(), scale=2.0)


def _prompt():
    tokens = kit.integers(3, VOCABULARY, (2, 5))
    mask = torch.ones_like(tokens)
    tokens[0, :2], mask[0, :2] = 0, 0
    return {"input_ids": tokens, "attention_mask": mask}


def greedy():
    return [
        model.generate(**_prompt(), max_new_tokens=8, do_sample=False) for model in (_llama(), _gpt2(), _t5())
    ]


def scores():
    out = _llama().generate(
        **_prompt(), max_new_tokens=4, do_sample=False, output_scores=True, return_dict_in_generate=True
    )
    return out.sequences, out.scores


def beams():
    options = {
        "num_beams": 3,
        "max_new_tokens": 6,
        "do_sample": False,
        "length_penalty": 0.8,
        "early_stopping": True,
    }
    out = _llama().generate(
        **_prompt(), **options, num_return_sequences=2, output_scores=True, return_dict_in_generate=True
    )
    return out.sequences, out.sequences_scores, _t5().generate(**_prompt(), **options)


def without_a_cache():
    return _llama().generate(**_prompt(), max_new_tokens=6, do_sample=False, use_cache=False)


def static_cache():
    return _llama().generate(**_prompt(), max_new_tokens=6, do_sample=False, cache_implementation="static")


def static_cache_by_hand():
    model = _llama()
    cache = hf.StaticCache(config=model.config, max_cache_len=16)
    tokens = kit.integers(3, VOCABULARY, (2, 5))
    first = model(tokens, past_key_values=cache, cache_position=torch.arange(5)).logits
    second = model(tokens[:, :1], past_key_values=cache, cache_position=torch.tensor([5])).logits
    return first, second, int(cache.get_seq_length())


def dynamic_cache_by_hand():
    model = _gpt2()
    tokens = kit.integers(3, VOCABULARY, (2, 6))
    whole = model(tokens).logits
    first = model(tokens[:, :4], use_cache=True)
    rest = model(tokens[:, 4:], past_key_values=first.past_key_values).logits
    return whole, torch.cat([first.logits, rest], 1)


def processors():
    return _llama().generate(
        **_prompt(), max_new_tokens=8, min_new_tokens=4, do_sample=False, repetition_penalty=1.3,
        no_repeat_ngram_size=2, bad_words_ids=[[7], [8, 9]], suppress_tokens=[11],
    )  # fmt: skip


def warpers():
    logits = kit.tensor(2, VOCABULARY)
    tokens = kit.integers(3, VOCABULARY, (2, 5))
    steps = [
        hf.TemperatureLogitsWarper(0.7), hf.TopKLogitsWarper(10), hf.TopPLogitsWarper(0.8), hf.MinPLogitsWarper(0.05),
        hf.TypicalLogitsWarper(0.9), hf.EpsilonLogitsWarper(0.01),
    ]  # fmt: skip
    return [step(tokens, logits.clone()) for step in steps]


def sampling_of_one_choice():
    # With the best token alone to choose from, a sample is the greedy text: the numbers of two generators differ.
    return _llama().generate(**_prompt(), max_new_tokens=6, do_sample=True, top_k=1, temperature=0.5)


def stopping():
    class Stop(hf.StoppingCriteria):
        def __call__(self, tokens, scores, **options):
            return torch.full((tokens.shape[0],), tokens.shape[1] >= 8, dtype=torch.bool)

    criteria = hf.StoppingCriteriaList([Stop()])
    return _llama().generate(**_prompt(), max_new_tokens=20, do_sample=False, stopping_criteria=criteria)


def assisted():
    prompt = {"input_ids": kit.integers(3, VOCABULARY, (1, 5))}
    model, assistant = _llama(), _llama()
    return model.generate(**prompt, assistant_model=assistant, max_new_tokens=6, do_sample=False)


def streamed():
    class Streamer:
        def __init__(self):
            self.tokens = []

        def put(self, value):
            self.tokens.append(value.flatten().tolist())

        def end(self):
            self.tokens.append("end")

    streamer = Streamer()
    _gpt2().generate(
        kit.integers(3, VOCABULARY, (1, 4)), max_new_tokens=5, do_sample=False, streamer=streamer
    )
    return streamer.tokens


def whisper():
    config = hf.WhisperConfig(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=16, max_source_positions=20,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        begin_suppress_tokens=[3],
    )  # fmt: skip
    model = kit.fill(hf.WhisperForConditionalGeneration(config).eval(), scale=2.0)
    return model.generate(input_features=kit.tensor(2, 16, 40), max_new_tokens=6, do_sample=False)
