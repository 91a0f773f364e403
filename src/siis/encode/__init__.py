"""Features of images and texts, by a network from a file or of a library."""

from siis.encode.encode import encode_images, encode_texts, load_encoder
from siis.encode.encoder import Encoder, EncoderChoice

__all__ = ["Encoder", "EncoderChoice", "encode_images", "encode_texts", "load_encoder"]
