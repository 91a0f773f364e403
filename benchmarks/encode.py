"""A folder of 5,000 photographs through an encoder: time, and memory beyond that of loading the libraries.

    python benchmarks/encode.py

Pictures are noise, written as JPEG; the network is made here, one convolution of 224 x 224 pixels. Each run is a
process of its own, so that its memory is its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
SIDE, D = 224, 64
CHILD = """
import json, resource, sys, time
from pathlib import Path
from siis.encode import EncoderChoice, encode_images, load_encoder
encoder = load_encoder(EncoderChoice(sys.argv[1]), "images")
paths = sorted(Path(sys.argv[2]).glob("*.jpg"))[: int(sys.argv[3])]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
X = encode_images(paths, encoder)
seconds = time.perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"images": len(X), "seconds": seconds, "more_mb": (after - before) / 1024, "mb": after / 1024}))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    images = parser.parse_args().images
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_network(place / "net.onnx")
        write_images(place / "photos", images)
        rows = []
        for name, n in (("first", images // 10), ("first", images), ("again", images)):
            cache = place / f"cache-{n}"
            rows.append({"run": name, **measured(place, n, cache)})
            print(rows[-1])
    (RESULTS / "encode.json").write_text(json.dumps(rows, indent=2) + "\n")
    lines = ["| images | run | s | MB beyond the loaded network |", "|---|---|---|---|"]
    lines += [f"| {r['images']:,} | {r['run']} | {r['seconds']:.1f} | {r['more_mb']:.0f} |" for r in rows]
    (RESULTS / "encode.md").write_text("\n".join(lines) + "\n")


def measured(place, n, cache):
    """Encode n images in a process of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", CHILD, str(place / "net.onnx"), str(place / "photos"), str(n)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def write_network(path):
    """One convolution, and the mean over all places."""
    from onnx import TensorProto, helper, numpy_helper, save  # noqa: PLC0415

    K = np.random.default_rng(0).normal(size=(D, 3, 16, 16)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "K"], ["c"], strides=[16, 16]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["y"], axes=[2, 3], keepdims=0),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", D])
    graph = helper.make_graph(nodes, "net", [x], [y], [numpy_helper.from_array(K, "K")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def write_images(folder, n):
    """Noise, 320 x 240."""
    from PIL import Image  # noqa: PLC0415

    folder.mkdir()
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for i in range(n):
        Image.fromarray(rng.integers(0, 255, (240, 320, 3), dtype=np.uint8)).save(folder / f"{i:05d}.jpg", quality=60)
    print(f"{n:,} images written in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
