"""Text: tokenizers, small language models, and the texts that come with the package.

>>> from tinytorch.text import CharTokenizer
>>> CharTokenizer("banana").encode("nab").tolist()
[2, 0, 1]
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "tokenization": "CharTokenizer Tokenizer WORDS bits_per_token compression encode_word "
        "from_bytes merged pair_counts best_pair split split_special to_bytes token_bytes "
        "train_bpe train_bpe_fast",
        "embeddings": "NGram RecurrentModel WindowModel bigram_counts bits_per_character "
        "name_windows nearest probabilities rnn_step sample_bigram windows witten_bell",
        "transformers": "held_out_bits lm_loss text_batch",
        "data.texts": "load_names load_text",
        "data.gpt_files": "load_gpt save_gpt",
        "data.gpt2_files": "GPT2Tokenizer download_gpt2 load_gpt2",
    },
)
