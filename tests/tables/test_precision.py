"""Single precision from file to answer: what is read as float32, what needs float64, and the answers of both."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from PIL import Image
from sklearn.datasets import make_blobs

from siis import SIISClassifier
from siis.tables import Roles, TableEncoder, read
from siis.tables.recipe import Recipe

N = 60
X, TRUTH = make_blobs(N, 4, centers=2, cluster_std=3.0, random_state=0)
X = X.astype(np.float32)
Y = np.array(["ab"[k] if i % 3 == 0 else "" for i, k in enumerate(TRUTH)])
SINGLE, DOUBLE = np.float32, np.float64


def table(kind, **more):
    return {"kind": pa.array(Y), **{f"x{j}": pa.array(X[:, j].astype(kind)) for j in range(X.shape[1])}, **more}


def write(path, columns):
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table(columns), path)
    else:
        pyarrow.feather.write_feather(pa.table(columns), path)
    return path


@pytest.mark.parametrize("kind", [SINGLE, DOUBLE])
class TestFormats:
    @pytest.mark.parametrize("name", ["d.npz", "d.parquet", "d.feather"])
    def test_files(self, tmp_path, kind, name):
        path = tmp_path / name
        if name == "d.npz":
            np.savez(path, X=X.astype(kind), y=Y)
        else:
            write(path, table(kind))
        data = read(path, Roles(label=None if name == "d.npz" else "kind"))
        assert data.X.dtype == kind
        np.testing.assert_array_equal(data.X, X)
        assert data.recipe.apply(path).X.dtype == kind

    def test_embeddings(self, tmp_path, kind):
        np.save(tmp_path / "e.npy", X.astype(kind))
        path = write(tmp_path / "d.parquet", {"kind": pa.array(Y)})
        assert read(path, Roles(label="kind", embeddings=tmp_path / "e.npy")).X.dtype == kind

    def test_data_frames(self, kind):
        encoder = TableEncoder()
        assert encoder.fit_transform(X.astype(kind)).dtype == kind
        assert encoder.transform(X.astype(kind)).dtype == kind

    def test_gaps(self, tmp_path, kind):
        """Filled with the median in double precision, rounded once."""
        holes = X.astype(kind)
        holes[:5, 0] = np.nan
        path = tmp_path / "d.npz"
        np.savez(path, X=holes, y=Y)
        found = read(path, Roles()).X
        assert found.dtype == kind
        np.testing.assert_array_equal(found[:5, 0], kind(np.median(X[5:, 0].astype(DOUBLE))))
        columns = {"kind": pa.array(Y), "a": pa.array(holes[:, 0], from_pandas=True), "b": pa.array(holes[:, 1])}
        found = read(write(tmp_path / "d.parquet", columns), Roles(label="kind")).X
        assert (found.dtype, found.shape) == (kind, (N, 3))  # one more feature marks the gaps
        np.testing.assert_array_equal(found[:5, 0], kind(np.median(X[5:, 0].astype(DOUBLE))))


def test_images_are_single(tmp_path):
    for i in range(4):
        folder = tmp_path / "ab"[i % 2]
        folder.mkdir(exist_ok=True)
        Image.fromarray(np.full((8, 8), 40 * i, np.uint8)).save(folder / f"{i}.png")
    found = read(tmp_path, Roles()).X
    assert found.dtype == SINGLE
    np.testing.assert_array_equal(np.unique(found), np.array([0, 40, 80, 120], SINGLE) / SINGLE(255))


def test_half_precision_is_read_as_single(tmp_path):
    path = write(tmp_path / "d.parquet", table(np.float16))
    assert read(path, Roles(label="kind")).X.dtype == SINGLE
    np.savez(tmp_path / "d.npz", X=X.astype(np.float16), y=Y)
    assert read(tmp_path / "d.npz", Roles()).X.dtype == SINGLE


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array(np.arange(N) * 7 % 50), SINGLE),  # whole numbers that single precision holds
        (pa.array(np.arange(N) % 2 == 0), SINGLE),
        (pa.array(["red", "blue", "green"] * (N // 3)), SINGLE),
        (pa.array(2**24 + 1 + np.arange(N) * 7 % 50), DOUBLE),
        (pa.array([date(2020, 1, 1) + timedelta(days=17 * i % 90) for i in range(N)]), DOUBLE),
        (pa.array(np.random.default_rng(0).random(N)), DOUBLE),
        (pa.array([f"{i * 7 % 50}.5" for i in range(N)]), DOUBLE),  # numbers as text
    ],
    ids=["whole", "truth", "categories", "large", "dates", "double", "text"],
)
def test_one_column_may_need_double(tmp_path, column, kind):
    path = write(tmp_path / "d.parquet", table(SINGLE, more=column))
    data = read(path, Roles(label="kind"))
    assert data.X.shape[1] > X.shape[1]
    assert data.X.dtype == kind
    assert TableEncoder().fit_transform(table(SINGLE, more=column)).dtype == kind


def test_whole_numbers_alone_stay_double(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.arange(N * 2).reshape(N, 2) % 7, y=Y)
    assert read(tmp_path / "d.npz", Roles()).X.dtype == DOUBLE
    columns = {"kind": pa.array(Y), "n": pa.array(np.arange(N) * 7 % 50)}
    assert read(write(tmp_path / "d.parquet", columns), Roles(label="kind")).X.dtype == DOUBLE


def test_text_files_stay_double(tmp_path):
    path = tmp_path / "d.csv"
    lines = [f"{Y[i]},{X[i, 0]},{'rg'[i % 2]}" for i in range(N)]
    path.write_text("\n".join(["kind,x,colour", *lines]))
    assert read(path, Roles(label="kind")).X.dtype == DOUBLE
    path.write_text("\n".join(["kind,colour", *(f"{Y[i]},{'rg'[i % 2]}" for i in range(N))]))
    assert read(path, Roles(label="kind")).X.dtype == DOUBLE


def test_a_median_beyond_single_precision_is_kept(tmp_path):
    """A model of large numbers is applied to a file of single ones with gaps."""
    large = X[:, :2].astype(DOUBLE) * 1e200
    columns = {"kind": pa.array(Y), "a": pa.array(large[:, 0]), "b": pa.array(large[:, 1])}
    np.savez(tmp_path / "d.npz", X=large, y=Y)
    recipes = [
        (read(write(tmp_path / "d.parquet", columns), Roles(label="kind")).recipe, "new.parquet"),
        (read(tmp_path / "d.npz", Roles()).recipe, "new.npz"),
    ]
    holes = np.array([[np.nan, 1.0], [2.0, 3.0]], SINGLE)
    write(tmp_path / "new.parquet", {"a": pa.array(holes[:, 0], from_pandas=True), "b": pa.array(holes[:, 1])})
    np.savez(tmp_path / "new.npz", X=holes)
    for recipe, name in recipes:
        again = Recipe.from_plain(*recipe.to_plain())
        found = again.apply(tmp_path / name).X
        assert np.isfinite(found).all()
        assert found.dtype == (DOUBLE if name.endswith("parquet") else found.dtype)


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_the_same_answers(tmp_path, method):
    models = []
    for kind in (SINGLE, DOUBLE):
        path = write(tmp_path / f"{np.dtype(kind)}.parquet", table(kind))
        data = read(path, Roles(label="kind"))
        model = SIISClassifier(method=method, solver="certified").fit(data.X, data.labels)
        assert model.basis_.vectors.dtype == kind
        assert model.label_distributions_.dtype == model.predict_proba(data.X).dtype == DOUBLE
        models.append(model)
    single, double = models
    np.testing.assert_array_equal(single.transduction_, double.transduction_)
    np.testing.assert_array_equal(single.predict(X), double.predict(X))
    np.testing.assert_allclose(single.label_distributions_, double.label_distributions_, atol=1e-2)
