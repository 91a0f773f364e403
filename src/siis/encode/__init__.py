"""Features of images and texts, by a network from a file or of a library."""

from siis.encode.choice import EncoderChoice
from siis.encode.encoder import Encoder, load_encoder
from siis.encode.run import encode_images, encode_texts

__all__ = ["Encoder", "EncoderChoice", "encode_images", "encode_texts", "load_encoder"]
