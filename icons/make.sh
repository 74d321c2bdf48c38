#!/bin/sh
# Draws every size of the icon from icon.svg. Needs ImageMagick with an SVG renderer; run it after a change of the drawing.
set -eu
cd "$(dirname "$0")"
draw() { convert -background none -density 300 icon.svg -resize "$1x$1" -depth 8 -define png:color-type=6 "$2"; }
draw 32 32x32.png
draw 128 128x128.png
draw 256 128x128@2x.png
draw 512 icon.png
convert -background none -density 300 icon.svg -define icon:auto-resize=256,64,48,32,24,16 icon.ico
# An .icns is a header and PNG files one after another: type, length, data.
draw 1024 .1024.png
python3 - <<'PY'
import struct
parts = b"".join(
    kind + struct.pack(">I", len(data) + 8) + data
    for kind, data in ((k, open(f, "rb").read()) for k, f in
                       ((b"ic07", "128x128.png"), (b"ic08", "128x128@2x.png"), (b"ic09", "icon.png"), (b"ic10", ".1024.png"))))
open("icon.icns", "wb").write(b"icns" + struct.pack(">I", len(parts) + 8) + parts)
PY
rm .1024.png
