"""Smaller models: quantization, pruning, low rank, LoRA, averages and distillation; PyTorch's names
where it has them.

>>> from tinytorch.compress import quantize_model, size_of
>>> from tinytorch.nn import Dense
>>> layer = Dense(64, 10)
>>> size_of(layer), size_of(quantize_model(layer, bits=8)), size_of(quantize_model(layer, bits=4))
(2600, 700, 380)
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "quantization": "symmetric_scale quantize dequantize group_scales pack4 unpack4 "
        "QuantizedMatrix QuantizedLinear QuantizedEmbedding QuantizedConv2d quantizable "
        "recorded_inputs quantize_model size_of sensitivity inverse_factor gptq affine_range "
        "Observer int_matmul fake_quantize FakeQuantizedLinear train_quantized",
        "compression": "prune_magnitude prune_global matrices stored_bytes Mask saliency_obd "
        "obs_prune prune_neurons low_rank low_rank_for LoRA with_lora average distillation_loss",
    },
    {
        "write quantize_model(model, bits)": "quantize_dynamic convert prepare prepare_qat",
        "write Observer(percentile)": "MinMaxObserver HistogramObserver PerChannelMinMaxObserver",
        "write quantize(x, scale, zero_point), an array": "quantize_per_tensor "
        "quantize_per_channel",
        "write fake_quantize(x, scale, zero_point, low, high)": "FakeQuantize "
        "fake_quantize_per_tensor_affine",
        "write prune_magnitude(w, amount), a mask": "l1_unstructured L1Unstructured",
        "write prune_global(model, amount), masks": "global_unstructured",
        "write Mask(model, masks).attach(optimizer)": "custom_from_mask CustomFromMask",
        "write prune_neurons(first, second, keep)": "ln_structured LnStructured",
        "write average(states)": "AveragedModel",
    },
)
