"""
The paper's Figure 6
====================

The same problems with a ridge penalty instead of an order: bias and variance of each estimate along the penalty.
The printed table of the figure is reproduced to a few per cent (:doc:`/reproduction`).
"""

# %%
# 20 000 problems
# ---------------

import matplotlib.pyplot as plt

from studies import STUDIES

result = STUDIES["figure6"].run(n=20_000)
frame = result.to_frame()
print(frame[frame["case"] == "λ/N = 0.02"][["quantity", "method", "ours", "paper"]].to_string(index=False))

# %%
# The picture
# -----------

fig = plt.figure(figsize=(9, 4.5), layout="constrained")
result.draw(fig)
