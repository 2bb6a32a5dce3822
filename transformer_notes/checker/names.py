"""사람들이 인자에 붙이는 이름들.

첫째가 우리의 이름이고, 앞의 것일수록 뜻이 뚜렷합니다. 한 이름이 두 곳에 있으면 뚜렷한
쪽의 것입니다.
"""

TOKEN_IDS = ("token_ids", "ids", "tokens", "x", "seq", "inputs", "input_ids", "src")

# 어텐션
QUERY = ("query", "q", "queries", "xq", "x_q", "query_vectors")
KEY = ("key", "k", "keys", "xk", "x_k", "key_vectors")
VALUE = ("value", "v", "values", "xv", "x_v", "value_vectors")
MASK = ("mask", "attention_mask", "attn_mask", "m", "visible", "msk")

# 층
X = (
    *("x", "inputs", "input", "src", "tgt", "target", "hidden_states", "h", "y"),
    *("x_in", "residual", "hidden", "inp", "tensor", "trg", "dec", "decoder_input"),
)
SUBLAYER = (
    *("sublayer_output", "sublayer", "y", "sub", "output", "fx", "sublayer_out"),
    *("out", "sublayer_outputs", "f"),
)
MEMORY = (
    *("memory", "enc_output", "encoder_output", "context", "enc_out", "enc", "mem"),
    *("encoder_outputs", "enc_outputs", "encoder_out", "m"),
)
#: 디코더의 셀프 어텐션의 마스크.
SELF_MASK = (
    *("mask", "attention_mask", "attn_mask", "self_mask", "look_ahead_mask"),
    *("tgt_mask", "causal_mask", "lookahead_mask", "self_attention_mask", "trg_mask"),
    *("target_mask", "x_mask", "self_attn_mask", "slf_attn_mask", "dec_mask"),
)
#: 인코더 층은 마스크가 하나이므로 무엇이라고 불러도 그것입니다.
SOURCE_MASK = (*SELF_MASK, "src_mask", "padding_mask", "source_mask", "enc_mask", "m")
MEMORY_MASK = (
    *("memory_mask", "src_mask", "padding_mask", "enc_mask", "cross_mask"),
    *("encoder_mask", "enc_padding_mask", "source_mask", "cross_attention_mask"),
    *("mem_mask", "context_mask", "encoder_attention_mask", "dec_enc_attn_mask"),
    *("enc_attn_mask", "encoder_padding_mask"),
)

# 크기
VOCAB_SIZE = ("vocab_size", "vocab", "n_vocab", "num_embeddings", "input_dim", "v")
D_MODEL = (
    *("d_model", "embed_dim", "dim", "hidden_size", "model_dim", "d", "n_embd"),
    *("emb_dim", "embed_size", "embedding_dim", "model_size", "dim_embed"),
    *("size", "features", "normalized_shape", "n_features", "output_dim"),
    *("hidden", "hidden_dim", "units", "depth"),
)
NUM_HEADS = (
    *("num_heads", "heads", "n_heads", "h", "nhead", "head", "n_head", "nheads"),
    *("num_head", "num_attention_heads"),
)
D_FF = (
    *("d_ff", "dff", "ff_dim", "hidden_dim", "ffn_dim", "d_inner", "dim_feedforward"),
    *("feed_forward_dim", "inner_dim", "mlp_dim", "d_hidden", "ffn_hidden", "units"),
    *("inner", "intermediate_size", "ffn_hidden_dim", "hidden"),
)
#: 헤드 하나의 차원. 요구하면 d_model // num_heads를 줍니다.
HEAD_DIM = ("d_k", "d_v", "d_q", "head_dim", "depth", "key_dim", "value_dim")
#: 드롭아웃의 비율. 요구하면 0을 줍니다.
DROPOUT = (
    *("dropout", "dropout_rate", "rate", "drop", "p_drop", "drop_rate", "p"),
    *("drop_prob", "dropout_prob", "drop_out_prob", "p_dropout", "attn_dropout"),
    *("attention_dropout", "dropout_p", "drop_p", "dropout_probability", "pdrop"),
)

# 위치, 마스크, 학습
LENGTH = (
    *("length", "max_len", "seq_len", "max_length", "n", "num_positions", "position"),
    *("size", "sz", "seq_length", "t", "l", "max_position", "max_positions"),
)
PAD_ID = ("pad_id", "pad", "pad_idx", "pad_token_id", "pad_token", "padding_idx")
LABELS = (
    *("labels", "label", "y_true", "y", "true", "targets", "target", "real"),
    *("tar_real", "tgt", "gold", "answers", "target_ids"),
)
LOGITS = (
    *("logits", "logit", "y_pred", "pred", "preds", "predictions", "prediction"),
    *("output", "outputs", "scores"),
)
STEP = ("step", "step_num", "steps", "s", "global_step", "n", "t", "epoch")
WARMUP = (
    *("warmup_steps", "warmup", "n_warmup_steps", "num_warmup_steps", "warm_up_steps"),
    *("warmup_step", "warm_up", "warmups", "n_warmup", "w"),
)
#: 토큰마다 뽑은 0과 1 사이의 수.
CHANCE = (
    *("chance", "chances", "u", "uniform", "probability", "probabilities", "probs"),
    *("draws", "dice", "rand", "p", "r"),
)
RANDOM_IDS = (
    *("random_ids", "random_tokens", "random_words", "replacements", "random"),
    *("random_token_ids", "noise", "others"),
)
MASK_ID = ("mask_id", "mask_token_id", "mask_idx", "mask_token", "mask")

# 디코딩
MODEL = (
    *("next_logits", "model", "logits_fn", "step_fn", "score_fn", "predict", "lm"),
    *("next_token_logits", "fn", "f", "decoder", "get_logits", "next_logits_fn"),
)
BEGIN = (
    *("bos", "bos_id", "start", "start_id", "sos", "sos_id", "bos_token", "begin"),
    *("start_token", "sos_token", "bos_token_id", "start_symbol", "go"),
)
END = (
    *("eos", "eos_id", "end", "end_id", "eos_token", "end_token", "eos_token_id"),
    *("end_symbol", "stop"),
)
LIMIT = (
    *("max_length", "max_len", "maxlen", "limit", "max_steps", "length", "n"),
    *("max_tokens", "max_new_tokens", "steps", "max_seq_len", "max_iter"),
)
BEAMS = (
    *("beam_size", "beam_width", "beams", "num_beams", "k", "width", "beam", "n_beams"),
    *("b",),
)
