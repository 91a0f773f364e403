"""Run `siis demo`, write what it prints and a screenshot of its report (needs chromium) to docs/demo/."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from siis import __version__

HERE = Path(__file__).parent / "demo"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--window-size=1280,1500",
    "--virtual-time-budget=5000",
)


def main():
    """Write demo.md and report.png."""
    chromium = os.environ.get("SIIS_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium must be installed to take the picture of the report")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "siis", "demo", "--out", folder]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        summary = printed[printed.index("Accuracy against") :].partition("\n\n")[0].strip()
        HERE.mkdir(exist_ok=True)
        (HERE / "demo.md").write_text(f"```text\nsiis {__version__}\n{summary}\n```\n")
        report = (Path(folder) / "report.html").as_uri()
        picture = f"--screenshot={HERE / 'report.png'}"
        profile = f"--user-data-dir={folder}/profile"
        subprocess.run([chromium, *FLAGS, profile, picture, report], check=True, capture_output=True)


if __name__ == "__main__":
    main()
