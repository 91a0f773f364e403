"""What a page shows: contrast of its colours, and the example under the pointer on the map."""

PAD = 24  # of the map, in pixels
CONTRAST = """(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgba(color).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  window.contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  window.groundOf = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (rgba(color)[3] === 255) return color;
      if (rgba(color)[3] > 0) throw new Error("half transparent: " + at.outerHTML.slice(0, 80));
    }
    throw new Error("no background");
  };
})()"""


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def choose(page, name):
    """Choose a class for the current row by typing its name."""
    press(page, "c")
    page.keyboard.type(name)
    press(page, "Enter")


def place(page, data, k):
    box = page.locator("#map-canvas").bounding_box()
    width, height = page.evaluate("[byId('map-canvas').clientWidth, byId('map-canvas').clientHeight]")
    side = min(width, height) - 2 * PAD
    x = box["x"] + 1 + width / 2 + (data.map.x[k] / 9999 - 0.5) * side
    return x, box["y"] + 1 + height / 2 + (0.5 - data.map.y[k] / 9999) * side


def hover(page, data, k):
    page.locator("#map-canvas").scroll_into_view_if_needed()
    page.mouse.move(*place(page, data, k))
    return page.locator("#map-detail dd").all_text_contents()
