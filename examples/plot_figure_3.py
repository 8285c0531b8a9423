"""
The paper's Figure 3
====================

Magdon-Ismail and Mertsalov (2011) fit polynomials of order 0 to 20 to noisy samples of random polynomials, and ask
how each estimate follows the true error. Leave-one-out is the best *estimate*; permutation still *chooses* better,
because its curve is smooth.
"""

# %%
# 3000 problems
# -------------
# ``python -m studies figure3`` on the command line. The paper's claims, one by one: :doc:`/reproduction`.

import matplotlib.pyplot as plt

from studies import STUDIES

result = STUDIES["figure3"].run(n=3000)
frame = result.to_frame()
print(frame[frame["case"].isin(["order 2", "order 10"])][["case", "method", "ours"]].to_string(index=False))

# %%
# The picture
# -----------

fig = plt.figure(figsize=(9, 4.5), layout="constrained")
result.draw(fig)
