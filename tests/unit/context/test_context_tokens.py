"""Rows A4-A6: what a text, a message or a tool list takes."""

import base64
import gzip
import struct
from importlib import resources

import pytest

from memflush_jupyter.context import encoding, media
from memflush_jupyter.context.tokens import MIN_SAMPLE, TokenCounter, used_tokens
from memflush_jupyter.trace.models import Message, Usage


@pytest.fixture
def exact():
    """A counter whose factor is one: the plain cl100k count."""
    return TokenCounter("m", factor=1.0, learned=False)


@pytest.fixture
def no_encoding(monkeypatch):
    def fail():
        raise encoding.EncodingError("The token encoding file is damaged.")

    monkeypatch.setattr(encoding, "load", fail)


def png(width, height):
    data = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + bytes(20)
    return image(data)


def image(data, media_type="image/png"):
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}}


# -- the packaged encoding ---------------------------------------------------------------------------------------------


def test_the_packaged_encoding_counts_as_cl100k_does(exact):
    """A5: known ids of cl100k_base; special tokens in a text are ordinary text."""
    assert encoding.load().encode_ordinary("hello world") == [15339, 1917]
    assert encoding.load().name == "cl100k_base_packaged"
    assert encoding.load().n_vocab == 100_277
    assert exact.text("hello world") == 2
    assert exact.text("") == 0
    assert exact.text("<|endoftext|>") == 7
    assert encoding.load().encode("<|endoftext|>", allowed_special="all") == [100257]
    assert encoding.load() is encoding.load()


def test_the_notice_and_the_licence_lie_beside_the_encoding():
    folder = resources.files("memflush_jupyter.context").joinpath("encodings")
    notice = folder.joinpath("NOTICE").read_text(encoding="utf-8")
    assert "MIT License" in notice
    assert "OpenAI" in notice
    assert encoding.SHA256 in notice
    header = folder.joinpath("cl100k_base.tiktoken.gz").read_bytes()[:10]
    assert header[4:8] == bytes(4), "a time stamp would make builds differ"


def test_another_file_than_the_published_one_is_refused():
    """A5."""
    with pytest.raises(encoding.EncodingError, match="its checksum differs"):
        encoding.read_ranks(gzip.compress(b"aGVsbG8= 0\n"))
    for damaged in (b"no gzip", gzip.compress(b"aGVsbG8= 0\n")[:-6]):
        with pytest.raises(encoding.EncodingError, match=r"cl100k_base.tiktoken.gz is damaged"):
            encoding.read_ranks(damaged)


def test_a_missing_file_is_said(monkeypatch):
    """A5: a failed load says so."""
    monkeypatch.setattr(encoding, "_FILE", "not-there.gz")
    with pytest.raises(encoding.EncodingError, match=r"^Tokens cannot be counted exactly: .*not-there\.gz"):
        encoding.load.__wrapped__()


def test_without_the_encoding_sizes_come_from_bytes_and_are_marked_approximate(no_encoding):
    """A5: bytes / 3, rounded up."""
    counter = TokenCounter("m", factor=1.0)
    assert counter.warning is None
    assert counter.text("abcd") == 2
    assert counter.text("abc") == 1
    assert counter.text("é中") == 2
    assert counter.text("\ud800") == 1
    assert counter.approximate is True
    assert counter.warning == "The token encoding file is damaged. Sizes are estimated from bytes and marked approximate."


def test_with_the_encoding_nothing_is_approximate(exact):
    assert exact.approximate is False
    assert exact.warning is None


def test_texts_without_a_break_are_counted_in_pieces(exact):
    """One pathological text must not stall a turn."""
    assert exact.text("a" * 100_000) == exact.text("a" * 50_000) * 2 == 12_500
    assert exact.text("\ud800") > 0


# -- the factor --------------------------------------------------------------------------------------------------------


def test_before_the_first_measurement_a_tenth_is_added():
    """A5."""
    counter = TokenCounter("local/x")
    assert counter.model == "local/x"
    assert counter.factor == 1.1
    assert counter.text("hello world") == 3
    assert counter.text(" hello" * 10) == 11


@pytest.mark.parametrize(("given", "used"), [(0.1, 0.5), (0.5, 0.5), (1.3, 1.3), (3.0, 3.0), (9.0, 3.0)])
def test_the_factor_is_bounded(given, used):
    """A5."""
    assert TokenCounter("m", factor=given).factor == used


def test_the_first_measurement_is_taken_whole_and_later_ones_by_half():
    """A5: learned from measured usage."""
    counter = TokenCounter("m")
    assert counter.learn(1_100, 1_300) == pytest.approx(1.3)
    assert counter.learn(1_000, 2_000) == pytest.approx((1.3 + 2.6) / 2)
    assert counter.factor == pytest.approx(1.95)


def test_a_remembered_factor_moves_by_half_from_the_start():
    """A5: remembered across runs."""
    counter = TokenCounter("m", factor=1.0)
    assert counter.learn(1_000, 2_000) == pytest.approx(1.5)


@pytest.mark.parametrize(("measured", "factor"), [(1, 0.5), (10**9, 3.0)])
def test_learning_stays_within_the_bounds(measured, factor):
    """A5."""
    assert TokenCounter("m").learn(1_000, measured) == factor


def test_small_or_empty_measurements_teach_nothing():
    counter = TokenCounter("m")
    assert MIN_SAMPLE == 200
    assert counter.learn(199, 400) == 1.1
    assert counter.learn(1_000, 0) == 1.1
    assert counter.learn(1_000, -1) == 1.1
    assert counter.learn(200, 400) == pytest.approx(2.2)


def test_a_fixed_factor_does_not_learn():
    """P9: headless, offline and replayed runs count the same on any day."""
    counter = TokenCounter("m", factor=1.0, learned=False)
    assert counter.learn(1_000, 2_000) == 1.0


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_blocks_are_counted_by_what_the_model_reads(exact):
    """A5."""
    assert exact.blocks([]) == 0
    assert exact.blocks([{"type": "text", "text": "hello world"}]) == 2
    assert exact.blocks([{"type": "text", "text": None}]) == 0
    assert exact.blocks([{"type": "thinking", "thinking": "hello world", "signature": "x" * 900}]) == 2 + 3
    assert exact.blocks([{"type": "thinking", "signature": "x"}]) == 3
    use = {"type": "tool_use", "id": "a", "name": "run", "input": {"code": "1"}}
    assert exact.blocks([use]) == exact.text('arun{"code":"1"}') + 3
    result = {"type": "tool_result", "tool_use_id": "a", "content": "hello world"}
    nested = {**result, "content": [{"type": "text", "text": "hello world"}]}
    assert exact.blocks([result]) == exact.blocks([nested]) == 2 + exact.text("a") + 3
    assert exact.blocks([{"type": "tool_result", "tool_use_id": "a"}]) == 1 + 3
    assert exact.blocks([result, result]) == 12
    assert exact.blocks([{"type": "redacted_thinking", "data": "hello"}]) == exact.text('{"type":"redacted_thinking","data":"hello"}')


def test_inputs_are_counted_as_they_are_sent(exact):
    """Non-Latin text goes over the wire as it is, not as escapes."""
    use = {"type": "tool_use", "id": "", "name": "", "input": {"a": "中文", "b": object}}
    assert exact.blocks([use]) == exact.text('{"a":"中文","b":"<class \'object\'>"}') + 3


def test_messages_have_an_overhead_for_role_and_separators(exact):
    assert exact.message({"role": "user", "content": "hello world"}) == 2 + 4
    assert exact.message({"role": "user", "content": [{"type": "text", "text": "hello world"}]}) == 6
    assert exact.messages([{"role": "user", "content": "hello world"}] * 3) == 18
    assert exact.messages([]) == 0


def test_tools_are_counted_as_schemas_with_an_overhead_each(exact):
    schema = {"name": "run", "input_schema": {"type": "object"}}
    text = '{"name":"run","input_schema":{"type":"object"}}'
    assert exact.tools([schema]) == exact.text(text) + 12
    assert exact.tools([schema, schema]) == 2 * exact.tools([schema])
    assert exact.tools([]) == 0


def test_the_factor_does_not_touch_images():
    """A6: the provider's rule is exact."""
    counter = TokenCounter("m", factor=2.0)
    blocks = [png(750, 100), {"type": "text", "text": "hello world"}]
    assert counter.blocks(blocks) == 100 + 4
    assert counter.message({"role": "user", "content": blocks}) == 100 + 2 * (2 + 4)
    assert counter.blocks([{"type": "tool_result", "tool_use_id": "a", "content": blocks}]) == 100 + 2 * (2 + 1 + 3)


# -- images and documents ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (750, 1, 1),
        (751, 1, 2),
        (200, 200, 54),
        (1_000, 1_000, 1_334),
        (1_092, 1_092, 1_590),
        (1_568, 765, 1_600),
        (1_568, 766, 1_600),
        (1_568, 375, 784),
        (3_136, 750, 784),
        (750, 3_136, 784),
        (10_000, 10_000, 1_600),
        (0, 10, 1_600),
        (10, -1, 1_600),
    ],
)
def test_images_are_counted_by_pixels(width, height, tokens):
    """A6: width x height / 750 after scaling to 1568 pixels on the long edge, at most 1600."""
    assert media.image_tokens(width, height) == tokens


def jpeg(width, height, *, before=b"", marker=0xC0):
    return b"\xff\xd8" + before + bytes([0xFF, marker]) + b"\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(12)


SEGMENT = b"\xff\xe1\x00\x08abcdef"
VP8 = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640 | 0x4000, 480 | 0x8000)
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", (640 - 1) | (480 - 1) << 14 | 0xF0000000)
VP8X = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@pytest.mark.parametrize(
    "header",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 640, 480),
        b"GIF87a" + struct.pack("<HH", 640, 480),
        b"GIF89a" + struct.pack("<HH", 640, 480) + b"xx",
        jpeg(640, 480),
        jpeg(640, 480, before=SEGMENT),
        jpeg(640, 480, before=SEGMENT * 3 + b"\xff\xff", marker=0xC2),
        VP8,
        VP8L,
        VP8X,
    ],
)
def test_sizes_are_read_from_the_header_of_every_format(header):
    """A6."""
    assert media.image_size(header) == (640, 480)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a\x01",
        b"\xff\xd8",
        b"\xff\xd8\x00\x00" + bytes(20),
        jpeg(1, 1, before=b"\xff\xc4\xff\x00"),
        b"RIFF\0\0\0\0WEBPVP9 ",
        b"RIFF\0\0\0\0WEBPVP8 ",
        b"BM" + bytes(40),
    ],
)
def test_a_header_that_does_not_tell_gives_no_size(header):
    """A6."""
    assert media.image_size(header) is None


def test_an_image_whose_size_is_unknown_counts_as_the_largest():
    """A6: nothing that is sent is counted as nothing."""
    for block in (
        image(b"BM" + bytes(40)),
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "base64", "data": "§§§not base64"}},
        {"type": "image", "source": {"type": "base64"}},
        {"type": "image"},
    ):
        assert media.block_tokens(block) == 1_600
    assert media.block_tokens(png(300, 300)) == 120


def test_base64_is_not_counted_as_text(exact):
    """A6."""
    plot = image(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 600, 400) + bytes(200_000))
    assert exact.blocks([plot]) == 320
    assert exact.blocks([{"type": "tool_result", "tool_use_id": "a", "content": [plot]}]) == 320 + 1 + 3


def test_pdfs_are_counted_by_pages(exact):
    """A6."""
    pdf = b"%PDF-1.4 << /Type /Pages /Count 2 >> << /Type /Page >> << /Type/Page/Parent 1 >>"
    block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(pdf).decode()}}
    assert exact.blocks([block]) == 6_000
    assert media.block_tokens({"type": "document", "source": {"type": "base64", "data": ""}}) == 3_000
    assert media.block_tokens({"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}) == 3_000
    assert media.block_tokens({"type": "text", "text": "x"}) is None


def test_documents_of_text_are_counted_as_text(exact):
    """A6."""
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hello world"}}
    parts = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "hello world"}, png(750, 10)]}}
    assert exact.blocks([plain]) == 2 + 3
    assert exact.blocks([parts]) == 2 + 3 + 10


# -- used --------------------------------------------------------------------------------------------------------------


def message(sequence, kind="prompt", tokens=10, usage=None):
    role = "assistant" if kind in {"reply", "partial"} else "user"
    return Message("t", sequence, sequence - 1 or None, role, kind, [], tokens=tokens, usage=usage)


MEASURED = Usage(input=100, cache_read=2_000, cache_write=300, output=40)


def test_used_is_the_last_measured_total_and_the_estimate_of_what_was_added_since():
    """A4: input + cache read + cache write + output."""
    path = [
        message(1),
        message(2, "reply", usage=Usage(input=7)),
        message(3),
        message(4, "reply", 99, MEASURED),
        message(5, "results", 30),
        message(6, tokens=5),
    ]
    assert used_tokens(path, prefix=1_000) == 2_440 + 35
    assert used_tokens(path, prefix=1_000, pending=7) == 2_440 + 42
    assert used_tokens(path[:4], prefix=1_000) == 2_440


def test_without_a_measurement_all_is_estimated_on_top_of_the_prefix():
    """A4."""
    assert used_tokens([], prefix=1_000) == 1_000
    assert used_tokens([message(1), message(2, "reply", 20)], prefix=1_000, pending=3) == 1_033
    assert used_tokens([message(1), message(2, "reply", 20, Usage())], prefix=1_000) == 1_030


def test_a_total_from_before_the_summary_is_stale():
    """A4: after a compaction the kept reply measured a context that is gone."""
    path = [message(9, "summary", 50), message(6, "reply", 20, MEASURED), message(7), message(10)]
    assert used_tokens(path, prefix=1_000) == 1_000 + 50 + 20 + 10 + 10
    assert used_tokens([*path, message(11, "reply", 20, MEASURED)], prefix=1_000) == 2_440
    assert used_tokens([message(9, "summary", 50), message(9, "reply", 20, MEASURED)], prefix=0) == 70


def test_a_total_from_before_a_pruning_is_stale():
    """A4, D2."""
    path = [message(1), message(2, "reply", 20, MEASURED), message(3)]
    assert used_tokens(path, prefix=1_000, stale_through=2) == 1_040
    assert used_tokens(path, prefix=1_000, stale_through=1) == 2_450
    assert used_tokens([message(0, "reply", 20, MEASURED)], prefix=0, stale_through=0) == 20
    assert used_tokens([message(0, "reply", 20, MEASURED)], prefix=0) == 2_440


def test_a_partial_reply_counts_neither_by_its_usage_nor_by_its_size():
    """A4, D11: it is not sent."""
    path = [message(1), message(2, "reply", 20, MEASURED), message(3), message(4, "partial", 500, Usage(input=9_000)), message(5)]
    assert used_tokens(path, prefix=1_000) == 2_460


@pytest.mark.parametrize(("factor", "reckoned"), [(0.5, 100), (1.0, 100), (1.5, 150)])
def test_where_a_text_alone_has_to_fit_a_small_factor_counts_for_nothing(exact, factor, reckoned):
    """P6: the factor may have been learned on the system prompt and the tools alone."""
    words = "depth " * 200
    text = next(words[:end] for end in range(len(words)) if exact.text(words[:end]) == 100)
    assert TokenCounter("m", factor=factor, learned=False).cautious(text) == reckoned
