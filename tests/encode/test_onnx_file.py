"""A network can compute and nothing else: whatever could reach a disk or a network is refused before it is loaded."""

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper, load, numpy_helper, save

from encoder_case import image_model, model_of, write_pictures
from siis.encode import encode_images

SECRET = "secret.bin"
X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
MEAN = helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=0)
SUM = helper.make_node("Add", ["m", "c"], ["y"])


def far(folder, location=SECRET):
    """A tensor of three numbers that lie in another file."""
    np.arange(3, dtype=np.float32).tofile(folder / SECRET)
    tensor = TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "offset": "0", "length": "12"}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return tensor


def initializer(folder):
    model = model_of([MEAN, SUM], [X], [Y])
    model.graph.initializer.append(far(folder))
    return model


def elsewhere(folder):
    model = model_of([MEAN, SUM], [X], [Y])
    model.graph.initializer.append(far(folder, "../../../etc/passwd"))
    return model


def constant(folder):
    return model_of([helper.make_node("Constant", [], ["c"], value=far(folder)), MEAN, SUM], [X], [Y])


def branch(folder):
    inner = helper.make_node("Constant", [], ["b"], value=far(folder))
    graph = helper.make_graph([inner], "g", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, [3])])
    choice = helper.make_node("If", ["yes"], ["c"], then_branch=graph, else_branch=graph)
    return model_of([choice, MEAN, SUM], [X], [Y], [("yes", np.array(True))])


def function(folder):
    body = [helper.make_node("Constant", [], ["b"], value=far(folder))]
    inside = helper.make_function("own", "Give", [], ["b"], body, [helper.make_opsetid("", 17)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    call = helper.make_node("Give", [], ["c"], domain="own")
    return model_of([call, MEAN, SUM], [X], [Y], opsets=opsets, functions=[inside])


def sparse(folder):
    values = far(folder)
    found = helper.make_sparse_tensor(values, numpy_helper.from_array(np.arange(3)), [3])
    return model_of([helper.make_node("Constant", [], ["c"], sparse_value=found), MEAN, SUM], [X], [Y])


def listed(folder):
    """In a list of tensors, of an attribute that no operator has."""
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)
    node.attribute.append(AttributeProto(name="more", type=AttributeProto.TENSORS, tensors=[far(folder)]))
    return model_of([node], [X], [Y])


@pytest.mark.parametrize("made", [initializer, elsewhere, constant, branch, function, sparse, listed])
def test_weights_that_lie_elsewhere_are_refused(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)  # where the runtime would look for them
    paths, _ = write_pictures(tmp_path / "p", 1)
    (tmp_path / "net.onnx").write_bytes(made(tmp_path).SerializeToString())
    with pytest.raises(ValueError, match=r"must hold all its weights; .* Save it as one file"):
        encode_images(paths, str(tmp_path / "net.onnx"))


def test_the_remedy_works(tmp_path):
    """What the message advises: the same network as one file."""
    paths, _ = write_pictures(tmp_path / "p", 1)
    (tmp_path / "net.onnx").write_bytes(initializer(tmp_path).SerializeToString())
    save(load(tmp_path / "net.onnx"), str(tmp_path / "one.onnx"))
    assert encode_images(paths, str(tmp_path / "one.onnx")).shape == (1, 3)


def custom(domain, kind):
    node = helper.make_node(kind, ["x"], ["y"], domain=domain)
    return model_of([node], [X], [Y], opsets=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)])


def hidden():
    """In the body of a function that the network brings along."""
    body = [helper.make_node("EPContext", ["a"], ["b"], domain="com.microsoft", ep_cache_context="secret.bin")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("own", 1)]
    inside = helper.make_function("own", "Mean", ["a"], ["b"], body, opsets[:2])
    call = helper.make_node("Mean", ["x"], ["y"], domain="own")
    return model_of([call], [X], [Y], opsets=opsets, functions=[inside])


@pytest.mark.parametrize(
    ("model", "operator"),
    [
        (custom("com.microsoft", "EPContext"), "EPContext of com.microsoft"),
        (custom("ai.onnx.contrib", "AzureTextToText"), "AzureTextToText of ai.onnx.contrib"),
        (custom("my.ops", "ReadFile"), "ReadFile of my.ops"),
        (hidden(), "EPContext of com.microsoft"),
    ],
    ids=["context", "contrib", "own", "hidden"],
)
def test_operators_beyond_the_standard_are_refused(tmp_path, model, operator):
    paths, _ = write_pictures(tmp_path / "p", 1)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=f"operators of the ONNX standard; found {operator}"):
        encode_images(paths, str(tmp_path / "net.onnx"))


def test_functions_of_the_network_itself_are_allowed(tmp_path):
    body = [helper.make_node("ReduceMean", ["a"], ["b"], axes=[2, 3], keepdims=0)]
    inside = helper.make_function("own", "Mean", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    call = helper.make_node("Mean", ["x"], ["y"], domain="own")
    save(model_of([call], [X], [Y], opsets=opsets, functions=[inside]), str(tmp_path / "net.onnx"))
    paths, _ = write_pictures(tmp_path / "p", 2)
    assert encode_images(paths, str(tmp_path / "net.onnx")).shape == (2, 3)


def test_the_runtime_gets_what_was_checked(tmp_path, monkeypatch):
    """Neither unknown fields of the file nor its metadata, in the format that was checked, on the processor."""
    import onnxruntime  # noqa: PLC0415

    seen = {}
    real = onnxruntime.InferenceSession

    def session(content, options, providers):
        seen.update(content=content, format=options.get_session_config_entry("session.load_model_format"))
        seen["providers"] = providers
        return real(content, options, providers=providers)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    image_model(tmp_path / "net.onnx", metadata={"ort_config": '{"session_options": {}}'})
    content = (tmp_path / "net.onnx").read_bytes()
    (tmp_path / "net.onnx").write_bytes(content + bytes([0xBA, 0x3E, 5]) + b"stray")  # field 999
    paths, _ = write_pictures(tmp_path / "p", 1)
    encode_images(paths, str(tmp_path / "net.onnx"))
    assert b"ort_config" not in seen["content"]
    assert b"stray" not in seen["content"]
    assert seen["format"] == "ONNX"
    assert seen["providers"] == ["CPUExecutionProvider"]
