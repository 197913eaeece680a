# %% tags=["setup"]
# @title Setup: installs the lab where it is missing, as in Colab, and does nothing elsewhere
import importlib.util
import subprocess
import sys
import warnings

SOURCE = "git+https://github.com/bertviz-lab/bertviz-lab"  # or the path of a wheel that you uploaded

if importlib.util.find_spec("bertviz_lab") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", SOURCE], check=True)
import bertviz_lab  # noqa: F401 - before torch: it shortens the busy waiting of torch's threads

warnings.filterwarnings("ignore", message="IProgress not found")  # a progress bar without ipywidgets is plain text
