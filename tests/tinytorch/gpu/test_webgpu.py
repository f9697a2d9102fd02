"""Without a GPU an error says what to install; with one, it computes what the simulator does."""

import sys

import numpy as np
import pytest

from tinytorch.gpu import NoGPU, launch, run, to_gpu, webgpu
from tinytorch.pictures import kernels as pictures


@pytest.fixture
def without(monkeypatch):
    """No package wgpu."""
    monkeypatch.setitem(sys.modules, "wgpu", None)
    for function in (webgpu.adapter, webgpu.device):
        function.cache_clear()
    yield
    for function in (webgpu.adapter, webgpu.device):
        function.cache_clear()


def double(block, thread, a, out):
    if thread.x < a.shape[0]:
        out[thread.x] = 2 * a[thread.x]


def test_without_a_gpu_two_lines_say_what_is_missing_and_what_to_install(without):
    for call in (webgpu.device, webgpu.device_name, lambda: run(double, 1, 4)):
        with pytest.raises(NoGPU) as error:
            call()
        missing, install = str(error.value).splitlines()
        assert "wgpu" in missing and 'pip install "wgpu>=0.32"' in install
    assert issubclass(NoGPU, RuntimeError)
    assert "The simulator runs everything" in pictures.found_gpu()
    assert "pip install" in pictures.run_on_gpu([], None)


class Adapter:
    """A driver that computes on the CPU, or a GPU."""

    def __init__(self, kind):
        self.info = {"device": "a device", "adapter_type": kind}


@pytest.mark.parametrize("kind", ["CPU", "DiscreteGPU"])
def test_a_time_is_printed_for_a_real_gpu_only(monkeypatch, kind):
    class Array:
        def __init__(self, x):
            self.x = x

        def numpy(self):
            return self.x

    def compute(program, grid, a, out):
        out.x = 2 * a.x

    monkeypatch.setattr(webgpu, "adapter", lambda: Adapter(kind))
    monkeypatch.setattr(webgpu, "to_gpu", Array)
    monkeypatch.setattr(webgpu, "run_program", compute)
    a = np.ones(4, "float32")
    said = pictures.run_on_gpu([(double, 1, 4, a, np.zeros(4, "float32"))], lambda *given: "")
    assert "on a device:" in said and "at most 0e+00" in said
    assert ("microseconds" in said) == (kind != "CPU")
    assert ("computes on the CPU" in pictures.found_gpu()) == (kind == "CPU")


def test_a_gpu_that_is_lost_is_an_error_and_no_result(monkeypatch):
    class Lost:
        class queue:
            @staticmethod
            def read_buffer(buffer):
                raise OSError("device lost\nmore")

    monkeypatch.setitem(sys.modules, "wgpu", type("wgpu", (), {"BufferUsage": Usage}))
    monkeypatch.setattr(webgpu, "device", Lost)
    array = webgpu.GPUArray((2,), buffer=object())
    with pytest.raises(RuntimeError, match="the GPU was lost during the run.*device lost"):
        array.numpy()
    with pytest.raises(ValueError, match="cannot have the shape"):
        array.reshape(3)


class Usage:
    STORAGE, COPY_SRC, COPY_DST = 1, 2, 4


@pytest.mark.parametrize(
    ("dtype", "there"), [("int64", "int32"), ("bool", "int32"), ("float64", "float32")]
)
def test_ints_are_int32_and_other_numbers_float32(monkeypatch, dtype, there):
    monkeypatch.setattr(webgpu, "GPUArray", lambda *given: given)
    shape, kind, values = to_gpu(np.ones((2, 3), dtype))
    assert (shape, kind, values.dtype, values.sum()) == ((2, 3), there, there, 6)


def test_a_gpu_computes_what_the_simulator_does():
    try:
        webgpu.device()
    except NoGPU as error:
        pytest.skip(str(error))
    a, out = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    launch(double, 1, 8, a, out)
    arrays = [to_gpu(a), to_gpu(np.zeros(4))]
    run(double, 1, 8, *arrays)
    assert arrays[1].dtype == np.float32 and arrays[1].numpy().tolist() == out.tolist()
    assert to_gpu(np.arange(6).reshape(2, 3)).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
